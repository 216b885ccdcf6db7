"""Bodies: read whole before anybody looks at them, within a size, a time, and a sum for all that are on their way."""

import asyncio
from typing import Any, Final

from keisei.console.guard_head import Head
from keisei.console.guard_refusal import Refusal, later

AGAIN_S: Final = 2.0
FORM: Final = b"application/x-www-form-urlencoded"


class Gone(Exception):
    """Whoever asked has hung up."""


class Bodies:
    """What all bodies together hold in memory."""

    def __init__(self, most: int) -> None:
        """Nothing."""
        self._most = most
        self.held = 0

    def take(self, size: int) -> None:
        """Hold more. Raises Refusal where all is taken; a body that comes alone is always held."""
        if self.held and self.held + size > self._most:
            raise later(AGAIN_S, "too many bodies are on their way", 503)
        self.held += size


class Body:
    """One request's."""

    def __init__(self, bodies: Bodies, limit: int) -> None:
        """Nothing was read. Give back with `drop`, whatever happens."""
        self._bodies, self._limit, self._held = bodies, limit, 0
        self.data = b""

    def check(self, head: Head) -> bool:
        """Whether there is one. Raises Refusal for one that is said to be too large, or whose length is none."""
        if head.one(b"transfer-encoding") is not None:
            return True
        told = head.one(b"content-length")
        if told is None:
            return False
        if not (told.isdigit() and len(told) <= len(str(2**63))):
            raise Refusal(400, "the length of the body is no number", closes=True)
        if int(told) > self._limit:
            raise self._too_large()
        return int(told) > 0

    async def read(self, receive: Any, seconds: float) -> None:  # noqa: ANN401 - as ASGI has it
        """Read it. Raises Refusal where it is too large or too slow, Gone."""
        pieces: list[bytes] = []
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise Gone
                    pieces.append(self._weighed(message.get("body", b"")))
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            raise Refusal(408, f"the body did not come within {seconds:g} seconds", closes=True) from None
        self.data = b"".join(pieces)

    def _weighed(self, piece: bytes) -> bytes:
        if self._held + len(piece) > self._limit:
            raise self._too_large()
        self._bodies.take(len(piece))
        self._held += len(piece)
        return piece

    def _too_large(self) -> Refusal:
        return Refusal(413, f"the body has more than {self._limit} bytes")

    def drop(self) -> None:
        """Hold it no longer."""
        self._bodies.held -= self._held
        self._held, self.data = 0, b""


def form_token(head: Head, data: bytes) -> str:
    """What a form says in its field `csrf`; nothing where it is said twice, or the body is no form."""
    kind = (head.one(b"content-type") or b"").partition(b";")[0].strip().lower()
    if kind != FORM:
        return ""
    found = [part[5:] for part in data.split(b"&") if part.startswith(b"csrf=")]
    return found[0].decode("latin-1") if len(found) == 1 else ""
