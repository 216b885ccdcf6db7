"""Tests: they pass on the merged tree, and none went missing on the way there."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add
from typing import Any, Final

from msgspec import Struct

from keisei.contracts.words import shown
from keisei.records.verification import CommandRun, Planned, Reply
from keisei.rules.output import short, tail
from keisei.rules.predicate.command import (
    is_fit,
    joined,
    quoted,
    tolerated,
    unnamed,
    unsound,
    violated,
)
from keisei.rules.predicate.port import Census, Commands
from keisei.rules.test_count import Counts, counts

NAMED: Final = 20
"""Tests, and files, that are named one by one."""


class _Asked(Struct, frozen=True, kw_only=True):
    """What one command counts on both trees."""

    now: Counts
    """On the merged tree."""
    before: Counts
    """On main as it is; nothing where it cannot run there or counts nothing."""


def test(planned: Planned, commands: Commands) -> Reply:
    """Every test command is green, runs a test, and all together pass no fewer tests than are needed.

    Needed is the larger of `test-count-min` and what passes on main less `fewer-tests-allowed`. Tests the candidate
    made empty do not count. Where a runner counts whole packages only, those that it removed or skipped do not either.
    """
    limits = _limits(planned.parameters)
    if isinstance(limits, str):
        return Reply(status="error", told=(limits,))
    named = commands.named("test")
    if not named:
        return unnamed("test")
    asked: list[_Asked] = []
    replies = [_judge(commands, command, asked) for command in named]
    census = commands.census()
    if asked:
        replies.append(_enough(asked, census, *limits))
    reply = joined(replies)
    return Reply(status=reply.status, severity=reply.severity, told=(*reply.told, *_touched(census)))


def _limits(parameters: dict[str, Any]) -> tuple[int, int] | str:
    values = []
    for name in ("test-count-min", "fewer-tests-allowed"):
        value = parameters.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            return f"{name} is {shown(value)}; it must be a whole number from 0"
        values.append(value)
    return values[0], values[1]


def _judge(commands: Commands, command: str, asked: list[_Asked]) -> Reply:
    """What is said of one command; where its tests can be counted, it is put to those that are asked together."""
    run = commands.merged(command)
    if (reply := unsound(run)) is not None:
        return reply
    base = commands.base(command)
    now, before = counts(run.output), counts(base.output) if is_fit(base) else None
    if now is not None:
        asked.append(_Asked(now=now, before=before or Counts()))
    if run.code != 0 or (now is not None and now.red):
        return _red(run, now, before)
    if base.code is None:
        first = f"{quoted(run)} did not run to its end on main: how many tests are needed cannot be said"
        return Reply(status="error", told=(first, *tail(base.output)))
    if now is None:
        first = f"{quoted(run)} ends with 0 and prints nothing that can be counted as a test"
        return Reply(status="violated", told=(first, *tail(run.output)))
    if not now.passed:
        return Reply(status="violated", told=(f"{quoted(run)} ends with 0 and no test was run", *tail(run.output)))
    return Reply(status="held", told=(f"{quoted(run)}: {_sum(now)}; on main: {_sum(before)}",))


def _red(run: CommandRun, now: Counts | None, before: Counts | None) -> Reply:
    if now is not None and before is not None and _is_no_worse(now, before):
        return tolerated(run, f"{now.red} tests that fail on main, too: {', '.join(now.failing)}")
    if now is None or not now.red:
        return violated(run)
    new = list((Counter(now.failing) - Counter(before.failing if before else ())).elements())
    what = ", ".join(new or now.failing) or f"it ends with {run.code}"
    first = short(f"{quoted(run)}: {_sum(now)}; new: {what}" if new else f"{quoted(run)}: {_sum(now)}: {what}")
    return Reply(status="violated", told=(first, *tail(run.output)))


def _is_no_worse(now: Counts, before: Counts) -> bool:
    """Whether all that fails has a name and failed before, and no fewer pass."""
    if not now.red or len(now.failing) < now.red or now.passed < before.passed:
        return False
    return Counter(now.failing) <= Counter(before.failing)


def _enough(asked: Sequence[_Asked], census: Census, least: int, fewer: int) -> Reply:
    """Whether enough tests of substance pass, all commands together."""
    now = reduce(add, (each.now for each in asked))
    before = reduce(add, (each.before for each in asked))
    is_coarse = now.coarse or before.coarse
    lost = (*census.emptied, *((*census.removed, *census.skipped) if is_coarse else ()))
    if now.passed - len(lost) >= max(least, before.passed - fewer):
        return Reply(status="held", told=tuple(_missing(census)))
    first = f"{now.passed} {'packages' if is_coarse else 'tests'} pass"
    first += f", and {len(lost)} deleted, skipped or empty tests count against them" if lost else ""
    first += f"; {before.passed} pass on main" if before.passed - fewer > least else f"; the task asks for {least}"
    first += f", and {fewer} fewer are allowed" if fewer and before.passed - fewer > least else ""
    hint = ("`go test` counts packages; with -v or -json it counts tests",) if is_coarse else ()
    return Reply(status="violated", told=(short(_named(first, census)), *_missing(census), *hint))


def _named(first: str, census: Census) -> str:
    """The sentence with the first test that is to blame."""
    gone = [*(f"deleted {each}" for each in census.removed), *(f"skipped {each}" for each in census.skipped)]
    gone += [f"emptied {each}" for each in census.emptied]
    return f"{first}: {gone[0]}" if gone else first


def _missing(census: Census) -> Iterator[str]:
    for what, tests in (("deleted", census.removed), ("skipped", census.skipped), ("emptied", census.emptied)):
        yield from (f"{what}: {short(each, 180)}" for each in tests[:NAMED])
        if len(tests) > NAMED:
            yield f"{what}: {len(tests) - NAMED} more"


def _touched(census: Census) -> Iterator[str]:
    yield from (f"the candidate changes the test file {short(each, 150)}" for each in census.files[:NAMED])
    if len(census.files) > NAMED:
        yield f"the candidate changes {len(census.files) - NAMED} more test files"


def _sum(found: Counts | None) -> str:
    if found is None:
        return "nothing that can be counted"
    error = "error" if found.errors == 1 else "errors"
    parts = (("passed", found.passed), ("failed", found.failed), ("skipped", found.skipped), (error, found.errors))
    return ", ".join(f"{number} {word}" for word, number in parts if number) or "no test"
