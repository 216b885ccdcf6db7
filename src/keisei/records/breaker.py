"""Breakers: what is known of an adapter's failures, shared by all runners. Internal: no published schema."""

from datetime import datetime

from msgspec import Struct

from keisei.records.id import AdapterId
from keisei.records.report import ErrorKind


class Breaker(Struct, frozen=True, kw_only=True):
    """One adapter."""

    adapter_id: AdapterId
    """Which."""
    failures: int = 0
    """Failures of the adapter itself in a row."""
    kind: ErrorKind | None = None
    """The newest of them."""
    reason: str | None = None
    """What it said."""
    open_until: datetime | None = None
    """It is not used before this moment; None where it is closed."""
    needs_person: bool = False
    """It stays open until an operator resets it, as after a failed login."""
    updated_at: datetime
    """When this was learnt."""
