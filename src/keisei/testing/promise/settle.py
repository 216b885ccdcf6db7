"""Settle: an attempt ends once, with everything that belongs to it, by whoever holds its fence."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta

from msgspec.structs import replace

from keisei.records.artifact import ArtifactRecord
from keisei.records.breaker import Breaker
from keisei.records.error import KeiseiError
from keisei.records.finding import FindingRecord
from keisei.records.id import AdapterId, ArtifactId, AttemptId, FindingId
from keisei.records.move import CancelOrder, Claimed, NewEntry, Settlement
from keisei.records.task import TaskStatus
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk, ending, new_item, refused

ENDS: tuple[TaskStatus, ...] = (
    "completed",
    "retryable_failure",
    "permanent_failure",
    "blocked",
    "operator_canceled",
    "pending",
)
"""Everything a settlement can make of a task."""


def full(desk: Desk, claimed: Claimed) -> Settlement:
    """A settlement with one of everything."""
    now, attempt_id, task_id = desk.clock.now(), claimed.attempt.attempt_id, claimed.task.task_id
    finding = FindingRecord(
        finding_id=FindingId(desk.name("finding")),
        attempt_id=attempt_id,
        capability="verify::artifacts",
        status="held",
        severity="block",
        run_from="worktree",
        duration_ms=1.5,
        created_at=now,
    )
    artifact = ArtifactRecord(
        artifact_id=ArtifactId(desk.name("artifact")),
        task_id=task_id,
        role="output",
        relative_path="a/b.txt",
        created_at=now,
    )
    return desk.ending(
        claimed,
        "completed",
        findings=(finding,),
        artifacts=(artifact,),
        outbox=(new_item(claimed, now), new_item(claimed, now, "follow_up_task")),
        ledger=(NewEntry(kind="task_settled", actor="runner", subject=task_id, body={"so": "it went"}),),
        breaker=Breaker(adapter_id=AdapterId("codex"), failures=2, kind="crash", reason="fell", updated_at=now),
    )


@promise
def a_settlement_makes_of_the_task_what_it_says(desk: Desk) -> None:
    """Every end there is."""
    for status in ENDS:
        claimed = desk.running(runner := desk.runner())
        settlement = desk.ending(claimed, status)

        assert desk.store.settle(settlement) == "settled"

        assert desk.store.task(claimed.task.task_id) == settlement.task
        assert desk.store.attempt(claimed.attempt.attempt_id) == settlement.attempt
        events = [event.event_type for event in settlement.events]
        assert desk.life(claimed.task.task_id) == ["task_enqueued", "task_claimed", *events]
        assert desk.claim(runner) == []


@promise
def everything_that_belongs_to_an_end_is_written_with_it(desk: Desk) -> None:
    """Findings, artifacts, outbox, ledger and breaker."""
    claimed = desk.running()
    settlement = full(desk, claimed)

    assert desk.store.settle(settlement) == "settled"

    assert desk.store.findings(claimed.attempt.attempt_id) == list(settlement.findings)
    assert desk.store.artifacts(claimed.task.task_id) == list(settlement.artifacts)
    assert desk.store.pending(9) == list(settlement.outbox)
    assert desk.ledger() == [("task_settled", claimed.task.task_id)]
    assert desk.store.breakers() == [settlement.breaker]


@promise
def saying_it_twice_is_saying_it_once(desk: Desk) -> None:
    """Whoever did not hear the answer may ask again, even later."""
    for status in ENDS:
        claimed = desk.running()
        settlement = full(desk, claimed) if status == "completed" else desk.ending(claimed, status)
        assert desk.store.settle(settlement) == "settled"
        desk.clock.advance(1)

        with desk.unchanged():
            assert desk.store.settle(settlement) == "settled"


@promise
def an_ended_attempt_does_not_end_otherwise(desk: Desk) -> None:
    """Another end of the same attempt is lost, whatever the first one was."""
    for status in ENDS:
        claimed = desk.running()
        desk.settle(claimed, status)
        desk.clock.advance(1)

        with desk.unchanged():
            assert [desk.settle(claimed, other, exit_status="timeout") for other in ENDS] == ["lost"] * len(ENDS)


@promise
def a_settlement_again_is_settled_although_the_task_went_on(desk: Desk) -> None:
    """The answer tells of the attempt, not of what became of the task since."""
    runner = desk.runner(lease_s=1000)
    claimed = desk.running(runner)
    settlement = desk.ending(claimed, "retryable_failure", at=desk.clock.now())
    desk.store.settle(settlement)
    desk.store.wake_due()
    assert len(desk.claim(runner)) == 1

    with desk.unchanged():
        assert desk.store.settle(settlement) == "settled"


@promise
def a_lost_lease_settles_nothing(desk: Desk) -> None:
    """Swept and not yet settled, swept and settled, adopted: the old holder is too late for everything."""
    for step in ("settled", "adopted", "swept"):
        runner, other = desk.runner(), desk.runner()
        claimed = desk.running(runner)
        (swept,) = desk.sweep(other, dead=(runner,))
        if step == "settled":
            assert desk.settle(swept, "blocked") == "settled"
        if step == "adopted":
            assert desk.store.adopt(swept, other) is not None

        with desk.unchanged():
            assert [desk.settle(claimed, status) for status in ENDS] == ["lost"] * len(ENDS)
            assert desk.store.settle(full(desk, claimed)) == "lost"


@promise
def an_unknown_attempt_settles_nothing(desk: Desk) -> None:
    """It is lost, as one whose fence is too old."""
    claimed = desk.running()
    stranger = replace(claimed, attempt=replace(claimed.attempt, attempt_id=AttemptId("nobody")))

    with desk.unchanged():
        assert desk.settle(stranger, "completed") == "lost"


@promise
def a_fence_that_was_never_given_settles_nothing(desk: Desk) -> None:
    """Higher is no better than lower."""
    claimed = desk.running()
    ahead = replace(claimed, attempt=replace(claimed.attempt, fence=99))

    with desk.unchanged():
        assert desk.settle(ahead, "completed") == "lost"


@promise
def a_cancelled_task_is_settled_only_as_cancelled(desk: Desk) -> None:
    """An operator was quicker: every other end writes nothing."""
    claimed = desk.running()
    desk.store.request_cancel(CancelOrder(task_id=claimed.task.task_id, reason="stop", actor="ann"))

    with desk.unchanged():
        for status in ENDS:
            if status != "operator_canceled":
                assert desk.settle(claimed, status) == "canceled"
    assert desk.settle(claimed, "operator_canceled") == "settled"
    assert desk.read(claimed.task.task_id).status == "operator_canceled"


@promise
def a_cancelled_tasks_attempt_can_be_lost_all_the_same(desk: Desk) -> None:
    """Whoever has no fence hears that first."""
    runner, other = desk.runner(), desk.runner()
    claimed = desk.running(runner)
    desk.store.request_cancel(CancelOrder(task_id=claimed.task.task_id, reason="stop", actor="ann"))
    (swept,) = desk.sweep(other, dead=(runner,))

    assert desk.settle(claimed, "operator_canceled") == "lost"
    assert desk.settle(swept, "retryable_failure", exit_status="lost") == "canceled"
    assert desk.settle(swept, "operator_canceled", exit_status="lost") == "settled"


@promise
def a_postponed_attempt_is_not_counted(desk: Desk) -> None:
    """But it is remembered how often that was, and the task waits."""
    runner = desk.runner(lease_s=1000)
    claimed = desk.running(runner, max_attempts=1)
    for times in (1, 2, 3):
        desk.settle(claimed, "pending", at=desk.clock.now() + timedelta(seconds=5))
        task = desk.read(claimed.task.task_id)
        assert (task.status, task.attempt_count, desk.claim(runner)) == ("pending", 0, [])
        desk.clock.advance(5)
        desk.store.wake_due()
        (claimed,) = desk.claim(runner)
        assert (claimed.postponed, claimed.task.attempt_count) == (times, 1)


@promise
def a_retry_waits_for_its_moment(desk: Desk) -> None:
    """And not longer."""
    runner = desk.runner(lease_s=1000)
    claimed = desk.running(runner)
    at = desk.clock.now() + timedelta(seconds=30)
    desk.settle(claimed, "retryable_failure", at=at)

    assert desk.store.next_due() == at
    desk.clock.advance(29)
    assert (desk.store.wake_due(), desk.claim(runner)) == (0, [])
    desk.clock.advance(1)
    assert desk.store.wake_due() == 1
    (again,) = desk.claim(runner)
    assert (again.task.task_id, again.task.attempt_count) == (claimed.task.task_id, 2)


@promise
def a_settlement_that_is_no_move_is_refused(desk: Desk) -> None:
    """Nothing is written where the task would still run, or the attempt stay open."""
    claimed = desk.running()
    good = desk.ending(claimed, "completed")

    with desk.unchanged(), refused():
        desk.store.settle(replace(good, task=claimed.task))


@promise
def an_end_that_many_tell_at_once_is_told_once(desk: Desk) -> None:
    """The same settlement: all are answered, one writes."""
    claimed = desk.running()
    settlement = full(desk, claimed)
    stores = [desk.another() for _ in range(PARTIES)]

    assert at_once(lambda store: store.settle(settlement), stores) == ["settled"] * PARTIES

    assert desk.life(claimed.task.task_id).count("task_finished") == 1
    assert len(desk.store.pending(9)) == 2
    assert desk.ledger() == [("task_settled", claimed.task.task_id)]


@promise
def of_many_different_ends_one_holds(desk: Desk) -> None:
    """The others are lost."""
    claimed = desk.running()
    stores = [desk.another() for _ in range(PARTIES)]
    now = desk.clock.now()
    ends = [
        ending(claimed, ENDS[number % len(ENDS)], now + timedelta(seconds=number), exit_status="error")
        for number in range(PARTIES)
    ]

    answers = at_once(lambda store, end: store.settle(end), stores, ends)

    assert sorted(answers) == ["lost"] * (PARTIES - 1) + ["settled"]
    assert desk.read(claimed.task.task_id).status == ends[answers.index("settled")].task.status
    assert desk.life(claimed.task.task_id).count("task_attempt_finished") == 1


@promise
def the_newest_word_on_an_adapter_counts(desk: Desk) -> None:
    """A breaker is replaced, field by field."""
    now, runner = desk.clock.now(), desk.runner()
    first = Breaker(adapter_id=AdapterId("a"), failures=1, kind="auth", reason="no", needs_person=True, updated_at=now)
    second = Breaker(adapter_id=AdapterId("a"), open_until=now + timedelta(seconds=1), updated_at=now)
    for breaker in (first, second):
        desk.settle(desk.running(runner), "completed", breaker=breaker)

    assert desk.store.breakers() == [second]


@promise
def an_attempt_settles_its_own_task_and_no_other(desk: Desk) -> None:
    """A settlement that mixes two of them is refused or lost."""
    runner = desk.runner()
    one, other = desk.running(runner), desk.running(runner)
    mixed = replace(one, attempt=replace(one.attempt, task_id=other.task.task_id), task=other.task)

    with desk.unchanged():
        try:
            answer = desk.settle(mixed, "completed")
        except KeiseiError:
            answer = "lost"
        assert answer == "lost"
