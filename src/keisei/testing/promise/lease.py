"""Leases: a runner that is silent loses what it holds, once and for ever, and somebody takes it up."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from msgspec.structs import replace

from keisei.records.id import RunnerId
from keisei.records.move import EventQuery, Progress, Sweep
from keisei.testing.promise.book import at_once, promise
from keisei.testing.queue import LEASE_S, Desk, new_runner


@promise
def a_runner_that_registers_is_listed(desk: Desk) -> None:
    """As it said, heard of now."""
    told = new_runner(RunnerId("one"), desk.clock, 20)
    desk.store.register(told)

    assert desk.store.runners() == [told]
    assert desk.store.beat(RunnerId("one")).alive


@promise
def runners_are_listed_newest_first_and_the_gone_apart(desk: Desk) -> None:
    """Those that are gone say since when."""
    first = desk.runner()
    desk.clock.advance(1)
    second, third = desk.runner(), desk.runner()
    desk.clock.advance(1)
    desk.store.leave(first)
    desk.sweep(dead=(third,))

    assert [one.runner_id for one in desk.store.runners()] == [second]
    listed = {one.runner_id: one for one in desk.store.runners(gone=True)}
    assert set(listed) == {first, second, third}
    assert next(reversed(listed)) == first
    assert (listed[first].state, listed[first].ended_at) == ("stopped", desk.clock.now())
    assert (listed[third].state, listed[third].ended_at) == ("lost", desk.clock.now())


@promise
def a_heartbeat_renews_the_lease(desk: Desk) -> None:
    """As often as it comes in time."""
    claimed = desk.running(runner := desk.runner())
    for _ in range(4):
        desk.clock.advance(LEASE_S - 1)
        assert desk.store.beat(runner).alive
        assert desk.sweep() == []

    assert desk.store.runners()[0].heartbeat_at == desk.clock.now()
    assert desk.settle(claimed, "completed") == "settled"


@promise
def a_lease_lasts_as_long_as_it_says(desk: Desk) -> None:
    """It holds until its last moment and is taken after it."""
    desk.running(runner := desk.runner())
    desk.clock.advance(LEASE_S - 0.000_001)
    assert desk.sweep() == []
    assert desk.store.beat(runner).alive

    desk.clock.advance(LEASE_S + 0.000_001)
    assert len(desk.sweep()) == 1


@promise
def every_lease_goes_by_its_own_length(desk: Desk) -> None:
    """A patient runner is not judged by an impatient one."""
    short, long = desk.runner(lease_s=5), desk.runner(lease_s=500)
    first, second = desk.running(short), desk.running(long)
    desk.clock.advance(100)

    assert [one.task.task_id for one in desk.sweep()] == [first.task.task_id]
    assert desk.settle(second, "completed") == "settled"


@promise
def a_lost_runner_stays_lost(desk: Desk) -> None:
    """No heartbeat brings it back, and it claims nothing."""
    runner = desk.runner()
    desk.queue()
    desk.clock.advance(LEASE_S * 2)
    desk.sweep()

    assert [desk.store.beat(runner).alive for _ in range(2)] == [False, False]
    assert desk.claim(runner) == []
    assert desk.store.runners() == []
    assert not desk.store.drain(runner)


@promise
def a_runner_that_is_late_and_not_swept_yet_may_come_back(desk: Desk) -> None:
    """Nobody has taken anything from it."""
    claimed = desk.running(runner := desk.runner())
    desk.clock.advance(LEASE_S * 2)

    if desk.store.beat(runner).alive:
        assert desk.sweep() == []
        assert desk.settle(claimed, "completed") == "settled"
    else:
        assert len(desk.sweep()) == 1
        assert desk.settle(claimed, "completed") == "lost"


@promise
def an_unknown_runner_has_no_lease(desk: Desk) -> None:
    """It hears so, and nothing is made for it."""
    stranger = RunnerId("nobody")

    assert not desk.store.beat(stranger).alive
    assert not desk.store.drain(stranger)
    desk.store.leave(stranger)
    assert desk.store.runners(gone=True) == []


@promise
def a_draining_runner_finishes_what_it_has(desk: Desk) -> None:
    """It hears of it, claims nothing, beats on and settles."""
    claimed = desk.running(runner := desk.runner())

    assert desk.store.drain(runner)
    assert not desk.store.drain(runner)
    beat = desk.store.beat(runner)
    assert (beat.alive, beat.draining) == (True, True)
    assert [one.state for one in desk.store.runners()] == ["draining"]
    assert desk.sweep() == []
    assert desk.settle(claimed, "completed") == "settled"


@promise
def a_draining_runner_can_be_lost(desk: Desk) -> None:
    """As any other."""
    desk.running(runner := desk.runner())
    desk.store.drain(runner)
    desk.clock.advance(LEASE_S * 2)

    assert len(desk.sweep()) == 1


@promise
def what_a_runner_leaves_behind_is_found(desk: Desk) -> None:
    """By the next sweep, without waiting for the lease."""
    claimed = desk.running(runner := desk.runner())
    desk.store.leave(runner)
    desk.store.leave(runner)

    (swept,) = desk.sweep()

    assert swept.task.task_id == claimed.task.task_id
    assert not desk.store.beat(runner).alive
    assert desk.store.runners(gone=True)[0].state == "stopped"


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
def a_wall_clock_that_jumps_expires_nothing(desk: Desk) -> None:
    """Where leases go by the machine's own clock; a server's clock is the lease's clock."""
    claimed = desk.running(runner := desk.runner())
    if desk.wall_leases:
        desk.clock.jump(-3600)
    else:
        desk.clock.jump(3600)
        assert desk.sweep() == []
        desk.clock.jump(-7200)

    assert desk.sweep() == []
    assert desk.store.beat(runner).alive
    assert desk.settle(claimed, "completed") == "settled"


@promise
def a_machine_that_starts_again_has_lost_its_runners(desk: Desk) -> None:
    """Where the store is one machine's; their leases do not outlive it."""
    desk.running(desk.runner(lease_s=1000))
    if desk.wall_leases:
        return
    desk.clock.reboot()

    assert len(desk.sweep(desk.runner())) == 1
