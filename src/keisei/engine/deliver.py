"""Deliver: what verified outcomes ask for leaves the outbox. Follow-ups once; messages at least once, under one id."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.follow import followed
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.event import EventType
from keisei.records.id import ApprovalId
from keisei.records.move import Delivery, NewEvent
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectApprovals
from keisei.rules import approval as approvals
from keisei.rules.delivery import MOST, channel_of, next_try, number_of

BATCH: Final = 50
"""Rows that move in one round."""
PAGE: Final = 500
"""Rows that are looked at together. The oldest are looked at in every round."""
PAGES: Final = 10
"""So many in one round. Rows behind a channel that is busy are not held up by it: the next round looks further."""
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


class Place:
    """Where a look through a long outbox goes on in the next round. One for everybody who delivers."""

    after: str | None = None
    """Behind which key; None for the beginning."""


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


def deliver(
    office: Office,
    channels: Channels | None,
    rate: int,
    place: Place | None = None,
    policy: ProjectApprovals = ProjectApprovals(),  # noqa: B008 - frozen
) -> int:
    """Let some dozens of rows leave. How many moved: follow-ups that left or wait, messages that are on their way.

    Of the parents of one task type at most `rate` follow-ups an hour are queued; the others wait. Without channels
    messages stay rows. Raises what the store raises; a row that cannot leave harms only itself. However many rows
    wait, with the same `place` in every round each is looked at before long.
    """
    store, moved = office.store, 0
    for item in _movable(store, channels, place or Place()):
        if item.kind == "follow_up_task":
            moved += store.deliver(followed(item, office, rate))
        elif channels is not None:
            moved += _send(item, store, channels, office.new_id, policy)
    if moved:
        store.ring()
    return moved


def _movable(store: Store, channels: Channels | None, place: Place) -> list[OutboxItem]:
    """The oldest rows that can move, and of each channel no more than it has room for."""
    room: dict[str, int] = {}
    rows = store.pending(PAGE)
    found = _with_room(rows, channels, room)
    if len(rows) < PAGE:
        place.after = None
        return found[:BATCH]
    place.after = place.after or rows[-1].key
    for _ in range(PAGES - 1):
        if len(found) >= BATCH or place.after is None:
            break
        rows = store.pending(PAGE, place.after)
        found += _with_room(rows, channels, room)
        place.after = rows[-1].key if len(rows) == PAGE else None
    return found[:BATCH]


def _with_room(rows: list[OutboxItem], channels: Channels | None, room: dict[str, int]) -> list[OutboxItem]:
    """Those that can move; `room` is what each channel has left, and is kept up."""
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


def _send(item: OutboxItem, store: Store, channels: Channels, new_id: NewId, policy: ProjectApprovals) -> bool:
    now = store.now()
    if (number_of(item.key) or 0) >= MOST:
        reason = f"a message behind the first {MOST} of one outcome is not sent"
        return store.give_up(item.key, reason, Beside(events=(event_of("delivery_failed", item, reason=reason),)))
    if not store.take(item.key, item.tries, now + LEASE):
        return False
    taken = replace(item, tries=item.tries + 1, next_try_at=now + LEASE)
    channels.send(taken, now, partial(conclude, store, new_id, taken, policy=policy))
    return True


def conclude(
    store: Store,
    new_id: NewId,
    item: OutboxItem,
    failed: Failed | None,
    policy: ProjectApprovals = ProjectApprovals(),  # noqa: B008 - frozen
) -> bool:
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
    return store.give_up(item.key, failed.reason, _dead(item, failed, ApprovalId(new_id()), now, policy))


def _dead(item: OutboxItem, failed: Failed, approval_id: ApprovalId, now: datetime, policy: ProjectApprovals) -> Beside:
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
    asked = approvals.asked(approval, policy)
    told = event_of("delivery_failed", item, reason=failed.reason, channel=failed.channel)
    return replace(asked, events=(told, *asked.events))


def event_of(kind: EventType, item: OutboxItem, **detail: object) -> NewEvent:
    """What happened to a row."""
    told = {"key": item.key, "kind": item.kind, "tries": item.tries, **detail}
    return NewEvent(event_type=kind, task_id=item.task_id, attempt_id=item.attempt_id, detail=told)
