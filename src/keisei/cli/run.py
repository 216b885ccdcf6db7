"""`keisei run`: one instruction, one agent, in the foreground, through the engine like every other task."""

import math
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import click

from keisei.cli.desk import WORDS, Words, actor, desk
from keisei.cli.intent import accepted, read_text
from keisei.cli.rehearsal import accept_weaker_option, rehearsal
from keisei.cli.surroundings import kit_root_option, open_catalog, settings
from keisei.cli.watch import LATE, timeout_option
from keisei.cli.watch import exit_code as task_code
from keisei.records.error import OperatorError
from keisei.records.task_spec import SpecBody, SpecScope, SpecTask, SpecVerification, TaskSpec

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.cli.progress import Teller
    from keisei.records.move import NewTask
    from keisei.records.task import TaskRecord
    from keisei.wiring.foreground import Foreground
    from keisei.wiring.instruction import Asked
    from keisei.wiring.runner import Line

F = TypeVar("F", bound=Callable[..., Any])
LOOK_S = 0.1
STOPPING = "stopping: the agent is ended and its work kept; once more leaves at once"
LEFT = b"\nleft at once: the agent is ended now; the next runner, or the next `keisei run`, keeps its work\n"
MOST_USD = 1_000_000_000
INTERRUPTED, REJECTED, NEEDS_YOU = 130, 2, 3
NOTED = ("trouble", "paused", "full", "lease lost", "message")
"""What the runner says that is shown to people; the rest they see anyway."""
WAITS = ("queued", "landing")
"""Landings that wait for nobody but their turn."""


class Something(Words):
    """Text that says something: an empty one is a variable of a script that nobody has set."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - click's
        """The same text. Fails where there is none."""
        text = super().convert(value, param, ctx)
        if not text.strip():
            self.fail("it is empty; leave the option out, or give it a value.", param, ctx)
        return text


SOMETHING = Something()


def amount(value: float | None) -> float | None:
    """The same number. Raises BadParameter for one that is none."""
    if value is not None and math.isnan(value):
        raise click.BadParameter("nan is no amount.")
    return value


def carry_options(command: F) -> F:
    """The options of whatever carries a task in the foreground."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line."),
        kit_root_option,
        accept_weaker_option,
        timeout_option,
    ):
        command = option(command)
    return command


