"""Post: what an operator orders of the outbox. Each order is a move with its event and its ledger row, or why not."""

from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from keisei.engine.deliver import LEASE, Failed, NewId, event_of
from keisei.engine.ports import Store
from keisei.engine.resolve import resolve
from keisei.records.approval import ApprovalStatus
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.form import JsonObject
from keisei.records.move import Delivery, NewEntry
from keisei.records.outbox import OutboxItem
from keisei.rules.canonical import digest
from keisei.rules.delivery import channel_of

MOST: Final = 10_000
"""Rows that are read at once."""


def redeliver(store: Store, key: str, reason: str, actor: str, status: ApprovalStatus = "resolved") -> OutboxItem:
    """Put a dead or refused row back, as if never tried; the row as it was. Raises Refused for any other.

    `status` is what becomes of the approval about it.
    """
    item = known(store, key)
    told = {"reason": reason, "previous_status": item.status, "why_it_was": item.reason}
    beside = Beside(
        events=(event_of("delivery_retried", item, **told),),
        ledger=(NewEntry(kind="delivery_retried", actor=actor, subject=key, body=told),),
    )
    if item.status not in ("dead", "refused") or not store.redeliver(key, beside):
        raise Refused(f"`{key}` is {item.status}: only what is dead or refused is delivered again")
    resolve(store, f"message:{key}", reason, actor, status)
    store.ring()
    return item


def redeliver_dead(store: Store, reason: str, actor: str) -> list[OutboxItem]:
    """Put every dead row back, oldest first; those another order has put back meanwhile are left alone."""
    seen: set[str] = set()
    found = []
    while rows := [each for each in reversed(store.outbox("dead", MOST)) if each.key not in seen]:
        for item in rows:
            seen.add(item.key)
            with suppress(Refused):
                found.append(redeliver(store, item.key, reason, actor))
    return found


def drop(store: Store, key: str, reason: str, actor: str) -> OutboxItem:
    """End a row that waits, as dead; the row as it was. Raises Refused for any other."""
    item = known(store, key)
    told = {"reason": reason, "previous_reason": item.reason}
    beside = Beside(
        events=(event_of("operator_ordered", item, order="drop", **told),),
        ledger=(NewEntry(kind="delivery_dropped", actor=actor, subject=key, body=told),),
    )
    if item.status != "pending" or not store.give_up(key, f"dropped by {actor}: {reason}", beside):
        raise Refused(f"`{key}` is {item.status}: only what waits can be dropped")
    return item


def begin(store: Store, new_id: NewId, payload: JsonObject, actor: str) -> OutboxItem:
    """Write a message of an operator's as a row that is taken already, for whoever asks to send it at once."""
    now = store.now()
    item = OutboxItem(
        key=f"operator/{new_id()}",
        kind="external_message",
        task_id=None,
        attempt_id=None,
        payload=payload,
        tries=1,
        created_at=now,
        next_try_at=now + LEASE,
    )
    told = {"channel": channel_of(payload), "payload_sha256": digest(payload)}
    entry = NewEntry(kind="message_ordered", actor=actor, subject=item.key, body=told)
    event = event_of("operator_ordered", item, order="send", actor=actor)
    store.ask(Beside(outbox=(item,), events=(event,), ledger=(entry,)))
    return item


def end(store: Store, item: OutboxItem, failed: Failed | None) -> None:
    """Write what became of an operator's message: it is not tried again, since the operator is told at once."""
    if failed is None:
        done = replace(item, status="delivered", next_try_at=None, delivered_at=store.now())
        store.deliver(Delivery(item=done, events=(event_of("delivery_made", item),)))
    else:
        event = event_of("delivery_failed", item, reason=failed.reason)
        store.give_up(item.key, failed.reason, Beside(events=(event,)))


def known(store: Store, key: str) -> OutboxItem:
    """The row. Raises OperatorError for a key nobody has."""
    item = store.outbox_item(key)
    if item is None:
        raise OperatorError(f"no row of the outbox has the key `{key}`", "`keisei outbox list` shows all")
    return item
