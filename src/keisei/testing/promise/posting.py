"""Posting: a row is spoken for before it is sent, put back by an operator, given up where nothing helps."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import timedelta

from msgspec.structs import replace

from keisei.records.beside import NOTHING, Beside
from keisei.records.id import AttemptId, TaskId
from keisei.records.move import Delivery, NewEntry, NewEvent
from keisei.records.outbox import OutboxItem
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.outbox import asked, delivery
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk, refused

TOLD = Beside(
    events=(NewEvent(event_type="operator_ordered"),),
    ledger=(NewEntry(kind="outbox_redelivered", actor="ann", subject="a row", body={}),),
)


def message(desk: Desk, **changes: object) -> OutboxItem:
    """What the runtime itself tells, of no task; it is in the outbox."""
    fields = {"key": f"{desk.name('news')}/overdue", "kind": "external_message", "payload": {"text": "look"}}
    item = OutboxItem(task_id=None, attempt_id=None, created_at=desk.clock.now(), **(fields | changes))  # type: ignore[arg-type]
    desk.store.ask(Beside(outbox=(item,)))
    return item


@promise
def a_message_needs_no_task(desk: Desk) -> None:
    """What the runtime tells is a row like any other, and the same key twice is one row."""
    item = message(desk)

    with desk.unchanged():
        assert desk.store.ask(Beside(outbox=(replace(item, payload={"text": "another"}),))) == 0

    assert desk.store.outbox_item(item.key) == item
    assert desk.store.pending(9) == [item]
    assert desk.store.deliver(delivery(desk, item))


@promise
def an_outbox_row_is_read_by_its_key(desk: Desk) -> None:
    """Every field; one that nobody wrote is not there, whatever it is called."""
    later = desk.clock.now() + timedelta(hours=1)
    item = message(desk, status="dead", reason="gone", tries=8, next_try_at=later, delivered_at=later)

    assert desk.store.outbox_item(item.key) == item
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        assert desk.store.outbox_item(text) is None


@promise
def who_takes_a_row_speaks_for_it(desk: Desk) -> None:
    """Nobody else takes it, or is offered it, before the moment that was said; then it is offered again."""
    item = message(desk)
    until = desk.clock.now() + timedelta(seconds=60)

    assert desk.store.take(item.key, 0, until)

    taken = replace(item, tries=1, next_try_at=until)
    assert desk.store.outbox_item(item.key) == taken
    with desk.unchanged():
        assert desk.store.pending(9) == []
        assert not desk.store.take(item.key, 0, until)
        assert not desk.store.take(item.key, 1, until)
    desk.clock.advance(60)
    assert desk.store.pending(9) == [taken]
    with desk.unchanged():
        assert not desk.store.take(item.key, 0, until)
    assert desk.store.take(item.key, 1, until + timedelta(seconds=60))


@promise
def a_row_that_does_not_wait_is_not_taken(desk: Desk) -> None:
    """Delivered, refused, dead, or not there at all."""
    now = desk.clock.now()
    for status in ("delivered", "refused", "dead"):
        item = message(desk, status=status)
        with desk.unchanged():
            assert not desk.store.take(item.key, 0, now)
    with desk.unchanged():
        for text in ("nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
            assert not desk.store.take(text, 2**70, now)


@promise
def of_many_who_take_a_row_one_has_it(desk: Desk) -> None:
    """Whoever comes at the same time hears that somebody was quicker."""
    item = message(desk)
    until = desk.clock.now() + timedelta(seconds=60)
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.take(item.key, 0, until), stores)

    assert sum(answers) == 1
    assert desk.store.outbox_item(item.key) == replace(item, tries=1, next_try_at=until)


@promise
def who_took_a_row_says_what_became_of_it(desk: Desk) -> None:
    """Its try is counted already; the moment of the next one is what is new. Said twice it is written once."""
    item = message(desk)
    taken = replace(item, tries=1, next_try_at=desk.clock.now() + timedelta(seconds=60))
    assert desk.store.take(item.key, 0, taken.next_try_at or desk.clock.now())
    failed = replace(taken, reason="no route", next_try_at=desk.clock.now() + timedelta(seconds=5))
    told = Delivery(item=failed, events=(NewEvent(event_type="delivery_failed"),))

    assert desk.store.deliver(told)
    with desk.unchanged():
        assert not desk.store.deliver(told)
    assert desk.store.outbox_item(item.key) == failed

    desk.clock.advance(5)
    until = desk.clock.now() + timedelta(seconds=60)
    assert desk.store.take(item.key, 1, until)
    with desk.unchanged():
        assert not desk.store.deliver(told)
        assert not desk.store.deliver(Delivery(item=replace(failed, status="dead")))
    done = replace(failed, status="delivered", tries=2, next_try_at=None, delivered_at=desk.clock.now())
    assert desk.store.deliver(Delivery(item=done))
    assert desk.store.outbox_item(item.key) == done


@promise
def a_dead_or_refused_row_is_put_back(desk: Desk) -> None:
    """As if never tried, with its event and its ledger row; any other row stays as it is."""
    later = desk.clock.now() + timedelta(hours=1)
    for status in ("dead", "refused"):
        item = message(desk, status=status, reason="gone", tries=8, next_try_at=later)

        assert desk.store.redeliver(item.key, TOLD)

        fresh = replace(item, status="pending", reason=None, tries=0, next_try_at=None)
        assert desk.store.outbox_item(item.key) == fresh
        assert desk.store.pending(9) == [fresh]
        with desk.unchanged():
            assert not desk.store.redeliver(item.key, TOLD)
        assert desk.store.deliver(delivery(desk, fresh))
        with desk.unchanged():
            assert not desk.store.redeliver(item.key, TOLD)
    assert desk.life(None).count("operator_ordered") == 2
    assert [kind for kind, _ in desk.ledger()] == ["outbox_redelivered"] * 2
    with desk.unchanged():
        for text in ("nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
            assert not desk.store.redeliver(text, TOLD)


@promise
def of_many_who_put_a_row_back_one_does(desk: Desk) -> None:
    """One event, one ledger row."""
    item = message(desk, status="dead", reason="gone")
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.redeliver(item.key, TOLD), stores)

    assert sum(answers) == 1
    assert desk.life(None).count("operator_ordered") == 1


@promise
def a_pending_row_is_given_up_once(desk: Desk) -> None:
    """It is dead and says why, and what is told of it is told once."""
    item = message(desk)
    until = desk.clock.now() + timedelta(seconds=60)
    assert desk.store.take(item.key, 0, until)

    assert desk.store.give_up(item.key, "eight times in vain", TOLD)

    assert desk.store.outbox_item(item.key) == replace(item, status="dead", reason="eight times in vain", tries=1)
    with desk.unchanged():
        assert not desk.store.give_up(item.key, "again", TOLD)
        for text in ("nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
            assert not desk.store.give_up(text, text, TOLD)
    assert desk.life(None).count("operator_ordered") == 1


@promise
def a_reason_may_be_any_text(desk: Desk) -> None:
    """It comes from outside: what cannot be kept is mended."""
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        item = message(desk)
        assert desk.store.give_up(item.key, text, NOTHING)
        found = desk.store.outbox_item(item.key)
        assert found is not None
        assert found.reason
        assert found.reason == text or text in DOUBTFUL.values()


@promise
def a_row_of_an_attempt_that_is_not_there_is_refused(desk: Desk) -> None:
    """It shows nobody's evidence; nothing of what stands beside it is written."""
    item = OutboxItem(
        key="a",
        kind="external_message",
        task_id=TaskId("nobody"),
        attempt_id=AttemptId("nobody"),
        payload={},
        created_at=desk.clock.now(),
    )

    with desk.unchanged(), refused():
        desk.store.ask(replace(TOLD, outbox=(item,)))


