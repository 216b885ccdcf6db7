"""Breakers: an adapter that keeps failing is left alone for a while, by every runner. Pure."""

from datetime import datetime, timedelta

from msgspec.structs import replace

from keisei.records.breaker import Breaker
from keisei.records.id import AdapterId
from keisei.records.report import ErrorKind, HarnessError
from keisei.rules.retry import told_wait

OURS: frozenset[ErrorKind] = frozenset({"rate_limit", "auth", "overloaded", "network"})
"""Errors of the adapter and its account. A crash or a time-out tells of the task, and opens nothing."""
PATIENCE = 3
"""Failures in a row before an overloaded or unreachable adapter is left alone."""
FIRST_S, CAP_S = 30.0, 3600.0


def learn(known: Breaker | None, adapter_id: AdapterId, error: HarnessError | None, now: datetime) -> Breaker | None:
    """The breaker after an attempt; None where there is nothing to write."""
    if error is None:
        spotless = known is None or (known.failures == 0 and not known.needs_person)
        return None if spotless else Breaker(adapter_id=adapter_id, updated_at=now)
    if error.kind not in OURS:
        return None
    failures = (known.failures if known is not None else 0) + 1
    after = Breaker(adapter_id=adapter_id, failures=failures, kind=error.kind, reason=error.message, updated_at=now)
    if error.kind == "auth":
        return replace(after, needs_person=True)
    wait = told_wait(error, now) if error.kind == "rate_limit" else None
    if wait is None and (error.kind == "rate_limit" or failures >= PATIENCE):
        wait = timedelta(seconds=min(CAP_S, FIRST_S * 2.0 ** min(max(0, failures - PATIENCE), 20)))
    return after if wait is None else replace(after, open_until=now + wait)


def is_open(breaker: Breaker, now: datetime) -> bool:
    """Whether the adapter is to be left alone."""
    return breaker.needs_person or (breaker.open_until is not None and breaker.open_until > now)
