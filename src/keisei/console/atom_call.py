"""Calls of atoms from the console: as the command makes them, told with who asked, and remembered for a page."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei.console.memory import Memory
from keisei.console.premises import Premises
from keisei.engine.invoke import Followed, InvokeOrder, Tools, follow, invoke
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import WorldFault
from keisei.records.invocation import InvocationRecord, Invoked

MOST: Final = 8
"""Calls side by side: each holds one of the threads that answer requests."""
LONGEST_MS: Final = 300_000
"""No call from here takes longer, whatever its page allows: a browser waits for it."""
ITEMS, ITEMS_BYTES, STREAM_S = 200, 1024 * 1024, 15.0
"""A stream is ended behind so many items, so many bytes, or after so long."""
ASKED_S: Final = 900.0
"""How long a question is remembered."""


class AtomFailure(Struct, frozen=True, kw_only=True):
    """Why a call failed."""

    kind: str
    """Whose fault it is."""
    code: str | None
    """The atom's own code."""
    message: str
    """What happened."""


class AtomMetadata(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is told of a call beside its result."""

    duration_ms: float
    """How long it took."""
    atom: str
    """What was called."""
    invocation_id: str
    """Its id, as the ledger has it."""
    items: int | None = None
    """Of a stream: how many items came."""
    stopped: bool = False
    """A stream was ended here because it is shown only to a bound."""


class AtomCalled(Struct, frozen=True, kw_only=True):
    """A call that took place, in the envelope of `keisei atom invoke`; or the question that comes before it."""

    result: Any | msgspec.UnsetType = msgspec.UNSET
    """What came out."""
    error: AtomFailure | msgspec.UnsetType = msgspec.UNSET
    """Why it failed."""
    items: tuple[Any, ...] | msgspec.UnsetType = msgspec.UNSET
    """Of a stream: its items, up to a bound."""
    metadata: AtomMetadata | msgspec.UnsetType = msgspec.UNSET
    """Which call it was; nothing was called where it is missing."""
    said: str | msgspec.UnsetType = msgspec.UNSET
    """What the atom wrote for people."""
    asks: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    """Nothing was called: what the call would touch. With `confirm` it takes place."""
    page: str
    """Where it is shown to people."""


class Asked(Struct, frozen=True, kw_only=True):
    """A call as it was asked for, remembered for the page after it. Internal."""

    atom: str
    """Which atom."""
    input: Any
    """What went in, or would."""
    spec_sha: str
    """The page that was asked about: by another one the question is another."""
    called: AtomCalled | None
    """What came of it; None where it is only asked about."""


class Calls:
    """Calls of one console."""

    def __init__(self, premises: Premises) -> None:
        """None was made yet."""
        self._premises = premises
        self._turn = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST)
        self.memory: Memory[Asked] = Memory()

    def call(self, spec: AtomSpec, given: Any, actor: str, timeout_ms: int | None) -> AtomCalled:  # noqa: ANN401 - JSON
        """Make the call; every failure of it is in what comes back. Raises WorldFault where too many run already."""
        runtime = self._premises.runtime
        most = LONGEST_MS if timeout_ms is None else min(timeout_ms, LONGEST_MS)
        order = InvokeOrder(spec=spec, input=given, actor=actor, attempt_id=runtime.attempt_id, timeout_ms=most)
        with self._place():
            if spec.manifest.kind == "stream":
                called = _streamed(self._tools(), self._premises, order)
            else:
                called = _told(invoke(self._tools(), self._premises.store, order))
        self.remember(_id(called), Asked(atom=spec.id, input=given, spec_sha=spec.spec_sha, called=called))
        return called

    def remember(self, key: str, asked: Asked) -> None:
        """Keep it for the page after it."""
        size = len(msgspec.json.encode((asked.input, asked.called)))
        self.memory.keep(key, asked, size, **({"seconds": ASKED_S} if asked.called is None else {}))

    def close(self) -> None:
        """Nothing: calls end with the runtime."""

    def _tools(self) -> Tools:
        with self._turn:  # opened once, however many threads ask first
            return self._premises.runtime.tools._replace(cwd=str(self._premises.start.absolute()))

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(blocking=False):
            raise WorldFault(f"{MOST} calls run already", "wait until one of them is over", retryable=True)
        try:
            yield
        finally:
            self._places.release()


def call_page(atom: str, call_id: str) -> str:
    """Where a call is shown."""
    return f"/atoms/{atom}/calls/{call_id}"


def _id(called: AtomCalled) -> str:
    assert isinstance(called.metadata, AtomMetadata)  # noqa: S101 - whatever was called has one
    return called.metadata.invocation_id


def _told(invoked: Invoked) -> AtomCalled:
    record = invoked.record
    kept: dict[str, Any] = {} if record.error is not None and invoked.output is None else {"result": invoked.output}
    return _called(invoked, _metadata(record), kept)


def _called(invoked: Invoked, metadata: AtomMetadata, kept: dict[str, Any]) -> AtomCalled:
    error = invoked.record.error
    if error is not None:
        kept["error"] = AtomFailure(kind=error.kind, code=error.code, message=error.message)
    if invoked.said:
        kept["said"] = invoked.said
    return AtomCalled(metadata=metadata, page=call_page(metadata.atom, metadata.invocation_id), **kept)


def _metadata(record: InvocationRecord) -> AtomMetadata:
    return AtomMetadata(duration_ms=round(record.duration_ms, 3), atom=record.atom, invocation_id=record.invocation_id)


def _streamed(tools: Tools, premises: Premises, order: InvokeOrder) -> AtomCalled:
    """The first items of a stream, which is ended then; its row is written all the same."""
    items: list[Any] = []
    with follow(tools, order, premises.store) as followed:
        stopped = threading.Event()

        def stop() -> None:
            stopped.set()
            followed.close()

        clock = threading.Timer(STREAM_S, stop)
        clock.daemon = True
        clock.start()
        try:
            _taken(followed, items, stopped)
        finally:
            clock.cancel()
    invoked = followed.invoked
    metadata = msgspec.structs.replace(_metadata(invoked.record), items=len(items), stopped=stopped.is_set())
    return _called(invoked, metadata, {"items": tuple(items)})


def _taken(followed: Followed, items: list[Any], stopped: threading.Event) -> None:
    for item in followed:
        items.append(item)
        if len(items) >= ITEMS or followed.size > ITEMS_BYTES:
            stopped.set()
            return
