"""Requests: orders that came with an `Idempotency-Key`: sent twice, they are answered twice and obeyed once.

Internal: no published schema.
"""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

RequestState = Literal["fresh", "open", "answered", "mismatch"]
"""Fresh: whoever asked carries it out. Open: somebody is doing so. Answered: it was, and this is the answer. Mismatch:
the key was used for something else."""

STALE_S: Final = 3600.0
"""An open one that is as old belongs to a process that died: the next who asks with its digest carries it out."""
KEPT_S: Final = 86_400.0
"""How long a key is remembered at least."""
LARGEST_ANSWER: Final = 256 * 1024
"""The most bytes of an answer that are kept."""


class RequestRecord(Struct, frozen=True, kw_only=True):
    """What is known of one key of one actor."""

    key: str
    """What the client calls it."""
    actor: str
    """Who asked; another actor's key of the same name is another key."""
    digest: str
    """What was asked for: a hash of method, path and body. Of a mismatch: what was asked for the first time."""
    state: RequestState
    """What whoever asks now may do."""
    fence: int
    """The right to answer; one higher each time it is taken over."""
    began_at: datetime
    """When it was last begun."""
    status: int | None = None
    """The HTTP status of its answer."""
    body: bytes | None = None
    """Its answer, byte for byte; None where it was larger than is kept, or is not there yet."""


class RequestAnswer(Struct, frozen=True, kw_only=True):
    """What was answered."""

    key: str
    """Which request."""
    actor: str
    """Whose."""
    fence: int
    """The one it was begun with."""
    status: int
    """The HTTP status."""
    body: bytes
    """The answer; of one over 256 KiB only the status is kept."""
