"""Sweep: what a runner that is gone held changes hands, with a new fence, as often as it takes."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from msgspec.structs import replace

from keisei.records.id import RunnerId
from keisei.records.move import EventQuery, Progress, Sweep
from keisei.testing.promise.book import at_once, promise
from keisei.testing.queue import LEASE_S, Desk


@promise
def what_sweep_takes_has_a_new_fence(desk: Desk) -> None:
    """The same open attempt, one higher, and the task is still running."""
    claimed = desk.running(runner := desk.runner())

    (swept,) = desk.sweep(dead=(runner,))

    assert swept.attempt.attempt_id == claimed.attempt.attempt_id
    assert (swept.attempt.fence, swept.attempt.ended_at) == (2, None)
    assert (swept.task.status, swept.task.attempt_count) == ("running", 1)
    assert desk.settle(swept, "retryable_failure", exit_status="lost") == "settled"
    assert desk.attempt(claimed.attempt.attempt_id).exit_status == "lost"


@promise
def a_known_death_is_not_waited_for(desk: Desk) -> None:
    """The living keep what they have."""
    dead, living = desk.runner(), desk.runner()
    gone, kept = desk.running(dead), desk.running(living)

    assert [one.task.task_id for one in desk.sweep(living, dead=(dead, RunnerId("nobody")))] == [gone.task.task_id]
    assert desk.settle(kept, "completed") == "settled"


@promise
def what_the_sweeper_itself_runs_is_left_alone(desk: Desk) -> None:
    """Save attempts it does not know: a claim whose answer was lost."""
    runner = desk.runner()
    known, unknown = desk.running(runner), desk.running(runner)

    assert desk.sweep(runner) == []
    (swept,) = desk.sweep(runner, unknown=(unknown.attempt.attempt_id,))

    assert (swept.attempt.attempt_id, swept.attempt.fence) == (unknown.attempt.attempt_id, 2)
    assert desk.settle(swept, "pending") == "settled"
    assert desk.settle(known, "completed") == "settled"


@promise
def nobody_takes_what_stands_under_another_living_runner(desk: Desk) -> None:
    """Even if it names the attempt."""
    owner, other = desk.runner(), desk.runner()
    claimed = desk.running(owner)

    assert desk.sweep(other, unknown=(claimed.attempt.attempt_id,)) == []
    assert desk.settle(claimed, "completed") == "settled"


@promise
def sweep_tells_what_has_returned(desk: Desk) -> None:
    """What has returned is judged and never run again; the rest is run again."""
    runner = desk.runner()
    back, away = desk.running(runner), desk.running(runner)
    desk.store.progress(Progress(stage="returned", attempt=back.attempt))
    desk.store.progress(Progress(stage="started", attempt=away.attempt))

    swept = {one.task.task_id: one.returned for one in desk.sweep(dead=(runner,))}

    assert swept == {back.task.task_id: True, away.task.task_id: False}


@promise
def a_sweeper_that_dies_is_swept_after(desk: Desk) -> None:
    """What it took and did not settle is found again, and its own fence is too old then."""
    runner, sweeper, other = desk.runner(), desk.runner(), desk.runner()
    desk.running(runner)
    (first,) = desk.sweep(sweeper, dead=(runner,))

    (second,) = desk.sweep(other, dead=(sweeper,))

    assert second.attempt.fence == 3
    assert desk.settle(first, "retryable_failure") == "lost"
    assert desk.settle(second, "retryable_failure") == "settled"


@promise
def of_two_sweepers_one_settles(desk: Desk) -> None:
    """Whoever has the highest fence."""
    runner = desk.runner()
    claims = [desk.running(runner) for _ in range(10)]
    desk.store.leave(runner)
    stores, sweepers = [desk.another(), desk.another()], [desk.runner(), desk.runner()]

    found = at_once(lambda store, me: store.sweep(Sweep(runner_id=me)), stores, sweepers)

    answers = [desk.settle(one, "blocked", exit_status="lost") for mine in found for one in mine]
    assert answers.count("settled") == len(claims)
    assert {desk.read(one.task.task_id).status for one in claims} == {"blocked"}
    assert desk.sweep() == []


@promise
def a_sweep_is_told_once(desk: Desk) -> None:
    """One event for what was taken, none where nothing was."""
    runner = desk.runner()
    for _ in range(3):
        desk.running(runner)
    desk.sweep()
    desk.sweep(dead=(runner,))

    (event,) = desk.store.events(EventQuery(event_type="boot_sweep_reclaimed"))
    assert event.detail["tasks_reclaimed"] == event.detail["attempts_reclaimed"] == 3


@promise
def an_attempt_is_adopted_by_a_living_runner(desk: Desk) -> None:
    """With a new fence, under its lease."""
    runner, other = desk.runner(), desk.runner()
    desk.running(runner)
    (swept,) = desk.sweep(other, dead=(runner,))

    adopted = desk.store.adopt(swept, other)

    assert adopted is not None
    assert (adopted.attempt.runner_id, adopted.attempt.fence) == (other, 3)
    lease = desk.read(swept.task.task_id).lease
    assert lease is not None
    assert (lease.runner_id, lease.fence) == (other, 3)
    assert desk.sweep(desk.runner()) == []
    assert desk.settle(swept, "completed") == "lost"
    assert desk.settle(adopted, "completed") == "settled"


@promise
def an_adoption_that_comes_too_late_is_none(desk: Desk) -> None:
    """Settled, taken by another sweep, adopted already; and nothing is written."""
    runner, other = desk.runner(), desk.runner()
    claims = [desk.running(runner) for _ in range(3)]
    settled, taken, adopted = desk.sweep(other, dead=(runner,))
    desk.settle(settled, "blocked")
    desk.store.adopt(adopted, other)
    stale = replace(taken, attempt=replace(taken.attempt, fence=1))

    with desk.unchanged():
        assert [desk.store.adopt(one, other) for one in (settled, stale, adopted)] == [None] * len(claims)


@promise
def a_runner_that_is_gone_adopts_nothing(desk: Desk) -> None:
    """Whoever adopts must be able to hold it."""
    runner, gone = desk.runner(), desk.runner()
    desk.running(runner)
    desk.store.leave(gone)
    (swept,) = desk.sweep(dead=(runner,))

    assert [desk.store.adopt(swept, one) for one in (gone, RunnerId("nobody"))] == [None, None]
    assert len(desk.sweep()) == 1


@promise
def an_adopted_attempt_is_swept_with_its_new_runner(desk: Desk) -> None:
    """And still known to have returned."""
    runner, other = desk.runner(), desk.runner()
    claimed = desk.running(runner)
    desk.store.progress(Progress(stage="returned", attempt=claimed.attempt))
    (swept,) = desk.sweep(other, dead=(runner,))
    desk.store.adopt(swept, other)
    desk.clock.advance(LEASE_S * 2)

    (again,) = desk.sweep()

    assert (again.returned, again.attempt.fence) == (True, 4)


@promise
def what_is_not_settled_is_found_however_long_ago_its_runner_went(desk: Desk) -> None:
    """Pruning forgets no runner that still has an open attempt."""
    claimed = desk.running(runner := desk.runner())
    desk.sweep(dead=(runner,))
    desk.clock.advance(10_000_000)

    desk.store.prune(desk.clock.now())

    assert [one.task.task_id for one in desk.sweep()] == [claimed.task.task_id]
