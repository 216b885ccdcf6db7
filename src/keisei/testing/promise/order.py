"""Orders: what operators say to tasks, to runners and to adapters, each with its line in the ledger."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta

from msgspec.structs import replace

from keisei.records.breaker import Breaker
from keisei.records.error import KeiseiError
from keisei.records.id import AdapterId, TaskId
from keisei.records.move import CancelOrder, NewEntry, NewEvent, Pause, PauseOrder, TaskMove
from keisei.records.task import TaskRecord
from keisei.rules import task as rules
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk, new_outcome, refused


def canceling(desk: Desk, task: TaskRecord) -> TaskMove:
    """An operator ends a task that nobody runs."""
    after = rules.cancel(task, new_outcome("operator_canceled"), "stop", desk.clock.now())
    return _move(task, after, "task_operator_canceled")


def freeing(desk: Desk, task: TaskRecord) -> TaskMove:
    """An operator frees a task."""
    return _move(task, rules.free(task, desk.clock.now()), "operator_ordered")


def _move(before: TaskRecord, after: TaskRecord, event: str) -> TaskMove:
    told = NewEvent(event_type=event, task_id=before.task_id)  # type: ignore[arg-type] # one of two names, above
    entry = NewEntry(kind=event, actor="ann", subject=before.task_id, body={})
    return TaskMove(task=after, was=before.status, events=(told,), ledger=(entry,))


@promise
def an_operator_ends_a_task_that_waits(desk: Desk) -> None:
    """It is never claimed after that."""
    tomorrow = desk.clock.now() + timedelta(days=1)
    for task_id in (desk.blocked().task_id, *desk.queue(), *desk.queue(available_at=tomorrow)):
        move = canceling(desk, desk.read(task_id))

        assert desk.store.move(move)

        assert desk.read(task_id) == move.task
        assert desk.life(task_id)[-1] == "task_operator_canceled"
        assert desk.ledger()[-1] == ("task_operator_canceled", task_id)
    desk.clock.advance(100_000)
    assert desk.store.wake_due() == 0
    assert desk.claim(desk.runner()) == []


@promise
def an_operator_frees_a_task_that_is_blocked(desk: Desk) -> None:
    """It is claimable at once, although its tries were used up."""
    claimed = desk.running(max_attempts=1)
    desk.settle(claimed, "blocked")
    move = freeing(desk, desk.read(claimed.task.task_id))

    assert desk.store.move(move)

    assert desk.read(claimed.task.task_id) == move.task
    (again,) = desk.claim(desk.runner())
    assert (again.task.task_id, again.task.attempt_count, again.task.max_attempts) == (claimed.task.task_id, 2, 2)


@promise
def an_operator_does_not_let_a_retry_wait(desk: Desk) -> None:
    """The same order for a task that waits for its next try."""
    claimed = desk.running()
    desk.settle(claimed, "retryable_failure", at=desk.clock.now() + timedelta(days=1))

    assert desk.store.move(freeing(desk, desk.read(claimed.task.task_id)))

    assert [one.task.task_id for one in desk.claim(desk.runner())] == [claimed.task.task_id]


@promise
def an_order_for_another_status_writes_nothing(desk: Desk) -> None:
    """Somebody was quicker: False, for every order that came too late and for tasks that are not there."""
    (task_id,) = desk.queue()
    late = canceling(desk, desk.read(task_id))
    (claimed,) = desk.claim(desk.runner())
    ghost = replace(late, task=replace(late.task, task_id=TaskId("nobody")))

    with desk.unchanged():
        assert not desk.store.move(late)
        assert not desk.store.move(replace(late, was="blocked"))
        assert not desk.store.move(ghost)
    desk.settle(claimed, "completed")
    with desk.unchanged():
        assert not desk.store.move(late)


@promise
def an_order_twice_is_an_order_once(desk: Desk) -> None:
    """The second one finds another status."""
    move = canceling(desk, desk.read(desk.queue()[0]))

    assert desk.store.move(move)
    with desk.unchanged():
        assert not desk.store.move(move)


@promise
def of_many_orders_at_once_one_holds(desk: Desk) -> None:
    """Whichever comes first."""
    task = desk.blocked()
    moves = [freeing(desk, task) if number % 2 else canceling(desk, task) for number in range(PARTIES)]
    stores = [desk.another() for _ in moves]

    answers = at_once(lambda store, move: store.move(move), stores, moves)

    assert sum(answers) == 1
    assert desk.read(task.task_id).status == moves[answers.index(True)].task.status
    assert len(desk.ledger()) == 1


@promise
def an_order_and_a_claim_at_once_do_not_both_hold(desk: Desk) -> None:
    """The task runs, or it is over; never both."""
    for _ in range(5):
        (task_id,) = desk.queue()
        runner, move, store = desk.runner(), canceling(desk, desk.read(task_id)), desk.another()

        moved, claimed = at_once(lambda act, value: act(value), (store.move, desk.claim), (move, runner))

        assert bool(moved) != bool(claimed)
        assert desk.read(task_id).status == ("operator_canceled" if moved else "running")


@promise
def a_running_task_is_not_moved_by_an_order(desk: Desk) -> None:
    """Its runner has it: the order is refused or finds it so, and nothing is written."""
    claimed = desk.running()
    after = rules.cancel(claimed.task, new_outcome("operator_canceled"), "stop", desk.clock.now())

    with desk.unchanged():
        try:
            moved = desk.store.move(TaskMove(task=after, was="running"))
        except KeiseiError:
            moved = False
        assert not moved


@promise
def an_order_that_is_no_move_is_refused(desk: Desk) -> None:
    """The database knows the moves too."""
    (task_id,) = desk.queue()
    done = replace(
        desk.read(task_id), status="completed", outcome=new_outcome("completed"), finished_at=desk.clock.now()
    )

    with desk.unchanged(), refused():
        desk.store.move(TaskMove(task=done, was="pending"))


@promise
def a_running_task_is_asked_to_end(desk: Desk) -> None:
    """Its runner hears of it with every heartbeat until it is over; others hear nothing."""
    runner, other = desk.runner(), desk.runner()
    claimed, kept = desk.running(runner), desk.running(other)
    task_id = claimed.task.task_id

    assert desk.store.request_cancel(CancelOrder(task_id=task_id, reason="stop", actor="ann")) == (task_id,)

    assert desk.store.beat(runner).canceled == desk.store.beat(runner).canceled == (task_id,)
    assert desk.store.beat(other).canceled == ()
    assert desk.read(task_id).status == "running"
    assert [subject for _, subject in desk.ledger()] == [task_id]
    assert len(desk.life(task_id)) == 3
    desk.settle(claimed, "operator_canceled")
    assert desk.store.beat(runner).canceled == ()
    assert desk.settle(kept, "completed") == "settled"


@promise
def asking_twice_changes_nothing_more(desk: Desk) -> None:
    """The task is asked for once in the heartbeat, and can still be settled."""
    claimed = desk.running(runner := desk.runner())
    order = CancelOrder(task_id=claimed.task.task_id, reason="stop", actor="ann")
    desk.store.request_cancel(order)
    desk.store.request_cancel(order)

    assert desk.store.beat(runner).canceled == (claimed.task.task_id,)
    assert desk.settle(claimed, "operator_canceled") == "settled"


@promise
def every_running_task_is_asked_to_end(desk: Desk) -> None:
    """With no task named; those that wait are left alone."""
    runner = desk.runner()
    running = sorted(desk.running(runner).task.task_id for _ in range(3))
    desk.queue(available_at=desk.clock.now() + timedelta(hours=1))
    desk.queue()

    asked = desk.store.request_cancel(CancelOrder(task_id=None, reason="stop", actor="ann"))

    assert sorted(asked) == running
    assert sorted(desk.store.beat(runner).canceled) == running
    assert sorted(subject for _, subject in desk.ledger()) == running


@promise
def a_task_that_nobody_runs_is_not_asked(desk: Desk) -> None:
    """There is nobody to ask; `move` ends it."""
    parked, waiting = desk.blocked().task_id, desk.queue()[0]

    with desk.unchanged():
        for task_id in (parked, waiting, TaskId("nobody")):
            assert desk.store.request_cancel(CancelOrder(task_id=task_id, reason="stop", actor="ann")) == ()


@promise
def a_cancelled_task_goes_with_its_attempt_to_whoever_sweeps(desk: Desk) -> None:
    """A runner that dies after the order does not undo it; the adopter hears it too."""
    runner, other = desk.runner(), desk.runner()
    claimed = desk.running(runner)
    desk.store.request_cancel(CancelOrder(task_id=claimed.task.task_id, reason="stop", actor="ann"))

    (swept,) = desk.sweep(other, dead=(runner,))
    adopted = desk.store.adopt(swept, other)

    assert adopted is not None
    assert desk.store.beat(other).canceled == (claimed.task.task_id,)
    assert desk.settle(adopted, "operator_canceled") == "settled"


@promise
def a_freed_or_retried_task_is_not_cancelled_any_more(desk: Desk) -> None:
    """An order is for the run it was given in."""
    claimed = desk.running()
    desk.settle(claimed, "blocked")
    desk.store.request_cancel(CancelOrder(task_id=claimed.task.task_id, reason="stop", actor="ann"))
    desk.store.move(freeing(desk, desk.read(claimed.task.task_id)))
    (again,) = desk.claim(runner := desk.runner())

    assert desk.store.beat(runner).canceled == ()
    assert desk.settle(again, "completed") == "settled"


@promise
def pauses_are_listed_with_reason_and_time(desk: Desk) -> None:
    """And told to the runners they are for; each leaves an event and a line in the ledger."""
    runner, other = desk.runner(), desk.runner()
    since = desk.clock.now()
    desk.store.pause(PauseOrder(scope=runner, paused=True, reason="tea", actor="ann"))

    assert desk.store.pauses() == [Pause(scope=runner, reason="tea", since=since)]
    assert (desk.store.beat(runner).paused, desk.store.beat(other).paused) == ("tea", None)
    desk.store.pause(PauseOrder(scope="all", paused=True, reason="fire", actor="bob"))
    assert desk.store.beat(other).paused == "fire"
    for scope in (runner, "all"):
        desk.store.pause(PauseOrder(scope=scope, paused=False, reason="done", actor="ann"))
    assert desk.store.pauses() == []
    assert desk.store.beat(runner).paused is None
    events = [event for event in desk.life(None) if event.startswith("dispatch_pause")]
    assert events == ["dispatch_pause_enabled"] * 2 + ["dispatch_pause_cleared"] * 2
    assert len(desk.ledger()) == 4


@promise
def a_breaker_is_reset_once(desk: Desk) -> None:
    """With its line in the ledger; False where nothing was known."""
    breaker = Breaker(adapter_id=AdapterId("codex"), failures=3, needs_person=True, updated_at=desk.clock.now())
    desk.settle(desk.running(), "completed", breaker=breaker)

    assert desk.store.reset_breaker(AdapterId("codex"), "ann")
    assert all(one.failures == 0 and not one.needs_person for one in desk.store.breakers())
    assert [subject for _, subject in desk.ledger()] == ["codex"]
    with desk.unchanged():
        assert not desk.store.reset_breaker(AdapterId("hermes"), "ann")
        assert not desk.store.reset_breaker(AdapterId("codex"), "ann")
