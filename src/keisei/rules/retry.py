"""Retries: what comes after an attempt that did not complete. Pure: time and chance arrive as arguments."""

from datetime import datetime, timedelta
from typing import Literal

from msgspec import Struct

from keisei.records.outcome import OutcomeStatus
from keisei.records.report import ErrorKind, HarnessError
from keisei.records.role import EscalationPolicy
from keisei.records.task import TaskRecord

LONGEST = timedelta(days=7)
"""Nobody is believed to need a longer wait."""
MOST_POSTPONED = 100
"""A task that was put off so often without being tried waits for a person."""
FREE: frozenset[ErrorKind] = frozenset({"rate_limit", "auth"})
"""Errors of the account, not of the task: they use up no attempt."""
HOPELESS: frozenset[ErrorKind] = frozenset({"refused"})
"""Errors that the next try would meet again."""
RATE_WAIT_S = 60.0
"""The first wait at a rate limit that does not say when it ends."""

Verb = Literal["retry", "postpone", "block", "fail"]


class Backoff(Struct, frozen=True, kw_only=True):
    """How long to wait between tries."""

    first_s: float = 30.0
    """Before the first retry; doubled every time."""
    cap_s: float = 3600.0
    """At most."""


class Failed(Struct, frozen=True, kw_only=True):
    """An attempt that did not complete, as far as the next step depends on it."""

    status: OutcomeStatus
    """What the outcome rule made of it; `blocked` and `permanent_failure` are taken as they are."""
    error: HarnessError | None = None
    """What the harness said of itself."""
    retry_after_s: float | None = None
    """A wait the answer asked for."""
    violated: bool = False
    """A predicate did not hold."""
    postponed: int = 0
    """How often the task was put off already."""


class Step(Struct, frozen=True, kw_only=True):
    """What to do next."""

    verb: Verb
    """Try again and count, try again and do not count, wait for a person, or give up."""
    at: datetime | None = None
    """When it may be tried again."""
    why: str = ""
    """Words to put before the error; empty where the error says it all."""


def next_step(  # noqa: PLR0913 - the decision has this many inputs
    task: TaskRecord, failed: Failed, *, policy: EscalationPolicy, backoff: Backoff, jitter: float, now: datetime
) -> Step:
    """The step. A task never stays without one: no tries left means a person, or the end where the role says so."""
    if failed.status == "permanent_failure":
        return Step(verb="fail")
    if failed.violated and policy == "fail-fast":
        return Step(verb="fail", why="the role fails fast")
    wait = _told_wait(failed, now)
    if (failed.error is not None and failed.error.kind in FREE) or (failed.status == "blocked" and wait is not None):
        return _postponed(failed, wait, backoff, jitter, now)
    if failed.status == "blocked" or (failed.error is not None and failed.error.kind in HOPELESS):
        return Step(verb="block")
    if task.attempt_count >= task.max_attempts:
        why = f"attempts used up ({task.attempt_count} of {task.max_attempts})"
        return Step(verb="fail" if policy == "fail-fast" else "block", why=why)
    return Step(verb="retry", at=now + max(wait or timedelta(0), pause(backoff, task.attempt_count, jitter)))


def pause(backoff: Backoff, tried: int, jitter: float) -> timedelta:
    """The wait before the next try: doubled every time, at most the cap, moved by up to a fifth. `jitter` is 0 to 1."""
    doubled = min(backoff.cap_s, backoff.first_s * 2.0 ** min(max(0, tried - 1), 40))
    return timedelta(seconds=doubled * (0.8 + 0.4 * jitter))


def told_wait(error: HarnessError, now: datetime) -> timedelta | None:
    """How long an error asks to wait; nonsense and more than a week are cut to a week, the past is nothing."""
    if error.resets_at is not None:
        return min(LONGEST, max(timedelta(0), error.resets_at - now))
    return _seconds(error.retry_after_s)


def _told_wait(failed: Failed, now: datetime) -> timedelta | None:
    told = told_wait(failed.error, now) if failed.error is not None else None
    return told if told is not None else _seconds(failed.retry_after_s)


def _seconds(value: float | None) -> timedelta | None:
    return None if value is None or not value >= 0 else min(LONGEST, timedelta(seconds=min(value, 604_800.0)))


def _postponed(failed: Failed, wait: timedelta | None, backoff: Backoff, jitter: float, now: datetime) -> Step:
    if failed.postponed >= MOST_POSTPONED:
        return Step(verb="block", why=f"put off {failed.postponed} times")
    patient = Backoff(first_s=RATE_WAIT_S, cap_s=max(backoff.cap_s, RATE_WAIT_S))
    return Step(verb="postpone", at=now + (wait if wait is not None else pause(patient, failed.postponed + 1, jitter)))
