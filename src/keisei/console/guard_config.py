"""What a guard is told: who may come, how much they may send, and whom it tells."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from keisei.console.address import Address
from keisei.console.guard_closing import Closing
from keisei.console.guard_refusal import Attempt

MIB: Final = 1_048_576


class Limits(Struct, frozen=True, kw_only=True):
    """How much is too much."""

    body: int = MIB
    """Bytes of a body."""
    hook: int = 25 * MIB
    """Bytes of a webhook's body, which GitHub sends up to this size."""
    bodies: int = 64 * MIB
    """Bytes of all bodies that are on their way."""
    body_s: float = 10.0
    """How long a body may take."""
    per_s: float = 20.0
    """Changes a second that one visitor may ask for, over a while."""
    burst: int = 60
    """And how many at once."""
    failures_per_s: float = 0.5
    """Wrong tokens, links and forms a second from one address."""
    failures: int = 20
    """And how many at once."""
    streams: int = 256
    """Streams that are open at once."""
    streams_each: int = 64
    """Of them, how many of one session."""
    watch_s: float = 15.0
    """How often it is asked whether whoever has a stream open is still known."""


def no_post(_method: str, _path: str) -> bool:
    """Viewers change nothing."""
    return False


def untold(_attempt: Attempt) -> None:
    """Nobody is told."""


def unheard(_error: BaseException) -> None:
    """Nobody is told."""


class GuardConfig(Struct, frozen=True, kw_only=True):
    """What a guard stands for."""

    home_folder: Path
    """The state folder; the tokens are in `console/`."""
    address: Address
    """Where the console listens, with the port it became."""
    account: str
    """Whose console it is: `NAME via console` stands in ledger rows."""
    limits: Limits = field(default_factory=Limits)
    """How much is too much."""
    closing: Closing = field(default_factory=Closing)
    """Begun when the console ends."""
    refused: Callable[[Attempt], None] = untold
    """Told of some who were turned away, in a thread; `refusal_entry` makes a row of it. May raise."""
    broken: Callable[[BaseException], None] = unheard
    """Told of an error that the application let out. Should not raise."""
    viewer_may: Callable[[str, str], bool] = no_post
    """Whether viewers may ask for a change: its method and path."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, for rates."""
    now: Callable[[], float] = time.time
    """Seconds since 1970, for what expires."""
