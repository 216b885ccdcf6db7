"""Intake: tasks are queued once, in one commit, as they are, and wait for their moment."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.beside import Beside
from keisei.records.id import TaskId
from keisei.records.move import Enqueued, NewEntry, NewEvent
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk, new_outcome, refused


@promise
def a_queued_task_is_read_back_as_it_was(desk: Desk) -> None:
    """Every field comes back, and one event tells of it."""
    new = desk.task(
        subject="Größe 東京 🦉",
        description="line\nline\ttab",
        priority=-1000,
        payload={"deep": [{"a": None, "b": [1, 2.5, True, "x"]}], "": "empty key"},
        requested_adapter_id="codex",
        requested_model="m",
        skill_ids=("a", "b"),
        parent_task_id="elsewhere",
        idempotency_key="key",
        agent="agent",
        max_attempts=7,
    )

    assert desk.store.enqueue([new]) == [Enqueued(task_id=new.task.task_id, created=True)]

    assert desk.store.task(new.task.task_id) == new.task
    assert desk.life(new.task.task_id) == ["task_enqueued"]


@promise
def tasks_are_answered_in_the_order_they_were_given(desk: Desk) -> None:
    """Also where some of them are known already."""
    first, second, third = desk.task(idempotency_key="k"), desk.task(), desk.task(idempotency_key="k")

    answers = desk.store.enqueue([first, second, third])

    assert [(answer.task_id, answer.created) for answer in answers] == [
        (first.task.task_id, True),
        (second.task.task_id, True),
        (first.task.task_id, False),
    ]


@promise
def what_a_person_asked_for_is_told_with_it(desk: Desk) -> None:
    """One ledger row for each task that is new, in their order, and none for one that was known already."""
    tasks = [desk.task(idempotency_key=key) for key in ("a", "b", "a")]
    told = [replace(each, ledger=(_order(each.task.task_id),)) for each in tasks]

    desk.store.enqueue([desk.task(), *told])

    assert desk.ledger() == [("task_enqueued", str(each.task.task_id)) for each in tasks[:2]]
    with desk.unchanged():
        desk.store.enqueue(told)


def _order(task_id: TaskId) -> NewEntry:
    return NewEntry(kind="task_enqueued", actor="ann", subject=task_id, body={"task_type": "any"})


@promise
def nothing_to_queue_is_no_error(desk: Desk) -> None:
    """An empty intake writes nothing."""
    with desk.unchanged():
        assert desk.store.enqueue([]) == []


@promise
def a_known_key_writes_nothing(desk: Desk) -> None:
    """The earlier task answers for it, whatever became of that one."""
    claimed = desk.running(idempotency_key="key")
    desk.settle(claimed, "completed")

    with desk.unchanged():
        answers = desk.store.enqueue([desk.task(idempotency_key="key", priority=5)])

    assert answers == [Enqueued(task_id=claimed.task.task_id, created=False)]


@promise
def an_empty_key_is_a_key(desk: Desk) -> None:
    """And no key is none: tasks without one are never the same."""
    created = [
        done.created for done in desk.store.enqueue([desk.task(idempotency_key=key) for key in ("", "", None, None)])
    ]

    assert created == [True, False, True, True]


@promise
def a_known_id_writes_nothing(desk: Desk) -> None:
    """An id names one task for ever."""
    new = desk.task(payload={"first": True})
    desk.store.enqueue([new])

    with desk.unchanged():
        again = desk.store.enqueue([replace(new, task=replace(new.task, payload={"first": False}))])

    assert again == [Enqueued(task_id=new.task.task_id, created=False)]


@promise
def an_id_twice_in_one_intake_is_one_task(desk: Desk) -> None:
    """The first of them is it."""
    new = desk.task(payload={"first": True})

    answers = desk.store.enqueue([new, replace(new, task=replace(new.task, payload={"first": False}))])

    assert [answer.created for answer in answers] == [True, False]
    assert desk.read(new.task.task_id).payload == {"first": True}
    assert desk.life(new.task.task_id) == ["task_enqueued"]


@promise
def an_id_and_a_key_of_two_tasks_write_nothing(desk: Desk) -> None:
    """Whichever of them answers."""
    one, other = desk.queue(idempotency_key="one")[0], desk.queue(idempotency_key="other")[0]

    with desk.unchanged():
        (answer,) = desk.store.enqueue(
            [replace(it, task=replace(it.task, task_id=one)) for it in [desk.task(idempotency_key="other")]]
        )

    assert not answer.created
    assert answer.task_id in (one, other)


@promise
def a_key_that_many_bring_at_once_is_one_task(desk: Desk) -> None:
    """All of them hear the same id, one of them made it."""
    stores = [desk.another() for _ in range(PARTIES)]
    tasks = [desk.task(idempotency_key="race") for _ in stores]

    answers = [one for (one,) in at_once(lambda store, task: store.enqueue([task]), stores, tasks)]

    assert sum(answer.created for answer in answers) == 1
    assert len({answer.task_id for answer in answers}) == 1
    assert desk.store.counts()["pending"] == 1


@promise
def an_id_that_many_bring_at_once_is_one_task(desk: Desk) -> None:
    """As with keys, through one store and through several."""
    stores = [desk.store, desk.store, *(desk.another() for _ in range(PARTIES - 2))]
    new = desk.task()

    answers = [one for (one,) in at_once(lambda store: store.enqueue([new]), stores)]

    assert sum(answer.created for answer in answers) == 1
    assert desk.life(new.task.task_id) == ["task_enqueued"]


@promise
def intakes_that_share_keys_in_another_order_do_not_stop_each_other(desk: Desk) -> None:
    """Whoever sorts nothing gets a deadlock here."""
    stores = [desk.another() for _ in range(PARTIES)]
    keys = [f"key-{number}" for number in range(500)]
    orders = [keys if number % 2 else keys[::-1] for number in range(PARTIES)]
    intakes = [[desk.task(idempotency_key=key) for key in order] for order in orders]

    answers = at_once(lambda store, tasks: store.enqueue(tasks), stores, intakes)

    assert sum(answer.created for one in answers for answer in one) == len(keys)
    assert desk.store.counts()["pending"] == len(keys)


@promise
def an_intake_with_one_bad_task_writes_none(desk: Desk) -> None:
    """One commit: done or not done. What is not pending and untried cannot be queued."""
    over = desk.task(status="completed", finished_at=desk.clock.now(), outcome=new_outcome("completed"))

    with desk.unchanged(), refused():
        desk.store.enqueue([desk.task(), over, desk.task()])


@promise
def thousands_are_queued_at_once(desk: Desk) -> None:
    """In the order they were given."""
    ids = desk.queue(3000)

    assert desk.store.counts()["pending"] == len(ids)
    assert [claimed.task.task_id for claimed in desk.claim(desk.runner(), 5)] == ids[:5]


@promise
def a_task_is_queued_once_more_with_what_is_written_beside_it(desk: Desk) -> None:
    """All of it in one commit: the task, its events, its line in the ledger."""
    new = desk.task(idempotency_key="again:one:1")
    beside = _beside()

    assert desk.store.requeue(new, beside) == Enqueued(task_id=new.task.task_id, created=True)

    assert desk.store.task(new.task.task_id) == new.task
    assert desk.life(new.task.task_id) == ["task_enqueued"]
    assert desk.ledger() == [("task_requeued", "one")]
    assert desk.life(TaskId("one")) == ["operator_ordered"]


@promise
def what_is_known_is_not_queued_once_more(desk: Desk) -> None:
    """Neither by its key nor by its id, and nothing is written beside it; what cannot be written keeps it out too."""
    new = desk.task(idempotency_key="key")
    desk.store.enqueue([new])
    known = Enqueued(task_id=new.task.task_id, created=False)
    over = desk.task(status="completed", finished_at=desk.clock.now(), outcome=new_outcome("completed"))

    with desk.unchanged():
        assert desk.store.requeue(desk.task(idempotency_key="key"), _beside()) == known
        assert desk.store.requeue(new, _beside()) == known
        with refused():
            desk.store.requeue(over, _beside())
        with refused():
            desk.store.requeue(desk.task(), _beside(body={"no": float("nan")}, source="manual"))


@promise
def of_many_who_queue_it_once_more_one_does(desk: Desk) -> None:
    """And one line in the ledger tells of it."""
    stores = [desk.another() for _ in range(PARTIES)]
    tasks = [desk.task(idempotency_key="race") for _ in stores]

    answers = at_once(lambda store, task: store.requeue(task, _beside()), stores, tasks)

    assert sum(answer.created for answer in answers) == 1
    assert len({answer.task_id for answer in answers}) == 1
    assert desk.ledger() == [("task_requeued", "one")]


def _beside(**changes: Any) -> Beside:  # noqa: ANN401 - whatever an entry has
    event = NewEvent(event_type="operator_ordered", task_id=TaskId("one"), detail={"order": "retry"})
    entry = NewEntry(kind="task_requeued", actor="ann", subject="one", body={})
    return Beside(events=(event,), ledger=(replace(entry, **changes),))


@promise
def a_delayed_task_waits_for_its_moment(desk: Desk) -> None:
    """Not a microsecond earlier, and then at once."""
    due = desk.clock.now() + timedelta(hours=1)
    (task_id,) = desk.queue(available_at=due)
    runner = desk.runner(lease_s=10_000)

    desk.clock.advance(3600 - 0.000_001)
    assert (desk.store.wake_due(), desk.claim(runner), desk.store.claimable()) == (0, [], 0)
    desk.clock.advance(0.000_001)
    assert (desk.store.wake_due(), desk.store.claimable()) == (1, 1)

    assert [claimed.task.task_id for claimed in desk.claim(runner)] == [task_id]


@promise
def waking_twice_wakes_once(desk: Desk) -> None:
    """And says how many it woke."""
    desk.queue(3, available_at=desk.clock.now() + timedelta(seconds=1))
    desk.queue(2, available_at=desk.clock.now() + timedelta(seconds=5))
    desk.clock.advance(2)

    assert [desk.store.wake_due(), desk.store.wake_due()] == [3, 0]


@promise
def waking_goes_on_until_all_are_awake(desk: Desk) -> None:
    """However many came due at one moment."""
    desk.queue(6000, available_at=desk.clock.now() + timedelta(seconds=1))
    desk.clock.advance(1)

    woken = 0
    while step := desk.store.wake_due():
        woken += step

    assert woken == 6000
    assert desk.store.claimable() == 6000


@promise
def the_next_moment_is_known(desk: Desk) -> None:
    """The earliest of what is delayed; None where nothing is."""
    now = desk.clock.now()
    assert desk.store.next_due() is None
    desk.queue(available_at=now + timedelta(minutes=2))
    desk.queue(available_at=now + timedelta(minutes=1))
    desk.queue()

    assert desk.store.next_due() == now + timedelta(minutes=1)
    desk.clock.advance(60)
    desk.store.wake_due()
    assert desk.store.next_due() == now + timedelta(minutes=2)


@promise
def a_store_keeps_what_it_holds_when_it_is_closed(desk: Desk) -> None:
    """Closing twice is closing once, and another way in sees everything."""
    (task_id,) = desk.queue(idempotency_key="kept")
    first = desk.another()
    first.close()
    first.close()

    assert desk.another().task(TaskId(task_id)) == desk.read(task_id)


@promise
def the_stores_time_is_the_clocks(desk: Desk) -> None:
    """Aware, in UTC."""
    desk.clock.advance(1.000_001)

    assert desk.store.now() == desk.clock.now()
    assert desk.store.now().utcoffset() == timedelta(0)
