"""The server: the SDK's own, over a desk. Tools are called in threads, streams told as progress, cancels passed on."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final

import anyio
import msgspec
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    PaginatedRequestParams,
    ReadResourceRequestParams,
)

from keisei import __version__
from keisei.mcp.desk import Desk
from keisei.mcp.line import LONGEST, LineReader, LineWriter
from keisei.mcp.load import CURRENT, Load
from keisei.mcp.reply import Reply
from keisei.rules.atom_tool import DESCRIBE, PIPE, PLAN, READ, RUN, SEARCH, SERVER

Context = ServerRequestContext[Any, Any]
THREADS: Final = 64
"""Calls that are under way at once; more wait in turn. How many of them run a process, the workers say."""
WAITING: Final = 256
"""Calls that may be there at once; more are refused."""
OPEN: Final = 512
"""Messages of one connection that are not settled, or not written; then no more is read of it."""
HELD: Final = 2 * LONGEST
"""Bytes of them."""
ALL: Final = 4
"""How much more it is for all connections together."""
META: Final = "dev.keisei/invocation"
"""Where an answer tells of its call."""
LISTED_MS: Final = 60_000
"""How long a client may believe a list of tools."""
DONE: Final = {"resultType": "complete"}
"""What the newer generation wants in every answer; for the older one the SDK takes it out."""
PAGE: Final = "skill://{}/SKILL.md"
WORDS: Final = (
    f"Atoms are small typed verbs. Find one with {SEARCH}, read what it takes with {DESCRIBE}, call it with"
    " {}. A failed call says in `error` whose fault it is; `kind` `refused` means that it is not"
    " allowed here, and trying again does not help."
)


class AtomServer:
    """One desk, served. `sdk` is what the SDK's transports serve; close it when they are done."""

    def __init__(self, desk: Desk, *, threads: int = THREADS) -> None:
        """Nothing is served yet. So many `threads` make calls."""
        self._desk = desk
        self._load = Load(ALL * OPEN, ALL * HELD)
        self._turns = asyncio.Semaphore(threads)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="mcp call")
        self._under_way = 0
        hint = CacheHint(ttl_ms=LISTED_MS, scope="private")
        self.sdk: Server[Any] = Server(
            SERVER,
            version=__version__,
            instructions=_words(desk) if desk.grant.profile == "lean" else None,
            cache_hints={"tools/list": hint, "resources/list": hint, "resources/read": hint},
            on_list_tools=self._tools,  # type: ignore[arg-type]  # a result may be a plain mapping
            on_call_tool=self._call,  # type: ignore[arg-type]  # as above
            on_list_resources=self._resources,  # type: ignore[arg-type]  # as above
            on_read_resource=self._resource,  # type: ignore[arg-type]  # as above
        )
        self.sdk.middleware.clear()  # nobody here collects traces

    async def serve(
        self, read_fd: int, write_fd: int, *, head: bytes = b"", on_end: Callable[[], None] = lambda: None
    ) -> None:
        """Serve one client over two descriptors until it hangs up: `on_end` is told then, before calls are ended.

        `head` was read of it already. The descriptors stay the caller's.
        """
        load = Load(OPEN, HELD, self._load)
        writer = LineWriter(write_fd, load)
        reader = LineReader(read_fd, writer, load, head=head, on_end=on_end)
        CURRENT.set(load)
        await self.sdk.run(reader, writer, self.sdk.create_initialization_options())

    def close(self) -> None:
        """End every call and wait for them, also for those that wait in turn: each has its row. Safe to say twice."""
        self._desk.close()
        self._threads.shutdown()

    async def _tools(self, _: Context, __: PaginatedRequestParams | None) -> dict[str, Any]:
        offers = await self._aside(self._desk.catalog.offers)
        return {**DONE, "tools": msgspec.to_builtins(offers)}

    async def _call(self, context: Context, params: CallToolRequestParams) -> dict[str, Any]:
        if self._under_way >= WAITING:
            raise MCPError(code=INTERNAL_ERROR, message=f"more than {WAITING} calls at once")
        self._under_way += 1
        try:
            return _result(await self._answered(context, params), framed=self._is_framed(params.name))
        finally:
            self._under_way -= 1

    def _is_framed(self, tool: str) -> bool:
        """Whether the tool promises a form of its output."""
        return self._desk.grant.profile == "full" and tool not in (PLAN, PIPE)

    async def _answered(self, context: Context, params: CallToolRequestParams) -> Reply:
        """The answer of the desk. Where the client does not want it any more, the call is ended and waited for."""
        key, progress = self._desk.expect(), _progress(context)
        try:
            await self._turn()
        except asyncio.CancelledError:
            self._desk.cancel(key)  # before it is made: it ends at once, with its row
            await _settled(_over(self._submitted(params, key, progress)))
            raise
        try:
            return await self._made(params, key, progress)
        finally:
            self._turns.release()

    async def _turn(self) -> None:
        """Wait for a thread, and for as long as the caller leaves too much unread; release the turn afterwards."""
        load = CURRENT.get()
        while True:
            if load is not None:
                await load.room_to_answer()
            await self._turns.acquire()
            if load is None or not load.going.is_full:
                return
            self._turns.release()

    async def _made(self, params: CallToolRequestParams, key: str, progress: "Progress | None") -> Reply:
        over = _over(future := self._submitted(params, key, progress))
        try:
            await over.wait()
        finally:
            if not over.is_set():
                self._desk.cancel(key)
                if progress is not None:
                    progress.stop()
                await _settled(over)
        return future.result()

    def _submitted(self, params: CallToolRequestParams, key: str, progress: "Progress | None") -> "Future[Reply]":
        try:
            return self._threads.submit(
                self._desk.call, params.name, params.arguments, invocation_id=key, on_item=progress
            )
        except RuntimeError:  # the server is closed
            self._desk.forget(key)
            raise MCPError(code=INTERNAL_ERROR, message="the server is ending") from None

    async def _resources(self, _: Context, __: PaginatedRequestParams | None) -> dict[str, Any]:
        packages = await self._aside(self._desk.catalog.packages)
        return {**DONE, "resources": [_listed(each) for each in packages]}

    async def _resource(self, _: Context, params: ReadResourceRequestParams) -> dict[str, Any]:
        uri = str(params.uri)
        text = await self._aside(lambda: self._page(uri))
        if text is None:
            raise MCPError(code=INVALID_PARAMS, message="there is no such resource", data={"uri": uri})
        return {**DONE, "contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}

    def _page(self, uri: str) -> str | None:
        from keisei.library.package_skill import skill_page  # noqa: PLC0415 - only who reads one needs it

        package = next((each for each in self._desk.catalog.packages() if PAGE.format(each) == uri), None)
        if package is None:
            return None
        specs = self._desk.catalog.specs(package)
        return skill_page(package, specs)

    @staticmethod
    async def _aside(work: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever it returns
        """Work that waits behind no call."""
        return await asyncio.get_running_loop().run_in_executor(None, work)


class Progress:
    """Items of a stream, told to the client one by one, from the thread that takes them."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[int, str], Coroutine[Any, Any, None]]) -> None:
        """Nothing was told yet."""
        self._loop, self._tell = loop, tell
        self._lock = threading.Lock()
        self._count, self._is_over = 0, False
        self._sending: Future[None] | None = None

    def __call__(self, item: Any) -> None:  # noqa: ANN401 - any JSON
        """Tell one, and wait until it is out: a client that reads slowly holds the stream up. Never raises."""
        with self._lock:
            if self._is_over:
                return
            self._count += 1
            told = self._tell(self._count, json.dumps(item, ensure_ascii=False))
            self._sending = asyncio.run_coroutine_threadsafe(told, self._loop)
        with suppress(Exception, asyncio.CancelledError):
            self._sending.result()

    def stop(self) -> None:
        """Tell no more, also not what is being told."""
        with self._lock:
            self._is_over, sending = True, self._sending
        if sending is not None:
            sending.cancel()


def _progress(context: Context) -> Progress | None:
    """Whoever tells of progress; None where nobody asked for it."""
    if context.meta is None or context.meta.get("progress_token") is None:
        return None

    async def tell(count: int, message: str) -> None:
        await context.session.report_progress(count, message=message)

    return Progress(asyncio.get_running_loop(), tell)


def _over(future: "Future[Reply]") -> asyncio.Event:
    """Set when a thread is done."""
    event, loop = asyncio.Event(), asyncio.get_running_loop()

    def tell(_: "Future[Reply]") -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits
            loop.call_soon_threadsafe(event.set)

    future.add_done_callback(tell)
    return event


async def _settled(over: asyncio.Event) -> None:
    """Wait for the end, whoever is canceled."""
    with anyio.CancelScope(shield=True):
        await over.wait()


def _result(reply: Reply, *, framed: bool) -> dict[str, Any]:
    """The result on the wire. An error of a tool with a promised form is told as text alone.

    Claude Code 2.1.197 holds whatever is structured against that form, and would show its own complaint in its place.
    """
    told: dict[str, Any] = {**DONE, "content": [{"type": "text", "text": reply.text}], "isError": reply.is_error}
    if not (framed and reply.is_error):
        told["structuredContent"] = reply.structured
    return told | ({"_meta": {META: reply.meta}} if reply.meta else {})


def _words(desk: Desk) -> str:
    """What a client is told of the few tools."""
    return WORDS.format(" or ".join(name for name in (READ, RUN) if name in desk.catalog.tools))


def _listed(package: str) -> dict[str, Any]:
    uri = PAGE.format(package)
    return {"uri": uri, "name": package, "title": f"How to use {package}", "mimeType": "text/markdown"}
