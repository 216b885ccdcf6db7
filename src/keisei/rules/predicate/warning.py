"""Warnings: lines of the check's output that look like one, on the merged tree and on main as it is."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from keisei.contracts.words import shown
from keisei.records.verification import CommandRun, Planned, Reply
from keisei.rules.output import everything, plain, short
from keisei.rules.pattern import is_tame, matches
from keisei.rules.predicate.command import is_fit, quoted, unnamed, unsound
from keisei.rules.predicate.gap import has_gap
from keisei.rules.predicate.port import Commands

LONGEST: Final = 1000
"""Characters of a line that a pattern is given: what makes a line a warning stands at its beginning."""
NAMED: Final = 20
"""Warnings that are quoted."""


def warnings(planned: Planned, commands: Commands) -> Reply:
    """The checks print no more warnings than on main and `max-new-warnings` above. A bad parameter is an error."""
    fault = _fault(planned)
    if fault is not None:
        return Reply(status="error", told=(fault,))
    named = commands.named("check")
    if not named:
        return unnamed("check")
    now: list[str] = []
    before: list[str] = []
    notes: list[str] = []
    patterns = planned.parameters["warning-patterns"]
    for command in named:
        run = commands.merged(command)
        if (reply := unsound(run)) is not None:
            return reply
        if has_gap(run.output):
            told = f"{quoted(run)} prints so much that its middle is not kept: its warnings cannot be counted"
            return Reply(status="error", told=(told,))
        base = commands.base(command)
        now += _warnings(run, patterns)
        before += _warnings(base, patterns) if is_fit(base) else []
        notes += [] if is_fit(base) else [f"{quoted(base)} cannot be asked on main: every warning counts as new"]
    return _compared(now, before, planned.parameters.get("max-new-warnings", 0), notes)


def _fault(planned: Planned) -> str | None:
    most = planned.parameters.get("max-new-warnings", 0)
    if isinstance(most, bool) or not isinstance(most, int) or most < 0:
        return f"max-new-warnings is {shown(most)}; it must be a whole number from 0"
    patterns = planned.parameters.get("warning-patterns")
    if not isinstance(patterns, list | tuple) or not patterns or not all(isinstance(each, str) for each in patterns):
        return "warning-patterns is no list of regular expressions"
    wild = next((each for each in patterns if not is_tame(each)), None)
    return (
        None if wild is None else f"the warning pattern {shown(wild)} does not compile, or matching it could run away"
    )


def _warnings(run: CommandRun, patterns: Sequence[str]) -> list[str]:
    said = (line[:LONGEST] for line in everything(run.output))
    return [line for line in said if any(matches(each, line) for each in patterns)]


def _compared(now: Sequence[str], before: Sequence[str], most: int, notes: Sequence[str]) -> Reply:
    new = _new(now, before)
    quoted_ones = [short(each) for each in new[:NAMED]]
    if len(now) - len(before) <= most:
        return Reply(status="held", told=(f"{len(now)} warnings, {len(before)} on main", *quoted_ones, *notes))
    more = len(now) - len(before)
    limit = f", {most} are allowed" if most else ""
    first = short(f"{more} new warnings ({len(now)}, {len(before)} on main{limit}): {new[0].strip()}")
    return Reply(status="violated", told=(first, *quoted_ones[1:], *notes))


def _new(now: Sequence[str], before: Sequence[str]) -> list[str]:
    """Those that main does not print, numbers and folders aside; there is one wherever there are more than before."""
    left = Counter(map(plain, before))
    new = []
    for line in now:
        key = plain(line)
        left[key] -= 1
        if left[key] < 0:
            new.append(line)
    return new
