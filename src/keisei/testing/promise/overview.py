"""Overview: the numbers are right, the lists are short, and what happened yesterday is not of today."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.attempt import GateSummary, Usage
from keisei.records.id import AdapterId, BundleId, TaskId
from keisei.records.move import CancelOrder, Claimed, EventQuery, LandingMove, NewEvent, Progress
from keisei.records.overview import Refusals, Spend
from keisei.testing.promise.approval import asked
from keisei.testing.promise.book import promise
from keisei.testing.promise.landing import offered
from keisei.testing.queue import Desk


def spent(desk: Desk, claimed: Claimed, kind: str = "codex", **changes: Any) -> None:  # noqa: ANN401 - of TaskAttempt
    """The attempt begins, and ends so."""
    begun = replace(
        claimed.attempt, adapter_id=AdapterId(kind), adapter_kind=kind, bundle_id=BundleId(desk.name("bundle"))
    )
    desk.store.progress(Progress(stage="started", attempt=begun))
    desk.settle(replace(claimed, attempt=replace(begun, **changes)), "completed")


def usage(cost: float | None, tokens: int | None) -> Usage:
    """Such a usage."""
    return Usage(
        input_tokens=tokens, output_tokens=tokens, cache_read_tokens=None, cache_write_tokens=None, cost_usd=cost
    )


@promise
def an_empty_store_has_an_overview(desk: Desk) -> None:
    """Nothing of anything."""
    seen = desk.store.overview(desk.clock.now())

    assert (seen.now, seen.waiting_since, set(seen.counts.values())) == (desk.clock.now(), None, {0})
    assert seen.spend == Spend(attempts=0, cost_usd=0.0, tokens=0, unpriced=0, uncounted=0)
    assert seen.refusals == Refusals(calls=0, attempts=0, partial=False)
    assert (seen.running, seen.mishaps, seen.asking, seen.runners, seen.events) == ((),) * 5


@promise
def an_overview_counts_what_waits(desk: Desk) -> None:
    """What could be claimed, what is put off, since when the oldest waits; the same as the questions of their own."""
    began = desk.clock.now()
    desk.queue(2, available_at=began + timedelta(hours=1), created_at=began)
    desk.clock.advance(60)
    oldest = desk.clock.now()
    desk.queue(3, created_at=oldest)
    desk.clock.advance(60)
    desk.queue(priority=9, created_at=desk.clock.now())

    seen = desk.store.overview(began)

    assert (seen.claimable, seen.delayed, seen.waiting_since) == (4, 2, oldest)
    assert (seen.counts, seen.claimable) == (desk.store.counts(), desk.store.claimable())
    desk.clock.advance(3600)
    seen = desk.store.overview(began)
    assert (seen.claimable, seen.delayed) == (6, 0)


@promise
def an_overview_tells_who_runs_what(desk: Desk) -> None:
    """Longest running first, at most twenty, whatever ended left out; runners with their heartbeat."""
    runner = desk.runner(lease_s=10_000)
    desk.store.leave(desk.runner())
    desk.settle(desk.running(runner), "completed")
    first = desk.running(runner, subject="a <b>", agent="ann", task_type="fix")
    desk.clock.advance(1)
    desk.queue(21)
    desk.claim(runner, 21)
    desk.store.request_cancel(CancelOrder(task_id=first.task.task_id, reason="enough", actor="ann"))
    desk.store.beat(runner)

    seen = desk.store.overview(desk.clock.now())

    (one, *others) = seen.running
    assert (one.attempt_id, one.task_id, one.runner_id) == (first.attempt.attempt_id, first.task.task_id, runner)
    assert (one.subject, one.agent, one.task_type, one.canceled) == ("a <b>", "ann", "fix", True)
    assert (one.started_at, one.adapter_id) == (first.attempt.started_at, first.attempt.adapter_id)
    assert (len(others), {each.canceled for each in others}, seen.counts["running"]) == (19, {False}, 22)
    assert list(seen.runners) == desk.store.runners()
    assert [each.runner_id for each in seen.runners] == [runner]


@promise
def an_overview_tells_what_went_wrong_today(desk: Desk) -> None:
    """Failed, blocked and rejected, newest first, with the reason; not those of yesterday, nor those that went well."""
    runner = desk.runner(lease_s=1_000_000)
    desk.settle(desk.running(runner), "permanent_failure")
    desk.settle(desk.running(runner), "blocked")
    reject(desk, "yesterday")
    desk.clock.advance(100)
    day = desk.clock.now()
    wanted = []
    for status in ("permanent_failure", "completed", "blocked", "operator_canceled", "retryable_failure"):
        claimed = desk.running(runner, subject=status)
        desk.settle(claimed, status, error=f"why {status}")
        wanted.append(claimed.task.task_id)
        desk.clock.advance(1)
    landing_id, task_id = reject(desk, "it does not merge")

    seen = desk.store.overview(day)

    assert (seen.failed, seen.blocked, seen.rejected) == (1, 1, 1)
    told = [(each.kind, each.task_id, each.landing_id, each.subject, each.reason) for each in seen.mishaps]
    assert told == [
        ("landing_rejected", task_id, landing_id, None, "it does not merge"),
        ("blocked", wanted[2], None, "blocked", "why blocked"),
        ("permanent_failure", wanted[0], None, "permanent_failure", "why permanent_failure"),
    ]
    assert seen.mishaps[1].at == day + timedelta(seconds=2)
    assert desk.store.overview(desk.clock.now() + timedelta(seconds=1)).mishaps == ()


def reject(desk: Desk, reason: str) -> tuple[str, TaskId]:
    """A candidate that is rejected now."""
    landing = offered(desk)
    after = replace(landing, status="rejected", reason=reason, updated_at=desk.clock.now())
    assert desk.store.move_landing(LandingMove(landing=after, was="held"))
    return landing.landing_id, landing.task_id


@promise
def an_overview_tells_what_was_spent_today(desk: Desk) -> None:
    """Unknown is not nothing, and is told apart; scripts cost nothing; what never began is not unknown."""
    runner = desk.runner(lease_s=1_000_000)
    spent(desk, desk.running(runner), usage=usage(9.0, 9))
    desk.clock.advance(100)
    day = desk.clock.now()
    gate = GateSummary(allowed=5, denied=2, errors=1, allowed_by_error=0)
    spent(desk, desk.running(runner), usage=usage(0.5, 10), gate_summary=gate)
    spent(desk, desk.running(runner), usage=usage(0.25, None), gate_summary=replace(gate, denied=0, errors=0))
    spent(desk, desk.running(runner), usage=usage(None, 100))
    spent(desk, desk.running(runner), kind="script")
    desk.settle(desk.running(runner), "permanent_failure")
    desk.running(runner)

    seen = desk.store.overview(day)

    assert seen.spend == Spend(attempts=6, cost_usd=0.75, tokens=220, unpriced=1, uncounted=1)
    assert seen.refusals == Refusals(calls=3, attempts=1, partial=False)


@promise
def an_overview_tells_who_is_needed_and_what_happened_last(desk: Desk) -> None:
    """Open approvals, longest waiting first; landings that are held or on their way; the newest events first."""
    waiting = [asked(desk, key=f"key-{number}") for number in range(22)]
    offered(desk)
    landing = offered(desk)
    after = replace(landing, status="queued", updated_at=desk.clock.now())
    desk.store.move_landing(LandingMove(landing=after, was="held"))
    reject(desk, "no")
    desk.store.note([NewEvent(event_type="dispatch_idle", detail={"n": number}) for number in range(30)])

    seen = desk.store.overview(desk.clock.now())

    assert (seen.approvals, seen.held, seen.landing) == (22, 1, 1)
    assert list(seen.asking) == waiting[:20]
    assert list(seen.events) == desk.store.events(EventQuery(newest=True, limit=20))[::-1]
