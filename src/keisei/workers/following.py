"""Streams while they run: items are read only when somebody takes one, so the pipe holds the atom up."""

import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import msgspec

from keisei.records.atom_spec import AtomSpec
from keisei.records.error import IllegalMove
from keisei.records.invocation import Answer, CallOrder
from keisei.workers import answer
from keisei.workers.frame import Frame
from keisei.workers.program import Program
from keisei.workers.worker import Ended, Worker


class Source(Protocol):
    """Where items come from."""

    def take(self) -> tuple[Any] | None:
        """The next item, in a tuple; None at the end."""

    def told(self, count: int) -> Answer:
        """How it ended, after `take` said None."""

    def stop(self) -> str:
        """End it before its end: in order, with grace. What it said for people."""


class Stream:
    """A stream for one consumer. Implements the port Following."""

    def __init__(
        self,
        spec: AtomSpec,
        source: Source | Answer,
        ring: Callable[[], None] = lambda: None,
        over: Callable[[], None] = lambda: None,
    ) -> None:
        """`ring` has a `take` in another thread end; `over` is said once, when nothing of it runs any more."""
        self._spec, self._source, self._ring, self._over = spec, source, ring, over
        self._lock = threading.RLock()
        self._count = 0
        self._is_taken = False
        self._answer = source if isinstance(source, Answer) else None

    def __iter__(self) -> Iterator[Any]:
        """The items, once."""
        if self._is_taken:
            raise IllegalMove(f"the stream of {self._spec.id} has a consumer already")
        self._is_taken = True
        return self._items()

    def close(self) -> None:
        """End it, with grace, where it has not ended. Safe to say twice."""
        if self._answer is None:
            self._ring()
        with self._lock:
            if self._answer is None and not isinstance(self._source, Answer):
                self._end(answer.canceled(self._spec, self._source.stop()))

    @property
    def answer(self) -> Answer:
        """How it ended; it is closed where it has not."""
        self.close()
        if self._answer is None:
            raise RuntimeError("a closed stream has no answer")
        return self._answer

    def _items(self) -> Iterator[Any]:
        while (taken := self._take()) is not None:
            yield taken[0]

    def _take(self) -> tuple[Any] | None:
        with self._lock:
            if self._answer is not None or isinstance(self._source, Answer):
                return None
            try:
                taken = self._source.take()
            except BaseException:
                self._end(answer.canceled(self._spec, self._source.stop()))
                raise
            if taken is None:
                self._end(self._source.told(self._count))
            else:
                self._count += 1
            return taken

    def _end(self, told: Answer) -> None:
        self._answer = told
        self._over()


class PythonSource:
    """Items of a Python atom."""

    def __init__(self, worker: Worker, order: CallOrder, identity: str, until: float) -> None:
        """The worker has begun with it."""
        self._worker, self._order, self._identity, self._until = worker, order, identity, until
        self._last: Frame | Answer | None = None
        self.spec = order.spec
        self.is_clean = False

    def take(self) -> tuple[Any] | None:
        """The next item."""
        try:
            frame = self._worker.next(self._until, self._order, self._identity)
        except Ended as ended:
            self._last = ended.answer
            return None
        if frame.kind == "item":
            return (frame.output,)
        self._last = frame
        return None

    def told(self, count: int) -> Answer:
        """How it ended; whether the worker may be used again is known then, too."""
        if not isinstance(self._last, Frame):
            return self._last or answer.canceled(self._order.spec)
        told = self._worker.told(self._last)
        self.is_clean = self._worker.is_clean(self._last)
        return told if told.error else Answer(output=count, said=told.said)

    def stop(self) -> str:
        """End it."""
        self._worker.stop()
        return self._worker.said


class ProgramSource:
    """Items of a program."""

    def __init__(self, program: Program) -> None:
        """It runs."""
        self._program = program
        self._broken: Answer | None = None

    def take(self) -> tuple[Any] | None:
        """The next item."""
        try:
            return self._program.take()
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self._broken = self._program.unfit()
            return None

    def told(self, count: int) -> Answer:
        """How it ended."""
        return self._broken or self._program.told(count)

    def stop(self) -> str:
        """End it."""
        self._program.stop()
        return self._program.said