@promise
def follow_ups_are_counted_by_the_type_of_their_parents(desk: Desk) -> None:
    """Only tasks, only what was delivered or queued by an attempt, only since then."""
    _, (early, late, never) = asked(desk, "follow_up_task", "follow_up_task", "follow_up_task")
    _, (news,) = asked(desk, "external_message")
    since = desk.clock.now()
    assert desk.store.deliver(delivery(desk, early, task=True))
    assert desk.store.deliver(delivery(desk, news))
    desk.clock.advance(60)
    assert desk.store.deliver(delivery(desk, late, task=True))
    assert desk.store.deliver(Delivery(item=replace(never, status="dead", reason="too deep", tries=1)))

    def counted(task_type: str | None, seconds: float) -> int:
        return desk.store.followed_since(task_type, since + timedelta(seconds=seconds))

    assert (counted(None, 0), counted("note", 0), counted("another", 0)) == (2, 2, 0)
    assert (counted(None, 60), counted("note", 60), counted(None, 61)) == (1, 1, 0)
    parent = late.task_id
    queued = desk.task(source=f"task:{parent}", idempotency_key=f"asked:{parent}:one")
    desk.store.enqueue([replace(queued, depth=1), desk.task(idempotency_key="asked:by an operator")])
    assert (counted(None, 60), counted("note", 60), counted("another", 60), counted(None, 61)) == (2, 2, 0, 0)
    assert all(counted(text, 0) == 0 for text in (*STORED.values(), *DOUBTFUL.values(), LONG))