@click.command("run", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("instruction", type=WORDS)
@click.option("--role", type=SOMETHING, default="edit-local", show_default=True, help="What the agent may do.")
@click.option(
    "--write",
    "-w",
    "writes",
    type=SOMETHING,
    multiple=True,
    metavar="GLOB",
    help="Files it may write; may be repeated.",
)
@click.option(
    "--deny", "denies", type=SOMETHING, multiple=True, metavar="GLOB", help="Files it may not write all the same."
)
@click.option("--profile", type=SOMETHING, help="The profile; by default the one of task type agent-task.")
@click.option("--adapter", type=SOMETHING, help="The adapter; by default the profile's.")
@click.option("--model", type=SOMETHING, help="The model; by default the profile's.")
@click.option("--check", type=SOMETHING, help="A command that must exit 0 afterwards.")
@click.option("--test", type=SOMETHING, help="A test command that must exit 0 afterwards.")
@click.option(
    "--budget-usd",
    type=click.FloatRange(0, MOST_USD, min_open=True),
    callback=lambda _context, _parameter, value: amount(value),
    help="Money it may spend, in US dollars.",
)
@click.option("--max-tokens", type=click.IntRange(1), help="Tokens it may spend.")
@carry_options
def command(  # noqa: PLR0913, PLR0917 - one argument an option
    instruction: str,
    role: str,
    writes: tuple[str, ...],
    denies: tuple[str, ...],
    profile: str | None,
    adapter: str | None,
    model: str | None,
    check: str | None,
    test: str | None,
    budget_usd: float | None,
    max_tokens: int | None,
    timeout_s: float | None,
    accept_weaker: bool,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Give one instruction to one agent and wait for what comes of it (`-` reads it from standard input).

    Ctrl-C ends the agent with everything it started and keeps its work; a second one leaves at once. Exit 0
    verified, 2 failed or rejected, 3 needs you, 4 over budget, 5 time-out, 130 interrupted.
    """
    from keisei.wiring.instruction import checked_spec, intent_of

    spec = TaskSpec(
        task=SpecTask(role=role, profile=profile, adapter=adapter, model=model),
        scope=SpecScope(files_whitelist=writes, files_denylist=denies),
        verification=SpecVerification(check=check, test=test),
        body=SpecBody(text=_instruction() if instruction == "-" else instruction),
    )
    if not spec.body.text.strip():
        raise OperatorError("the instruction is empty", "say what is to be done")
    spec = checked_spec(open_catalog(kit_root), spec, "name what it may write, as in --write 'src/**'")
    budget = {"max_cost_usd": budget_usd, "max_tokens": max_tokens}
    asked = intent_of(spec, actor(), {name: each for name, each in budget.items() if each is not None})
    return carry(asked, Way(timeout_s, accept_weaker, kit_root, as_json))


def _instruction() -> str:
    """Standard input. Raises OperatorError for what is no text, or none."""
    try:
        text = read_text("-")
    except OperatorError as error:
        raise OperatorError(error.message, "write the instruction there as UTF-8, or give it as an argument") from error
    if "\0" in text:
        raise OperatorError("standard input has a zero byte", "give the instruction as text")
    return text


# --- carrying ---------------------------------------------------------------------------------------------------------


class Way(NamedTuple):
    """How a task is carried in the foreground."""

    timeout_s: float | None
    accept_weaker: bool
    kit_root: Path | None
    as_json: bool


def carry(asked: "Asked", way: Way) -> int:
    """Queue it, carry it to its end with everything told on the way, and return how it ended."""
    from keisei.cli.progress import teller
    from keisei.cli.summary import Ending, summary, told
    from keisei.wiring.foreground import Foreground, check_start
    from keisei.wiring.hall import project_shop

    own, said = settings(), queue.SimpleQueue["Line"]()
    with desk() as opened:
        shop = project_shop(
            own, opened.home, opened.store, way.kit_root, accept_weaker=way.accept_weaker, rehearsal=rehearsal
        )
        task: NewTask = accepted(opened, [asked.intent], way.kit_root)[0]
        check_start(shop, task.task)
        voice = teller(as_json=way.as_json, colour=not own.no_color)
        with Stops() as stops:
            with Foreground(shop, task, said.put) as foreground:
                watch = _Watch(opened, foreground, voice, said)
                why = watch.until_over(way.timeout_s, stops)
            voice.close()
            last = foreground.look()
            ending = Ending(last, exit_code(opened, last, why), asked.agent_id)
            found = summary(opened, ending)
            (voice.tell if way.as_json else told)(found)
    return ending.exit_code


class Stops:
    """How often somebody asked to stop. The second time nobody is waited for: the process is gone with the handler."""

    def __init__(self) -> None:
        self.asked = 0
        self.rung = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        """Signals count, unless whoever started this process has them ignored, as nohup does."""
        heard = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        self._before = {number: signal.getsignal(number) for number in heard}
        for number, handler in self._before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        """As it was."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self.asked += 1
        self.rung.set()
        if self.asked > 1:
            with suppress(OSError):
                os.write(2, LEFT)
            os._exit(INTERRUPTED)  # every tree sees that its owner is gone, and is killed by its keeper


class _Watch:
    """Looks on until a task is over."""

    def __init__(
        self, opened: "Desk", foreground: "Foreground", voice: "Teller", said: "queue.SimpleQueue[Line]"
    ) -> None:
        from keisei.cli.progress import Follower

        self._foreground, self._voice, self._said = foreground, voice, said
        self._follower = Follower(opened, foreground.task_id)

    def until_over(self, timeout_s: float | None, stops: Stops) -> int | None:
        """Tell everything on the way. Why it was ended from here, as an exit code; None where it ended by itself."""
        until = math.inf if timeout_s is None else time.monotonic() + timeout_s
        why: int | None = None
        while self._foreground.goes_on(self._looked()):
            if why is None and stops.asked:
                why = self._end(INTERRUPTED, STOPPING, "interrupted at the terminal")
            elif why is None and time.monotonic() >= until:
                late = f"it took longer than {timeout_s:g} seconds"
                why = self._end(LATE, f"stopping: {late}; its work is kept", late)
            stops.rung.wait(LOOK_S)
            stops.rung.clear()
        self._tell_all()
        return why

    def _end(self, why: int, said: str, reason: str) -> int:
        self._foreground.cancel(reason, actor())
        self._voice.tell({"event": "notice", "text": said})
        return why

    def _looked(self) -> "TaskRecord":
        """The task as it was before everything that is told now."""
        task = self._foreground.look()
        self._tell_all()
        self._voice.tick()
        return task

    def _tell_all(self) -> None:
        for happening in self._follower.look():
            self._voice.tell(happening)
        while not self._said.empty():
            line = self._said.get()
            if line.event in NOTED and line.task_id in (None, self._foreground.task_id):
                word = "" if line.event == "message" else f"{line.event}: "
                self._voice.tell({"event": "notice", "text": f"{word}{line.detail}"})


def exit_code(opened: "Desk", task: "TaskRecord", why: int | None) -> int:
    """How it ended. Whoever has ended it from here hears that, unless everything was done all the same."""
    if task.status == "completed":
        return _landing_code(opened, task, why)
    return task_code(opened.store, task) if why is None else why


def _landing_code(opened: "Desk", task: "TaskRecord", why: int | None) -> int:
    """What became of verified work. That it waits for a person is its end, unless the project merges by itself."""
    from keisei.cli.summary import landing_of

    landing = landing_of(opened, task)
    if landing is not None and landing.status == "rejected":
        return REJECTED
    policy = opened.home.file.landing
    open_ones = ("held", *WAITS) if policy is not None and policy.auto else WAITS
    return (why or NEEDS_YOU) if landing is not None and landing.status in open_ones else 0
