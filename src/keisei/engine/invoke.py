"""Invoke: one atom called once. Validate, ask whether it may happen, find its database, call, validate, record.

Nothing here raises for what an atom, its input or the world around it does: every call ends as one record with one
outcome. Secrets (values of the package's own variables, input at places marked `writeOnly`, and what the caller knows)
stand in no message and in nothing an atom said.
"""

import threading
from collections.abc import Iterator
from typing import Any, Final, Self

import msgspec

from keisei.engine.call import Call, InvokeOrder, Tools, failed, secrets_of, world_failed
from keisei.engine.ports import Following, Ledger
from keisei.records.error import IllegalMove, KeiseiError
from keisei.records.invocation import Answer, InvocationError, Invoked
from keisei.records.move import NewEntry
from keisei.rules.invocation import EXIT, ItemDigest, shortened

__all__ = ["Followed", "InvokeOrder", "Tools", "call", "entry", "follow", "invoke", "secrets_of"]

KIND: Final = "atom_invoked"
"""The kind of ledger row."""
MOST: Final = 16 * 1024 * 1024
"""Bytes of a stream that are collected into one list."""


def call(tools: Tools, order: InvokeOrder) -> Invoked:
    """Call it; no row is written. Never raises: every failure is in the record. A stream is collected into a list."""
    if order.spec.manifest.kind == "stream":
        return _collected(tools, order)
    one = Call(tools, order)
    ready = one.prepared()
    return one.ended(ready if isinstance(ready, Answer) else one.answered(ready))


def entry(invoked: Invoked, actor: str) -> NewEntry:
    """The ledger row of a call."""
    body: dict[str, Any] = msgspec.to_builtins(invoked.record)
    return NewEntry(kind=KIND, actor=actor, subject=invoked.record.atom, body=body)


def invoke(tools: Tools, ledger: Ledger, order: InvokeOrder) -> Invoked:
    """Call it and write exactly one ledger row, whatever became of it.

    Where the row cannot be written, what comes back says so (kind `io`), and the output is kept.
    """
    return _recorded(ledger, call(tools, order), order.actor)


def follow(tools: Tools, order: InvokeOrder, ledger: Ledger | None = None) -> "Followed":
    """Start a stream. With a ledger its one row is written when it ends, however it ends. Raises nothing."""
    return Followed(tools, order, ledger)


class Followed:
    """A stream while it runs, for one consumer: validated items, then `invoked`. Leaving early cancels it.

    In its record `output_sha` is the digest of the list of its items' digests, as far as they were taken. Any thread
    may close it.
    """

    def __init__(self, tools: Tools, order: InvokeOrder, ledger: Ledger | None = None) -> None:
        """Begin; what fails here shows in `invoked`, and there are no items."""
        self._call, self._ledger = Call(tools, order), ledger
        self._items = ItemDigest()
        self._closing = threading.RLock()
        self._invoked: Invoked | None = None
        self._taken = False
        self._following, self._early = self._begun()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        """Items as they come. One that violates the schema ends the stream. A second iterator raises IllegalMove."""
        if self._taken:
            raise IllegalMove("a stream has one consumer")
        self._taken = True
        return self._validated()

    @property
    def size(self) -> int:
        """Bytes of the items taken so far, in canonical form."""
        return self._items.size

    def give_up(self, why: str) -> None:
        """End it as one that was too much for its consumer (kind `killed`)."""
        self._early = self._early or failed("killed", why)
        self.close()

    def close(self) -> None:
        """End it, and write its row. Safe to say twice."""
        self._closed()

    @property
    def invoked(self) -> Invoked:
        """How it ended, without output. Asked before the end, it closes the stream."""
        return self._closed()

    def _closed(self) -> Invoked:
        with self._closing:
            if self._invoked is None:
                answer = self._answer()
                ended = self._call.ended_stream(answer, None if self._following is None else self._items.digest())
                self._invoked = (
                    ended if self._ledger is None else _recorded(self._ledger, ended, self._call.order.actor)
                )
            return self._invoked

    def _answer(self) -> Answer:
        """How the worker says it ended, unless it was ended here; what it said is kept either way."""
        if self._following is None:
            return self._early or Answer()
        self._following.close()
        told = self._following.answer
        return told if self._early is None else msgspec.structs.replace(self._early, said=told.said)

    def _begun(self) -> tuple[Following | None, Answer | None]:
        spec = self._call.order.spec
        if spec.manifest.kind != "stream":
            return None, failed("usage", f"`{spec.id}` is a {spec.manifest.kind}, not a stream")
        ready = self._call.prepared()
        if isinstance(ready, Answer):
            return None, ready
        try:
            return self._call.tools.workers.follow(ready), None
        except KeiseiError as error:
            return None, world_failed(error)

    def _validated(self) -> Iterator[Any]:
        for item in self._following or ():
            data, wrong = self._call.checked(item)
            if wrong:
                self._early = failed("schema-out", f"item {self._items.count + 1}: {wrong}")
                break
            self._items.add(data)
            yield item
        self.close()


def _collected(tools: Tools, order: InvokeOrder) -> Invoked:
    """A stream as one list, no larger than a call's own output may be."""
    items: list[Any] = []
    with Followed(tools, order) as followed:
        for item in followed:
            items.append(item)
            if followed.size > MOST:
                followed.give_up(f"the stream is larger than {MOST} bytes")
                break
    ended = followed.invoked
    return Invoked(record=ended.record, output=items if ended.record.error is None else None, said=ended.said)


def _recorded(ledger: Ledger, invoked: Invoked, actor: str) -> Invoked:
    """The call with its row written, or with the word that it is not."""
    try:
        ledger.append(entry(invoked, actor))
    except KeiseiError as error:
        return _without_row(invoked, error)
    return invoked


def _without_row(invoked: Invoked, error: KeiseiError) -> Invoked:
    before = invoked.record.error
    done = "the atom did its work" if before is None else f"the call failed ({before.message})"
    message = f"{done}, but its row could not be written: {error.message}"
    told = InvocationError(kind="io", code=None, message=shortened(message))
    record = msgspec.structs.replace(invoked.record, exit_code=EXIT["io"], error=told)
    return Invoked(record=record, output=invoked.output, said=invoked.said)
