"""Visitors: who looks and who orders."""

from typing import Final, Literal

from msgspec import Struct

Role = Literal["operator", "viewer"]
ROLES: Final[tuple[Role, ...]] = ("operator", "viewer")


class Visitor(Struct, frozen=True, kw_only=True):
    """Whoever has said a token, or has a session."""

    role: Role
    """Operators order; viewers look."""
    actor: str
    """How ledger rows name whoever orders."""
    csrf: str
    """What forms of this visitor carry."""
    session: str | None
    """The session, by its id; None for whoever says a token with every request."""
