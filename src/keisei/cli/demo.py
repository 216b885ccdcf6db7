"""`keisei demo`: the play of a hostile agent, a good one and the ledger, for people and for machines."""

import json
import locale
import os
import signal
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.surroundings import settings
from keisei.records.confinement import LEVELS
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.demo.place import Place
    from keisei.demo.stage import Cast

Happening = dict[str, Any]
Tell = Callable[[Happening], None]
REAL = {"claude": "claude-code", "codex": "codex"}
DIFFERS = 1
BROKEN_PIPE = 141
WIDEST = 100
"""Columns of a line; what is longer is cut."""
CALL = 44
"""Columns of what a call was about."""
INDENT = " " * 6
COPIED = " && "
"""What stands in lines that are copied, and so never cut."""
PLAIN = str.maketrans({"✓": "+", "✗": "x", "→": ">", "·": "-", "…": "~"})
"""For a terminal that shows no more than ASCII."""
COLOURS = {"✓": "green", "✗": "red", "→": "cyan"}


@click.command("demo", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--real", type=click.Choice(list(REAL)), help="Play it with this harness, and the same scripted model.")
@click.option("--program", type=click.Path(path_type=Path), help="The harness of --real, where it is not on the PATH.")
@click.option("--step", is_flag=True, help="Wait for Enter before each act.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.option("--clean", is_flag=True, help="Remove the folders of earlier demos, and play nothing.")
def command(real: str | None, program: Path | None, step: bool, as_json: bool, clean: bool) -> int:
    """See what keisei promises: a hostile agent is stopped three times, a good one lands, the ledger tells.

    Offline, without a key, in a temporary folder that stays; the agents are scripted, everything else is real. Exit 0
    only if every refusal and the landing happened.
    """
    if clean:
        return _clean(as_json=as_json)
    if step and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("--step waits for Enter, and this is no terminal")
    if program is not None and real is None:
        raise click.UsageError("--program is the harness of --real: say which one it is")
    tell: Tell = _tell_json if as_json else _Teller(step=step)
    try:
        with _asked_to_leave():
            return _play(real, program, tell)
    except BrokenPipeError:  # nobody has seen the end, so nobody may believe that it was good
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return BROKEN_PIPE


def _clean(*, as_json: bool) -> int:
    from keisei.demo.place import clean

    removed = [str(each) for each in clean()]
    if as_json:
        _tell_json({"event": "cleaned", "removed": removed})
        return 0
    for each in removed:
        click.echo(f"removed {printable(each)}")
    if not removed:
        click.echo("there is no folder of an earlier demo")
    return 0


def _play(real: str | None, program: Path | None, tell: Tell) -> int:
    from keisei.demo.place import alone, made
    from keisei.demo.play import perform
    from keisei.demo.stage import opened

    began, happening = time.monotonic(), Happening()
    harness = None if real is None else _found(real, program)
    with made() as place, alone(place), opened(place, _cast(place, real, harness)) as stage:
        for happening in perform(stage):
            if happening["event"] == "summary":
                happening["seconds"] = round(time.monotonic() - began, 1)
            tell(happening)
    return 0 if happening.get("ok") is True else DIFFERS


def _found(real: str, program: Path | None) -> str:
    """The installed harness, absolute. Raises OperatorError where it is not there."""
    import shutil

    found = shutil.which(str(program) if program is not None else real)
    if found is None:
        named = f"`{program}`" if program is not None else f"`{real}` on the PATH"
        raise OperatorError(f"there is no program {named}", "install it, or name it with --program")
    return str(Path(found).absolute())


def _cast(place: "Place", real: str | None, harness: str | None) -> "Cast":
    from keisei.demo.place import HARNESS
    from keisei.demo.stage import Cast

    if real is None or harness is None:
        return Cast("claude-code", str(place.bin / HARNESS))
    return Cast(REAL[real], harness)


@contextmanager
def _asked_to_leave() -> Iterator[None]:
    """Whoever ends the demo from outside ends everything it has started, and takes its folder away."""

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    numbers = (signal.SIGTERM, signal.SIGHUP)
    before = {each: signal.signal(each, leave) for each in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_json(happening: Happening) -> None:
    click.echo(json.dumps(happening, ensure_ascii=False))


class _Teller:
    """The play for people, one line after the other."""

    def __init__(self, *, step: bool) -> None:
        self._step = step
        self._allowed = 0
        """Calls of this act that were allowed, as they had to be."""
        self._coloured = sys.stdout.isatty() and not settings().no_color and os.environ.get("TERM", "dumb") != "dumb"
        wide = all("utf" in each.lower() for each in (sys.stdout.encoding or "", locale.getencoding()))
        self._letters: Mapping[int, str] = {} if wide else PLAIN

    def __call__(self, happening: Happening) -> None:
        """Tell one thing that happened."""
        for line in getattr(self, f"_{happening['event']}")(happening):
            self._say(line)
        if happening.get("differs") and happening["event"] != "summary":
            self._say(f"    ✗ NOT AS PROMISED  {happening['differs']}", cut=False)

    def _say(self, line: str, *, cut: bool = True) -> None:
        text = printable(line)
        text = _fitting(text, WIDEST) if cut and COPIED not in text else text
        for mark, colour in COLOURS.items() if self._coloured else ():
            text = text.replace(mark, click.style(mark, fg=colour))
        click.echo(text.translate(self._letters))

    # --- one method an event ------------------------------------------------------------------------------------------

    def _begin(self, told: Happening) -> list[str]:
        stand_in = Path(told["program"]).is_relative_to(told["folder"])
        played = "scripted agents" if stand_in else f"real {told['adapter']}, scripted model"
        level = told["isolation"]
        lines = [
            f"keisei {told['version']} demo · offline · {played} · $0.00",
            f"nothing outside {told['folder']} is touched",
            f"isolation here: {level} (level {LEVELS.index(level) + 1} of {len(LEVELS)})",
        ]
        return lines if level == LEVELS[-1] else [*lines, *(f"  missing: {each}" for each in told["missing"])]

    def _act(self, told: Happening) -> list[str]:
        if self._step:
            click.echo(f"\n[Enter] act {told['act']} ", nl=False)
            sys.stdin.readline()
        self._allowed = 0
        if told["agent"] is None:
            return [""]
        scope = f"may write {', '.join(told['may_write'])} · adapter {told['adapter']}"
        about = f"role {told['role']} · {scope}" if told["act"] == 1 else "same task, same role"
        return ["", f" {told['act']}  {told['agent']:<9} {about}"]

    def _call(self, told: Happening) -> list[str]:
        decision = told["decision"]
        if decision is None or (decision == "allow" and told["wanted"] == "allow"):
            self._allowed += decision is not None
            return []
        mark, word = ("✗", "denied") if decision == "deny" else ("✓", "allowed")
        about = told["target"] if told["tool"] == "Bash" else f"{told['tool']} {told['target']}"
        return [_row(mark, about, word, told["capability"] or "", f"gate {told['latency_ms']:4.0f} ms")]

    def _sandbox(self, told: Happening) -> list[str]:
        tried = [(what, told[what]) for what in ("write", "read") if told[what]["came_to"] is not None]
        lines = [self._tried(what, about) for what, about in tried]
        return [*lines, f"    ✓ {self._allowed} other calls allowed, among them her edit of src/billing/tax.py"]

    def _tried(self, what: str, about: Happening) -> str:
        reached = about["came_to"] == "done" or bool(about.get("is_there"))
        mark, word = ("✓", "DONE") if reached else ("✗", "stopped")
        why = "nothing stopped it" if reached else about["came_to"].lower()
        return _row(mark, f"a test of hers: {what} {about['target']}", word, why, "sandbox")

    def _said(self, told: Happening) -> list[str]:
        quoted = f'says: "{told["text"]}"'
        allowed = "" if told["agent"] == "mallory" else f"✓ {self._allowed} tool calls allowed · "
        return [f"    {allowed}{quoted}"]

    def _finding(self, told: Happening) -> list[str]:
        if told["status"] in ("held", "not-applicable"):
            return []
        words = [told["reason"], told["error"]]
        lines = [line for each in words if each for line in textwrap.wrap(printable(each), WIDEST - len(INDENT))]
        return [f"    ✗ {told['capability']} is {told['status']}:", *(f"{INDENT}{line}" for line in lines)]

    def _rejected(self, told: Happening) -> list[str]:
        if told.get("differs"):
            return []
        kept = f"      {told['kept']}"
        return [f"    → REJECTED  not merged · main is still {told['main'][:7]} · her work is kept:", kept]

    def _landing(self, told: Happening) -> list[str]:
        if told.get("differs"):
            return []
        files = told["files"]
        added, removed = (sum(each[name] for each in files.values()) for name in ("added", "removed"))
        size = f"{len(files)} files, +{added} -{removed}"
        verified = f"    ✓ verified on main + candidate: {told['held']}/{told['findings']} held"
        return [verified, f"    → LANDED  {told['before'][:7]} → {told['after'][:7]} ({size})"]

    def _ledger(self, told: Happening) -> list[str]:
        whole = "hash chain ✓" if told["whole"] else "hash chain ✗"
        found = f"row {told['found_row']} ✗ {told['found']}" if told["found_row"] else "not found"
        return [f" 3  ledger    {told['rows']} rows · {whole}", f"    one byte changed in a copy → {found}"]

    def _idle(self, _told: Happening) -> list[str]:
        return []

    def _summary(self, told: Happening) -> list[str]:
        lines = ["", " evidence", *(f"   {each}" for each in told["evidence"]), ""]
        differs = len(told["differs"])
        word = "all of it was as promised" if told["ok"] else f"{differs} of it NOT as promised, marked above"
        return [*lines, f"{word} · {told['seconds']} s · the folder stays; remove it: {told['clean']}"]


def _row(mark: str, about: str, word: str, why: str, who: str) -> str:
    return f"    {mark} {_fitting(about, CALL):<{CALL}} {word:<7} {why:<23} {who}"


def _fitting(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
