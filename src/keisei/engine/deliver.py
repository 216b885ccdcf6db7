"""Deliver: what verified outcomes ask for leaves the outbox. Follow-ups once; messages at least once, under one id."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.follow import Trade, followed
from keisei.engine.intake import Defaults, Registry
from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.event import EventType
from keisei.records.id import ApprovalId
from keisei.records.move import Delivery, NewEvent
from keisei.records.outbox import OutboxItem
from keisei.rules import approval as approvals
from keisei.rules.delivery import MOST, channel_of, next_try, number_of

BATCH: Final = 50
"""Rows that move in one round."""
LOOKS: Final = (50, 500, 5000)
"""How far to look for rows that can move: those behind a channel that is busy are not held up by it."""
LEASE: Final = timedelta(seconds=60)
"""How long a message that was taken is nobody else's. A channel gives up well before."""
NewId = Callable[[], str]


class Failed(Struct, frozen=True, kw_only=True):
    """A message did not arrive, or nobody knows that it did."""

    reason: str
    """Why, in a sentence without secrets."""
    gone: bool = False
    """Trying again would not help."""
    retry_after_s: float | None = None
    """How long the receiver asks to be left alone."""
    channel: str | None = None
    """The channel, where it is one of the project's; whatever else a message names may hold a secret."""


Done = Callable[[Failed | None], object]
"""Hears once what became of a message: None where it arrived."""


class Channels(Protocol):
    """Where messages go. Whatever a receiver does, the caller is not held up by it."""

    def room(self, channel: str) -> int:
        """How many more messages could be sent on this channel now, without waiting for one another."""

    def send(self, item: OutboxItem, at: datetime, done: Done) -> None:
        """Begin to send a message that was taken at that moment. Raises nothing of its own.

        `done` hears of it within half a minute, in any thread, and perhaps before this returns.
        """


def deliver(  # noqa: PLR0913, PLR0917 - the rooms a delivery needs
    store: Store,
    registry: Callable[[], Registry],
    defaults: Defaults,
    new_id: NewId,
    channels: Channels | None,
    rate: int,
) -> int:
    """Let some dozens of rows leave. How many moved: follow-ups that left or wait, messages that are on their way.

    Of the parents of one task type at most `rate` follow-ups an hour are queued; the others wait. Without channels
    messages stay rows. Raises what the store raises; a row that cannot leave harms only itself.
    """
    trade = Trade(store=store, registry=registry, defaults=defaults, new_id=new_id, rate=rate)
    moved = 0
    for item in _movable(store, channels):
        if item.kind == "follow_up_task":
            moved += store.deliver(followed(item, trade))
        elif channels is not None:
            moved += _send(item, store, channels, new_id)
    if moved:
        store.ring()
    return moved


def _movable(store: Store, channels: Channels | None) -> list[OutboxItem]:
    """The oldest rows that can move, and of each channel no more than it has room for."""
    found: list[OutboxItem] = []
    for most in LOOKS:
        rows = store.pending(most)
        found = _with_room(rows, channels)
        if len(found) >= BATCH or len(rows) < most:
            break
    return found[:BATCH]


def _with_room(rows: list[OutboxItem], channels: Channels | None) -> list[OutboxItem]:
    room: dict[str, int] = {}
    found: list[OutboxItem] = []
    for item in rows:
        if item.kind == "external_message":
            name = channel_of(item.payload)
            if name not in room:
                room[name] = channels.room(name) if channels is not None else 0
            room[name] -= 1
            if room[name] < 0:
                continue
        found.append(item)
    return found


def _send(item: OutboxItem, store: Store, channels: Channels, new_id: NewId) -> bool:
    now = store.now()
    if (number_of(item.key) or 0) >= MOST:
        reason = f"a message behind the first {MOST} of one outcome is not sent"
        return store.give_up(item.key, reason, Beside(events=(event_of("delivery_failed", item, reason=reason),)))
    if not store.take(item.key, item.tries, now + LEASE):
        return False
    taken = replace(item, tries=item.tries + 1, next_try_at=now + LEASE)
    channels.send(taken, now, partial(conclude, store, new_id, taken))
    return True


def conclude(store: Store, new_id: NewId, item: OutboxItem, failed: Failed | None) -> bool:
    """Write what became of a message that was taken: it arrived, is tried again, or is dead and a person is told.

    False: its lease had ended and somebody else has taken it, so that nothing was written.
    """
    now = store.now()
    if failed is None:
        done = replace(item, status="delivered", reason=None, next_try_at=None, delivered_at=now)
        return store.deliver(Delivery(item=done, events=(event_of("delivery_made", item),)))
    again = None if failed.gone else next_try(item.tries, now, failed.retry_after_s)
    if again is not None:
        return store.deliver(Delivery(item=replace(item, reason=failed.reason, next_try_at=again)))
    return store.give_up(item.key, failed.reason, _dead(item, failed, ApprovalId(new_id()), now))


def _dead(item: OutboxItem, failed: Failed, approval_id: ApprovalId, now: datetime) -> Beside:
    """A person is told by an approval and not by a message, since it is a channel that does not work."""
    where = f" on the channel `{failed.channel}`" if failed.channel is not None else ""
    approval = ApprovalRecord(
        approval_id=approval_id,
        kind="message",
        key=f"message:{item.key}",
        reason=f"a message{where} could not be delivered: {failed.reason}",
        task_id=item.task_id,
        attempt_id=item.attempt_id,
        detail={"outbox_key": item.key, "tries": item.tries},
        created_at=now,
        decided_at=None,
    )
    asked = approvals.event("approval_asked", approval, reason=approval.reason)
    told = event_of("delivery_failed", item, reason=failed.reason, channel=failed.channel)
    return Beside(events=(told, asked), approvals=(approval,))


def event_of(kind: EventType, item: OutboxItem, **detail: object) -> NewEvent:
    """What happened to a row."""
    told = {"key": item.key, "kind": item.kind, "tries": item.tries, **detail}
    return NewEvent(event_type=kind, task_id=item.task_id, attempt_id=item.attempt_id, detail=told)
