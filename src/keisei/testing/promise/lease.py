"""Leases: a runner that is silent loses what it holds, once and for ever, and somebody takes it up."""

from keisei.records.beside import Beside
from keisei.records.id import RunnerId
from keisei.records.move import NewEntry, NewEvent
from keisei.testing.promise.book import promise
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
def who_let_a_runner_drain_stands_in_the_ledger(desk: Desk) -> None:
    """In the commit of the order; a runner that does not drain leaves nothing."""
    runner = desk.runner()
    event = NewEvent(event_type="operator_ordered", detail={"order": "drain"})
    entry = NewEntry(kind="runner_drained", actor="ann", subject=runner, body={})
    beside = Beside(events=(event,), ledger=(entry,))

    assert desk.store.drain(runner, beside)
    with desk.unchanged():
        assert not desk.store.drain(runner, beside)
        assert not desk.store.drain(RunnerId("nobody"), beside)

    assert desk.ledger() == [("runner_drained", runner)]
    assert desk.life(None)[-1] == "operator_ordered"


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
