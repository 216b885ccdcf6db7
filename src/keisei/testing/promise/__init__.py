"""Promises: what every store promises, as functions that take a desk and raise AssertionError where it is not so.

    for name, check in PROMISES.items():
        check(Desk(store, clock, another))

Owns: nothing. Touches: the store it is given, which must be empty. Leaves to others: how stores are opened, and how
tests are run. pytest tells more of a broken promise after `pytest.register_assert_rewrite("keisei.testing.promise")`.
"""

from keisei.testing.promise import (
    approval,
    budget,
    claim,
    intake,
    landing,
    lease,
    ledger,
    listing,
    order,
    outbox,
    overview,
    pipe,
    posting,
    progress,
    request,
    restore,
    schedule,
    sensor,
    settle,
    sweep,
    text,
    view,
    workflow,
)
from keisei.testing.promise.book import PROMISES, Promise

__all__ = [
    "PROMISES",
    "Promise",
    "approval",
    "budget",
    "claim",
    "intake",
    "landing",
    "lease",
    "ledger",
    "listing",
    "order",
    "outbox",
    "overview",
    "pipe",
    "posting",
    "progress",
    "request",
    "restore",
    "schedule",
    "sensor",
    "settle",
    "sweep",
    "text",
    "view",
    "workflow",
]
