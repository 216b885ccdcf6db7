"""`keisei up` and `keisei down`: everything a project runs, kept running by one command, and ended by another."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import refusing
from keisei.cli.rehearsal import accept_weaker_option
from keisei.cli.surroundings import kit_root_option, settings
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.wiring.store import Home
    from keisei.wiring.supervision import Note
    from keisei.wiring.supervision_child import Part
    from keisei.wiring.supervision_lock import Lock

OURS = ("-I", "-X", "utf8", "-m", "keisei")
WIDEST = 7
"""Letters of the longest name that stands before a line."""
ALONE = "; Ctrl-C ends it"
"""How a line ends that is true only of a command that runs alone."""
SOON = "(works once, for 10 minutes; keisei console link makes another)"


@click.command("up", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--jobs", type=click.IntRange(1, 256), help="Attempts at once; by default `[runner] jobs`.")
@click.option("--port", type=click.IntRange(0, 65535), help="Where the console listens; by default 4314.")
@click.option("--no-console", is_flag=True, help="Without the console.")
@click.option("--no-watch", is_flag=True, help="Without Sage's watch.")
@click.option("--read-only", is_flag=True, help="The console only shows; nobody can order anything there.")
@accept_weaker_option
@kit_root_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def command(  # noqa: PLR0913, PLR0917 - one argument an option
    jobs: int | None,
    port: int | None,
    no_console: bool,
    no_watch: bool,
    read_only: bool,
    accept_weaker: bool,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Keep this project's runner, its console and Sage's watch running, and start again what dies.

    SIGTERM, Ctrl-C or `keisei down` ends it: the runner finishes what runs, then the others go. A second one ends what
    runs, a third one kills. Exit 0 when all went well, 1 when a part could not be kept running, 2 when the project is
    up already.
    """
    from keisei.wiring.supervision import Supervisor
    from keisei.wiring.supervision_lock import hold

    if no_console and (port is not None or read_only):
        raise click.UsageError("`--port` and `--read-only` are about the console, and `--no-console` leaves it out.")
    home = _home()
    parts = [_part("runner", _runner_words(jobs, accept_weaker, as_json), kit_root, finishes=True)]
    if not no_console:
        parts.append(_part("console", _console_words(port, read_only), kit_root))
    if not no_watch:
        parts.append(_part("watch", ["sage", "watch", "--json"], kit_root, essential=False))
    with refusing(), hold(home) as lock:
        teller = Teller(lock, as_json=as_json)
        try:
            return Supervisor(parts, teller.tell).run()
        finally:
            teller.close()


@click.command("down", context_settings={"help_option_names": ["-h", "--help"]})
def down() -> int:
    """Stop what `keisei up` keeps running for this project, and wait for its end. What runs is finished first.

    Asked once more meanwhile, it ends what runs.
    """
    from keisei.wiring.supervision_lock import ask_to_stop, holder, wait_for

    home = _home()
    found = holder(home)
    process = None if found is None else ask_to_stop(found)
    if found is None or process is None:
        click.echo(f"project {home.name} is not up")
        return 0
    try:
        click.echo(f"stopping process {found.pid}: what runs is finished first; `keisei down` once more ends it")
        wait_for(process)
    finally:
        os.close(process)
    click.echo(f"project {home.name} is down")
    return 0


def _home() -> "Home":
    """The project around the working directory. Raises OperatorError where programs cannot be kept."""
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.store import project_home

    if not hasattr(os, "pidfd_open") or not Path("/proc/self/stat").exists():
        raise OperatorError("parts can be kept running only on Linux", "`keisei console` runs alone")
    return project_home(settings(), working_directory())


def _part(name: str, words: list[str], kit_root: Path | None, **how: bool) -> "Part":
    """A command of ours as a part, in this folder, with this environment."""
    from keisei.wiring.supervision_child import Part

    env = os.environ | ({} if kit_root is None else {"KEI_KIT_ROOT": str(kit_root.absolute())})
    return Part(name, (sys.executable, *OURS, *words), env=env, **how)


def _runner_words(jobs: int | None, accept_weaker: bool, as_json: bool) -> list[str]:
    words = ["runner", *(["--json"] if as_json else [])]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    return words + (["--accept-weaker"] if accept_weaker else [])


def _console_words(port: int | None, read_only: bool) -> list[str]:
    words = ["console", "--json", *([] if port is None else ["--port", str(port)])]
    return words + (["--read-only"] if read_only else [])


class Teller:
    """Tells what the parts say and what becomes of them, and never keeps them waiting."""

    def __init__(self, lock: "Lock", *, as_json: bool) -> None:
        """Speaks to stdout from now on."""
        from keisei.wiring.supervision_voice import Voice

        self._lock, self._as_json = lock, as_json
        self._voice = Voice(sys.stdout.fileno(), self._left_out)

    def close(self) -> None:
        """Have everything written."""
        self._voice.close()

    def tell(self, note: "Note") -> None:
        """One line of a part, or one thing that became of it."""
        data = _object(note.detail["text"]) if note.event == "out" else None
        if note.part == "console" and data is not None and data.get("event") == "ready":
            url = data.get("url")
            self._lock.tell(url if isinstance(url, str) else None)
        told = _as_data(note, data) if self._as_json else _as_text(note, data)
        if told is not None:
            self._voice.say(told)

    def _left_out(self, count: int) -> str:
        if self._as_json:
            return json.dumps({"part": "up", "event": "left out", "lines": count})
        return _line("up", f"{count} lines are left out here: nobody read them in time")


def _object(text: str) -> dict[str, Any] | None:
    """What a part tells as data; None for anything else."""
    try:
        data = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _as_data(note: "Note", data: dict[str, Any] | None) -> str:
    if data is not None:
        told = {"part": note.part, "event": "said"} | data | {"part": note.part}
    else:
        event = "said" if note.event in ("out", "err") else note.event
        told = {"part": note.part, "event": event} | note.detail
    return json.dumps(told, ensure_ascii=False)


def _as_text(note: "Note", data: dict[str, Any] | None) -> str | None:
    """A line for people; None for what only machines want to know: every file that Sage has read."""
    if note.event not in ("out", "err"):
        said = _became(note)
    elif data is None:
        said = None if note.detail["text"].endswith(ALONE) else note.detail["text"]
    elif note.part == "console" and data.get("event") == "ready":
        said = f"{data.get('link') or data.get('url')}  {SOON if data.get('link') else ''}".rstrip()
    else:
        said = None if note.part == "watch" else note.detail["text"]
    return None if not said else _line(note.part, said)


def _became(note: "Note") -> str | None:
    name, how = note.detail.get("name", ""), note.detail.get("how", "")
    sentences = {
        "died": f"{name} ended with {how}; it is started again in {note.detail.get('wait_s', 0):g} s",
        "waits": f"{name} cannot start; mend what it says above: it is tried again every "
        f"{note.detail.get('wait_s', 0):g} s",
        "left alone": f"{name} died again and again, the last time with {how}, and is left alone"
        + "".join(f"; {each}" for each in note.detail.get("words", ())[-1:]),
        "left": f"{name} was told to leave, and is not started again",
        "ending": note.detail.get("reason", ""),
        "stopping": "stopping; once more ends what runs, a third time kills",
        "killing": f"{name} is killed",
    }
    return sentences.get(note.event)


def _line(part: str, said: str) -> str:
    return f"{part.ljust(WIDEST)}  {printable(said)}"
