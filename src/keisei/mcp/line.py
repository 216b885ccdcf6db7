"""Lines: one JSON message each, over two file descriptors. Bounded, and nobody's standing still blocks the loop.

Implements the SDK's stream protocols. What is no message is answered here, in one error without its text.
"""

import asyncio
import os
import select
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

import anyio
import msgspec
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from keisei.mcp.load import Load

LONGEST: Final = 8 * 1024 * 1024
"""Bytes of a message."""
PIECE: Final = 65_536
ROOM: Final = select.PIPE_BUF
"""Bytes that a pipe takes without waiting when it says it takes any."""


class LineWriter:
    """Messages going out. A reader who takes nothing holds up whoever sends, and nobody else."""

    def __init__(self, fd: int, load: Load) -> None:
        """The descriptor stays the caller's. What waits to be written is part of the load."""
        self._fd, self._load = fd, load
        self._turn = asyncio.Lock()
        self._poll = select.poll()
        self._poll.register(fd, select.POLLOUT)
        self._is_broken = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message. Raises BrokenResourceError once nobody reads any more."""
        data = _encoded(item)
        with self._load.going.holding(len(data)):
            await self._sent(data)

    async def _sent(self, data: bytes) -> None:
        async with self._turn:
            if self._is_broken:
                raise anyio.BrokenResourceError
            try:
                await self._write(memoryview(data))
            except OSError:
                self._is_broken = True
                raise anyio.BrokenResourceError from None
            except asyncio.CancelledError:
                self._is_broken = True  # half a line may be out
                raise

    async def aclose(self) -> None:
        """Nothing: the descriptor is not ours."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _write(self, data: memoryview) -> None:
        while data:
            if not self._poll.poll(0):
                await _ready(self._fd, asyncio.get_running_loop().add_writer, asyncio.get_running_loop().remove_writer)
            data = data[os.write(self._fd, data[:ROOM]) :]


class LineReader:
    """Messages coming in, until the other side hangs up."""

    def __init__(self, fd: int, answers: LineWriter, load: Load, *, head: bytes, on_end: Callable[[], None]) -> None:
        """`head` was read already; `answers` takes what is said of no message; `on_end` is told of the end.

        While the load is full no message is taken: the other side waits.
        """
        self._fd, self._answers, self._load, self._on_end = fd, answers, load, on_end
        self._rest, self._seen = bytearray(head), 0
        self._is_skipping = self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        """The next message. Raises StopAsyncIteration at the end."""
        while (line := await self._line()) is not None:
            try:
                return self._weighed(jsonrpc_message_adapter.validate_json(line, by_name=False), len(line))
            except (ValueError, RecursionError):
                await self._complain(line)
        self._on_end()
        raise StopAsyncIteration

    async def receive(self) -> SessionMessage:
        """The next message. Raises EndOfStream at the end."""
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def aclose(self) -> None:
        """Read no more."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _weighed(self, message: JSONRPCMessage, size: int) -> SessionMessage:
        """A message that is part of the load as long as anybody holds it: the SDK does so until it is answered."""
        self._load.coming.add(size)
        weakref.finalize(message, self._load.coming.take, size).atexit = False
        return SessionMessage(message)

    async def _line(self) -> bytes | None:
        """The next line that is not empty; None at the end. One that is too long is told, and left out."""
        await self._load.room(self._is_over)
        while True:
            end = self._rest.find(b"\n", self._seen)
            if end < 0:
                await self._bound()
                if not await self._more():
                    return None
                continue
            line = bytes(self._rest[:end])
            del self._rest[: end + 1]
            self._seen = 0
            if self._is_skipping:
                self._is_skipping = False
            elif len(line) > LONGEST:
                await self._too_long()
            elif line.strip():
                return line

    def _is_over(self) -> bool:
        """Whether the other side says no more than what is on its way already."""
        watch = select.poll()
        watch.register(self._fd, select.POLLRDHUP)
        return self._is_closed or bool(watch.poll(0))

    async def _bound(self) -> None:
        """Keep no more of a line than a message may have."""
        self._seen = len(self._rest)
        if self._is_skipping or self._seen > LONGEST:
            self._rest.clear()
            self._seen = 0
            if not self._is_skipping:
                self._is_skipping = True
                await self._too_long()

    async def _more(self) -> bool:
        if self._is_closed:
            return False
        loop = asyncio.get_running_loop()
        with suppress(PermissionError):  # a regular file always has something to say
            await _ready(self._fd, loop.add_reader, loop.remove_reader)
        try:
            piece = os.read(self._fd, PIECE)
        except OSError:
            return False
        self._rest += piece
        return bool(piece)

    async def _too_long(self) -> None:
        await self._answer(None, INVALID_REQUEST, f"a message has more than {LONGEST} bytes")

    async def _complain(self, line: bytes) -> None:
        try:
            told = msgspec.json.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            await self._answer(None, PARSE_ERROR, "this is no JSON, or nested too deeply")
            return
        known = told.get("id") if isinstance(told, dict) else None
        is_id = isinstance(known, str | int) and not isinstance(known, bool)
        await self._answer(known if is_id else None, INVALID_REQUEST, "this is no JSON-RPC 2.0 message")

    async def _answer(self, known: Any, code: int, message: str) -> None:  # noqa: ANN401 - an id, or None
        error = JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=message))
        with suppress(anyio.BrokenResourceError):
            await self._answers.send(SessionMessage(error))


async def _ready(fd: int, add: Any, remove: Any) -> None:  # noqa: ANN401 - the loop's own
    """Wait until a descriptor can be used. Raises PermissionError for a regular file, which always can."""
    event = asyncio.Event()
    add(fd, event.set)
    try:
        await event.wait()
    finally:
        remove(fd)


def _encoded(item: SessionMessage) -> bytes:
    message = item.message
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
    except ValueError:  # half a character that no JSON text can carry: the client asked with it
        error = ErrorData(code=INVALID_REQUEST, message="the answer cannot be written as JSON")
        known = getattr(message, "id", None)
        return JSONRPCError(jsonrpc="2.0", id=known, error=error).model_dump_json(by_alias=True).encode() + b"\n"
