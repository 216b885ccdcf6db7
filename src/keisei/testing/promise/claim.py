"""Claim: the best first, each to one runner, with an open attempt and a fence of its own."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.budget import Amount, BudgetPolicy
from keisei.records.error import KeiseiError
from keisei.records.id import AdapterId, AttemptId, RunnerId, TaskId
from keisei.records.move import Claimed, ClaimOrder, PauseOrder
from keisei.rules.task import AGEING_S
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk, refused


def _ids(claimed: list[Claimed]) -> list[str]:
    return [one.task.task_id for one in claimed]


@promise
def a_claim_opens_an_attempt(desk: Desk) -> None:
    """The task runs, its first try is counted, the attempt is open and its fence is 1."""
    (task_id,) = desk.queue()
    runner = desk.runner()
    desk.clock.advance(1)
    now = desk.clock.now()

    (claimed,) = desk.claim(runner)

    task, attempt = claimed.task, claimed.attempt
    assert (task.task_id, task.status, task.attempt_count, task.started_at, task.updated_at) == (
        task_id,
        "running",
        1,
        now,
        now,
    )
    assert (attempt.task_id, attempt.runner_id, attempt.fence, attempt.started_at) == (task_id, runner, 1, now)
    assert (attempt.ended_at, attempt.exit_status, claimed.returned, claimed.postponed) == (None, None, False, 0)
    assert desk.store.attempt(attempt.attempt_id) == attempt
    assert desk.life(task_id) == ["task_enqueued", "task_claimed"]


@promise
def a_running_task_shows_its_lease(desk: Desk) -> None:
    """Who has it, with which fence, until when; after a heartbeat longer; after the end not at all."""
    runner = desk.runner(lease_s=20)
    claimed = desk.running(runner)
    start = desk.clock.now()

    lease = desk.read(claimed.task.task_id).lease
    assert lease is not None
    assert (lease.attempt_id, lease.runner_id, lease.fence) == (claimed.attempt.attempt_id, runner, 1)
    assert lease.expires_at == start + timedelta(seconds=20)

    desk.clock.advance(5)
    desk.store.beat(runner)
    renewed = desk.read(claimed.task.task_id).lease
    assert renewed is not None
    assert renewed.expires_at == start + timedelta(seconds=25)
    desk.settle(claimed, "completed")
    assert desk.read(claimed.task.task_id).lease is None


@promise
def a_claim_takes_as_many_as_it_has_ids_for(desk: Desk) -> None:
    """Fewer where there are fewer, none where it has none."""
    ids, runner = desk.queue(5), desk.runner()

    assert desk.claim(runner, 0) == []
    assert _ids(desk.claim(runner, 3)) == ids[:3]
    assert _ids(desk.claim(runner, 3)) == ids[3:]
    assert desk.claim(runner, 3) == []


@promise
def attempts_take_the_ids_they_were_given(desk: Desk) -> None:
    """The best task has the first."""
    desk.queue(2)
    ids = (AttemptId("b"), AttemptId("a"), AttemptId("c"))

    claimed = desk.store.claim(ClaimOrder(runner_id=desk.runner(), attempt_ids=ids))

    assert [one.attempt.attempt_id for one in claimed] == ["b", "a"]


@promise
def what_is_asked_for_comes_with_the_task(desk: Desk) -> None:
    """The claimed task has every field that was queued, and its depth."""
    new = desk.task(payload={"n": 1}, subject="s", requested_adapter_id="codex", depth=3, idempotency_key="k")
    desk.store.enqueue([new])

    (claimed,) = desk.claim(desk.runner())

    kept = ("payload", "subject", "requested_adapter_id", "idempotency_key", "created_at", "available_at", "priority")
    assert [getattr(claimed.task, name) for name in kept] == [getattr(new.task, name) for name in kept]
    assert claimed.depth == 3
    assert claimed.attempt.adapter_id == "codex"


@promise
def higher_priority_goes_first_then_age_then_intake(desk: Desk) -> None:
    """The order of the queue."""
    now = desk.clock.now()
    late = desk.queue(2)
    (old,) = desk.queue(available_at=now - timedelta(seconds=1))
    (low,) = desk.queue(priority=-1)
    (high,) = desk.queue(priority=1)

    assert _ids(desk.claim(desk.runner(), 9)) == [high, old, *late, low]


@promise
def waiting_outweighs_priority_in_time(desk: Desk) -> None:
    """A step of priority is worth the ageing and no more."""
    (old,) = desk.queue()
    desk.clock.advance(AGEING_S - 1)
    (urgent,) = desk.queue(priority=1)
    desk.clock.advance(2)
    (too_late,) = desk.queue(priority=1)

    assert _ids(desk.claim(desk.runner(), 9)) == [urgent, old, too_late]


@promise
def a_retry_keeps_its_place(desk: Desk) -> None:
    """It does not go to the end of the queue."""
    runner = desk.runner(lease_s=1000)
    claimed = desk.running(runner)
    desk.clock.advance(1)
    desk.queue()
    desk.settle(claimed, "retryable_failure", at=desk.clock.now())
    desk.store.wake_due()

    assert _ids(desk.claim(runner)) == [claimed.task.task_id]


@promise
def every_claim_has_a_higher_fence(desk: Desk) -> None:
    """Of one task, for ever."""
    runner = desk.runner(lease_s=10_000)
    claimed = desk.running(runner)
    fences = [claimed.attempt.fence or 0]
    for _ in range(2):
        desk.settle(claimed, "retryable_failure", at=desk.clock.now())
        desk.store.wake_due()
        (claimed,) = desk.claim(runner)
        fences.append(claimed.attempt.fence or 0)

    assert fences == sorted(set(fences))
    assert claimed.task.attempt_count == 3


@promise
def only_an_active_runner_claims(desk: Desk) -> None:
    """Not one that is draining, has stopped, is lost, or was never there."""
    desk.queue()
    draining, stopped, lost = desk.runner(), desk.runner(), desk.runner()
    desk.store.drain(draining)
    desk.store.leave(stopped)
    desk.sweep(dead=(lost,))

    with desk.unchanged():
        assert [desk.claim(one) for one in (draining, stopped, lost, RunnerId("nobody"))] == [[], [], [], []]


@promise
def a_runner_whose_lease_has_ended_claims_nothing_that_it_could_lose_at_once(desk: Desk) -> None:
    """Swept or not: what it holds can be taken, and only one of the two settles."""
    late, other = desk.runner(), desk.runner()
    (task_id,) = desk.queue()
    desk.clock.advance(100)
    desk.store.beat(other)

    held = desk.claim(late)
    swept = desk.sweep(other)

    assert len(held) == len(swept)
    assert [desk.settle(one, "completed") for one in held] == ["lost"] * len(held)
    assert desk.read(task_id).status == ("running" if held else "pending")


@promise
def a_pause_stops_claims(desk: Desk) -> None:
    """Everybody's, or one runner's; going on goes on."""
    one, other = desk.runner(), desk.runner()
    desk.queue(4)

    _pause(desk, "all", paused=True)
    assert desk.claim(one) == desk.claim(other) == []
    _pause(desk, "all", paused=False)
    _pause(desk, one, paused=True)
    assert (len(desk.claim(one)), len(desk.claim(other))) == (0, 1)
    _pause(desk, one, paused=False)
    assert len(desk.claim(one)) == 1


def _pause(desk: Desk, scope: str, *, paused: bool) -> None:
    desk.store.pause(PauseOrder(scope=scope, paused=paused, reason="tea", actor="ann"))


@promise
def tasks_of_an_adapter_that_is_out_are_passed_over(desk: Desk) -> None:
    """Only those; they are claimed once it is back."""
    (out,) = desk.queue(breaker_id="codex", priority=9)
    (other,) = desk.queue(breaker_id="claude")
    (none,) = desk.queue()
    runner = desk.runner()

    assert _ids(desk.claim(runner, 9, without=["codex", "hermes"])) == [other, none]
    assert _ids(desk.claim(runner, 9)) == [out]


@promise
def many_that_claim_at_once_share_nothing(desk: Desk) -> None:
    """Every task goes to one of them, and all tasks go."""
    ids = desk.queue(120)
    runners = [desk.runner() for _ in range(PARTIES)]
    stores = [desk.another() for _ in runners]
    orders = [
        [ClaimOrder(runner_id=one, attempt_ids=tuple(AttemptId(desk.name("a")) for _ in range(3))) for _ in range(9)]
        for one in runners
    ]

    taken = at_once(lambda store, mine: [one for order in mine for one in store.claim(order)], stores, orders)

    assert sorted(one.task.task_id for mine in taken for one in mine) == ids
    assert [desk.life(task_id).count("task_claimed") for task_id in ids] == [1] * len(ids)


@promise
def an_attempt_id_is_used_once(desk: Desk) -> None:
    """A claim that brings a known one takes nothing for it: it is refused, or finds nothing."""
    claimed = desk.running(runner := desk.runner())
    desk.queue()

    with desk.unchanged():
        try:
            again = desk.store.claim(ClaimOrder(runner_id=runner, attempt_ids=(claimed.attempt.attempt_id,)))
        except KeiseiError:
            again = []
        assert again == []


@promise
def a_task_that_was_tried_often_enough_is_not_claimed(desk: Desk) -> None:
    """Whoever asks for one more try than there are is refused."""
    claimed = desk.running(max_attempts=1)
    blocked = desk.ending(claimed, "blocked")
    forged = replace(blocked, task=replace(blocked.task, status="retryable_failure", available_at=desk.clock.now()))

    with desk.unchanged(), refused():
        desk.store.settle(forged)


@promise
def a_claim_for_certain_tasks_takes_no_other(desk: Desk) -> None:
    """However good the others are; those that are not there, or not ready, are not waited for."""
    (urgent,) = desk.queue(priority=9)
    named = desk.queue(2)
    (later,) = desk.queue(available_at=desk.clock.now() + timedelta(hours=1))
    runner = desk.runner()

    assert _ids(_claim_only(desk, runner, [later, TaskId("nobody's")])) == []
    assert _ids(_claim_only(desk, runner, [])) == []
    assert _ids(_claim_only(desk, runner, [named[1], later])) == [named[1]]
    assert _ids(_claim_only(desk, runner, [named[1]])) == []
    assert _ids(desk.claim(runner, 9)) == [urgent, named[0]]


@promise
def a_claim_for_certain_tasks_heeds_what_every_claim_heeds(desk: Desk) -> None:
    """A pause, an adapter that is out, the order of the queue, and how many were asked for."""
    low, high = desk.queue(breaker_id="codex")[0], desk.queue(priority=1)[0]
    runner = desk.runner()

    _pause(desk, "all", paused=True)
    assert _claim_only(desk, runner, [low, high]) == []
    _pause(desk, "all", paused=False)
    assert _ids(_claim_only(desk, runner, [low], without_adapters=(AdapterId("codex"),))) == []
    assert _ids(_claim_only(desk, runner, [low, high], 1)) == [high]
    assert _ids(_claim_only(desk, runner, [low, high])) == [low]


@promise
def a_claim_within_budgets_for_certain_tasks_takes_no_other(desk: Desk) -> None:
    """The same, where what it may spend is reserved; a task that was not named is not held either."""
    (other,) = desk.queue(priority=9)
    held, named = desk.queue(2)
    runner = desk.runner()

    assert _claim_only(desk, runner, [], budget=BudgetPolicy(task=Amount(tokens=0))) == []
    assert _claim_only(desk, runner, [held], budget=BudgetPolicy(task=Amount(tokens=0))) == []
    assert _ids(_claim_only(desk, runner, [named], budget=BudgetPolicy(task=Amount(tokens=100)))) == [named]
    assert (desk.read(other).status, desk.life(other)) == ("pending", ["task_enqueued"])
    assert "budget_exhausted" in desk.life(held)


def _claim_only(
    desk: Desk,
    runner: RunnerId,
    only: list[TaskId],
    number: int = 9,
    **more: Any,  # noqa: ANN401 - fields of ClaimOrder
) -> list[Claimed]:
    ids = tuple(AttemptId(desk.name("attempt")) for _ in range(number))
    return desk.store.claim(ClaimOrder(runner_id=runner, attempt_ids=ids, only=tuple(only), **more))
