"""Outbox: what an outcome asks for is a row first, and leaves once."""

from msgspec.structs import replace

from keisei.records.id import TaskId
from keisei.records.move import Claimed, Delivery, NewEvent
from keisei.records.outbox import OutboxItem, OutboxKind
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.queue import Desk, new_item


def asked(desk: Desk, *kinds: OutboxKind) -> tuple[Claimed, list[OutboxItem]]:
    """A completed task and what its outcome asks for."""
    claimed = desk.running()
    items = [new_item(claimed, desk.clock.now(), kind, number) for number, kind in enumerate(kinds)]
    assert desk.settle(claimed, "completed", outbox=tuple(items)) == "settled"
    return claimed, items


def delivery(desk: Desk, item: OutboxItem, *, task: bool = False) -> Delivery:
    """The row leaves now, with a follow-up task where that is what it asks for."""
    done = replace(item, status="delivered", tries=item.tries + 1, delivered_at=desk.clock.now())
    told = NewEvent(event_type="delivery_made", task_id=item.task_id, attempt_id=item.attempt_id)
    follow_up = desk.task(parent_task_id=item.task_id, idempotency_key=item.key) if task else None
    return Delivery(item=done, task=follow_up, events=(told,))


@promise
def rows_wait_oldest_first(desk: Desk) -> None:
    """As many as are asked for; the list of all has the newest first."""
    _, items = asked(desk, "external_message", "follow_up_task", "external_message")

    assert desk.store.pending(9) == items
    assert desk.store.pending(2) == items[:2]
    assert desk.store.pending(9, items[0].key) == items[1:]
    assert desk.store.pending(1, items[1].key) == items[2:]
    assert desk.store.pending(9, items[2].key) == []
    assert desk.store.pending(9, "nobody") == desk.store.pending(9, "\0") == items
    assert desk.store.outbox(None, 9) == items[::-1]
    assert desk.store.outbox("delivered", 9) == []
    assert desk.store.outbox("pending", 1) == items[-1:]


@promise
def a_row_is_delivered_once(desk: Desk) -> None:
    """The second delivery hears that somebody was quicker, and writes nothing."""
    _, (item, other) = asked(desk, "external_message", "external_message")
    desk.clock.advance(1)
    done = delivery(desk, item)

    assert desk.store.deliver(done)
    with desk.unchanged():
        assert not desk.store.deliver(done)
        assert not desk.store.deliver(replace(done, item=replace(done.item, status="dead", reason="no")))
    assert desk.store.pending(9) == [other]
    assert desk.store.outbox("delivered", 9) == [done.item]
    assert desk.life(item.task_id)[-1] == "delivery_made"


@promise
def a_follow_up_is_queued_with_its_delivery(desk: Desk) -> None:
    """In one transaction: claimable, with its event."""
    claimed, (item,) = asked(desk, "follow_up_task")
    done = delivery(desk, item, task=True)
    assert done.task is not None

    assert desk.store.deliver(done)

    assert desk.store.task(done.task.task.task_id) == done.task.task
    assert desk.life(done.task.task.task_id) == ["task_enqueued"]
    assert desk.read(done.task.task.task_id).parent_task_id == claimed.task.task_id
    with desk.unchanged():
        assert not desk.store.deliver(delivery(desk, item, task=True))


@promise
def a_follow_up_that_is_known_is_delivered_and_not_queued_again(desk: Desk) -> None:
    """Its key was there before."""
    _, (item,) = asked(desk, "follow_up_task")
    (known,) = desk.queue(idempotency_key=item.key)
    done = delivery(desk, item, task=True)

    assert desk.store.deliver(done)

    assert desk.store.pending(9) == []
    assert done.task is not None
    assert desk.store.task(done.task.task.task_id) is None
    assert desk.life(known) == ["task_enqueued"]


@promise
def of_many_deliveries_at_once_one_holds(desk: Desk) -> None:
    """One row, one follow-up."""
    claimed, (item,) = asked(desk, "follow_up_task")
    done = [delivery(desk, item, task=True) for _ in range(PARTIES)]
    done = [
        replace(one, task=replace(one.task, task=replace(one.task.task, idempotency_key=None)))
        for one in done
        if one.task is not None
    ]
    stores = [desk.another() for _ in done]

    answers = at_once(lambda store, one: store.deliver(one), stores, done)

    assert sum(answers) == 1
    assert desk.store.counts()["pending"] == 1
    assert desk.life(claimed.task.task_id).count("delivery_made") == 1


@promise
def a_row_that_was_tried_in_vain_waits_on(desk: Desk) -> None:
    """With the number of tries; given up, it is dead and says why."""
    _, (item,) = asked(desk, "external_message")
    tried = replace(item, tries=1, reason="no route")

    assert desk.store.deliver(Delivery(item=tried))
    assert desk.store.pending(9) == [tried]
    dead = replace(tried, tries=2, status="dead", reason="gone")
    assert desk.store.deliver(Delivery(item=dead))
    assert desk.store.pending(9) == []
    assert desk.store.outbox("dead", 9) == [dead]


@promise
def a_row_that_nobody_asked_for_is_not_delivered(desk: Desk) -> None:
    """There is no row to deliver."""
    claimed, _ = asked(desk)
    stranger = new_item(claimed, desk.clock.now())

    with desk.unchanged():
        assert not desk.store.deliver(delivery(desk, stranger, task=True))
    assert desk.store.task(TaskId("nobody")) is None


@promise
def a_refused_row_never_waits(desk: Desk) -> None:
    """The profile forbids it: it is there to be seen."""
    claimed = desk.running()
    item = replace(new_item(claimed, desk.clock.now()), status="refused", reason="not allowed")
    desk.settle(claimed, "completed", outbox=(item,))

    assert desk.store.pending(9) == []
    assert desk.store.outbox("refused", 9) == [item]
