"""Outbox: what leaves the house is a row first and a delivery second. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.form import JsonObject
from keisei.records.id import AttemptId, TaskId

OutboxKind = Literal["follow_up_task", "external_message"]
OutboxStatus = Literal["pending", "delivered", "refused", "dead"]
"""Pending waits for delivery; refused was forbidden by the profile; dead could not be delivered."""


class OutboxItem(Struct, frozen=True, kw_only=True):
    """One thing an outcome asks for."""

    key: str
    """The idempotency key, `<attempt_id>/<kind>/<number>`, or `<what it tells of>/...` for what the runtime tells: the
    same key twice is the same effect."""
    kind: OutboxKind
    """What it is."""
    task_id: TaskId | None
    """The task whose outcome asks; None for what the runtime itself tells."""
    attempt_id: AttemptId | None
    """The attempt whose outcome asks."""
    payload: JsonObject
    """The intent, or the message."""
    status: OutboxStatus = "pending"
    """Where it stands."""
    reason: str | None = None
    """Why it was refused or is dead."""
    tries: int = 0
    """How often delivery was tried."""
    created_at: datetime
    """When the outcome was settled."""
    next_try_at: datetime | None = None
    """When it may be tried again; None for at once."""
    delivered_at: datetime | None = None
    """When it was delivered."""
