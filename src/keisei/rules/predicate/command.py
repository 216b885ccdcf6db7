"""Commands: the project's check, and commands that capabilities bring, on the merged tree and on main as it is."""

from collections.abc import Sequence
from typing import Final

from keisei.records.verification import CommandRun, Planned, Reply
from keisei.rules.output import essence, faults, short, tail, telling
from keisei.rules.predicate.gap import has_gap
from keisei.rules.predicate.port import Commands

UNFIT: Final = (126, 127)
"""How a shell ends that cannot run, or cannot find, what it is told to run."""


def check(_planned: Planned, commands: Commands) -> Reply:
    """Every check is green on the merged tree; one that was red before and is no worse only warns."""
    named = commands.named("check")
    return joined([_judge(commands, each) for each in named]) if named else unnamed("check")


def command(planned: Planned, commands: Commands) -> Reply:
    """The capability's own command ends with 0 on the merged tree, by the same measure as a check."""
    if not planned.command:
        return Reply(status="error", told=("the capability names no command",))
    return _judge(commands, planned.command)


def unnamed(kind: str) -> Reply:
    """Nobody says what to run."""
    told = (
        f"no {kind} is named: not by the task ([verification] {kind}), its crates, or keisei.toml ([commands] {kind})"
    )
    return Reply(status="not-applicable", told=(told,))


def joined(replies: Sequence[Reply]) -> Reply:
    """The worst of some replies, with what all of them tell."""
    ordered = sorted(replies, key=_gravity, reverse=True)
    told = tuple(sentence for each in ordered for sentence in each.told)
    return Reply(status=ordered[0].status, told=told, severity=ordered[0].severity)


def _gravity(reply: Reply) -> int:
    if reply.status == "violated":
        return 3 if reply.severity is None else 1
    return 2 if reply.status == "error" else 0


def unsound(run: CommandRun) -> Reply | None:
    """Why the run says nothing of the tree, or that it could not run at all; None where it ran to its end."""
    if run.changed:
        first = f"{quoted(run)} changes the tree that it checks: {short(', '.join(run.changed[:3]), 100)}"
        return Reply(status="error", told=(first, *(f"{each} was changed by it" for each in run.changed)))
    if run.timed_out:
        return Reply(status="error", told=(f"{quoted(run)} did not end in time", *tail(run.output)))
    if run.code is None:
        return Reply(status="error", told=(f"{quoted(run)} was ended by a signal", *tail(run.output)))
    if run.code in UNFIT:
        return Reply(status="violated", told=(_ending(run, "cannot run"), *tail(run.output)))
    return None


def is_fit(run: CommandRun) -> bool:
    """Whether the command ran to its end at all: what cannot run was not red before."""
    return run.code is not None and run.code not in UNFIT and not run.timed_out


def violated(run: CommandRun) -> Reply:
    """The command is red, with its most telling line and the end of its output."""
    return Reply(status="violated", told=(_ending(run, f"ends with {run.code}"), *tail(run.output)))


def tolerated(run: CommandRun, why: str) -> Reply:
    """The command was red on main, too, and is no worse: told, and not held against the candidate."""
    first = short(f"red before and not worse: {quoted(run)}, {why}")
    return Reply(status="violated", severity="warn", told=(first, *tail(run.output)))


def quoted(run: CommandRun) -> str:
    """The command, short enough for a sentence."""
    return f"`{short(run.command, 60)}`"


def _ending(run: CommandRun, how: str) -> str:
    first = telling(run.output)
    return short(f"{quoted(run)} {how}" + (f": {first}" if first else " and prints nothing"))


def _judge(commands: Commands, line: str) -> Reply:
    run = commands.merged(line)
    if (reply := unsound(run)) is not None:
        return reply
    if run.code == 0:
        return Reply(status="held")
    base = commands.base(line)
    if is_fit(base) and base.code != 0 and is_no_worse(run, base):
        return tolerated(run, f"which ends with {run.code} on main, too, and prints nothing new")
    return violated(run)


def is_no_worse(run: CommandRun, base: CommandRun) -> bool:
    """Whether a red run ends as it does on main and prints nothing that main does not print.

    Silence proves nothing, and neither does an output of which a part is missing.
    """
    if has_gap(run.output):
        return False
    if faults(run.output) > faults(base.output):
        return False
    now, before = essence(run.output), essence(base.output)
    return run.code == base.code and bool(now) and now <= before
