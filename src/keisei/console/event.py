"""Events: what happened, newest first."""

from typing import Final, get_args

from msgspec import Struct

from keisei.console.asking import Cursor, Fault, Key, Limit, Unfit
from keisei.console.page import Order, Page, page
from keisei.console.premises import Premises
from keisei.records.event import EventType, OurEvent, RuntimeEvent, SeedEvent
from keisei.records.id import TaskId
from keisei.records.move import EventQuery

NAMES: Final[tuple[str, ...]] = tuple(sorted((*get_args(SeedEvent), *get_args(OurEvent))))
DIGITS: Final = 19
"""Of the largest number an event can have."""


class EventsAsk(Struct, frozen=True, kw_only=True):
    """Which events."""

    event_type: EventType | None = None
    """Only of this kind."""
    task_id: Key | None = None
    """Only of this task."""
    after: Cursor | None = None
    """Where to go on: the `next` of the answer before."""
    limit: Limit = 50
    """At most so many."""


class EventsPage(Struct, frozen=True, kw_only=True):
    """What happened."""

    items: tuple[RuntimeEvent, ...]
    """Newest first."""
    next: str | None
    """Where older ones begin; None where there are none."""
    names: tuple[str, ...]
    """Every kind of event there is."""


def show_events(premises: Premises, asks: EventsAsk) -> EventsPage:
    """What happened, newest first."""
    query = EventQuery(
        before=_place(asks.after),
        task_id=None if asks.task_id is None else TaskId(asks.task_id),
        event_type=asks.event_type,
        newest=True,
        limit=asks.limit + 1,
    )
    found = premises.store.events(query)[::-1]
    more = len(found) > asks.limit
    shown = tuple(found[: asks.limit])
    return EventsPage(items=shown, next=str(shown[-1].id) if more else None, names=NAMES)


def _place(cursor: str | None) -> int | None:
    """The number of an event. Raises Unfit."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= DIGITS):
        raise Unfit([Fault("after", "this is no place in the list; take the `next` of the answer before")])
    return int(cursor)


PAGES: Final[tuple[Page, ...]] = (page("/events", "events.html", show_events),)
ORDERS: Final[tuple[Order, ...]] = ()
