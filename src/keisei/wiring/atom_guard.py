"""Atoms inside an attempt: each call is judged by the attempt's gate, then run in the attempt's sandbox. Falls closed.

`gate_judge` is the `judge` of the tools that calls are made with, so it is asked once, before anything is made for a
call; `GuardedWorkers` run what it has allowed.

Atoms of keisei's own packages that ask keisei itself (`engine = true`) are answered outside: they know from the
environment which attempt asks, and hold it to what its task may do.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from keisei.engine.ports import Following, Workers
from keisei.gate.ask import Question, ask
from keisei.records.invocation import Answer, CallOrder, InvocationError
from keisei.rules.atom_tool import PREFIX, tool_name
from keisei.rules.invocation import EXIT
from keisei.wiring.atom_runtime import is_engine
from keisei.wiring.surroundings import PASSED_ON
from keisei.workers import answer
from keisei.workers.following import Stream

OWN: Final = ("KEISEI_ATOM", "KEISEI_DATABASE")
"""Variables that tell an atom of itself. What is one call's alone its worker adds."""
CALL: Final = "atom:"
"""How the ids of these calls begin in the gate's log: no call of the harness has such a one."""

STREAMS: Final = 8
"""Streams of one attempt at once. Each is a process for as long as it likes, and none of them waits for a place."""


def gate_judge(socket: str, token: str) -> Callable[[CallOrder], str | None]:
    """Whoever asks the gate of the attempt that has this token there: None where a call is allowed, else why not."""

    def judge(order: CallOrder) -> str | None:
        tool = PREFIX + tool_name(order.spec.id)
        call_id = f"{CALL}{order.invocation_id}"
        return ask(socket, token, Question(tool, order.input, order.cwd, call_id, order.spec.spec_sha))

    return judge


class GuardedWorkers:
    """Runs what the gate has allowed. Implements the port Workers; any thread may call."""

    def __init__(self, confined: Workers, engine: Workers, *, root: str | None, private: Mapping[str, str]) -> None:
        """`engine` answers for keisei's own atoms, in the project's folder `root`; `confined` for all others.

        Those get the variables `private` and few of the machine's: neither keisei's own nor the package's.
        """
        self._confined, self._engine = confined, engine
        self._root, self._private = root, private
        self._streams = threading.BoundedSemaphore(STREAMS)

    def call(self, order: CallOrder) -> Answer:
        """Run it. Raises MissingProgram."""
        if self._is_astray(order):
            return _astray(order)
        workers, order = self._for(order)
        return workers.call(order)

    def follow(self, order: CallOrder) -> Following:
        """Start a stream; one too many is told so at once, for it might wait for itself.

        Raises MissingProgram.
        """
        if self._is_astray(order):
            return Stream(order.spec, _astray(order))
        if not self._streams.acquire(blocking=False):
            return Stream(order.spec, answer.usage(f"{STREAMS} streams of this attempt run already: let one end first"))
        workers, order = self._for(order)
        try:
            return _Counted(workers.follow(order), self._streams.release)
        except BaseException:
            self._streams.release()
            raise

    def cancel(self, invocation_id: str | None = None) -> None:
        """End every call, or one."""
        self._confined.cancel(invocation_id)
        self._engine.cancel(invocation_id)

    def _is_astray(self, order: CallOrder) -> bool:
        """Whether it asks keisei about a project where there is none."""
        return self._root is None and is_engine(order.spec.package)

    def _for(self, order: CallOrder) -> tuple[Workers, CallOrder]:
        if not is_engine(order.spec.package):
            return self._confined, msgspec.structs.replace(order, env={**_few(order), **self._private})
        return self._engine, msgspec.structs.replace(order, cwd=self._root or "/")


class _Counted:
    """A stream that says once when it is over. Implements the port Following."""

    def __init__(self, stream: Following, over: Callable[[], None]) -> None:
        self._stream, self._over = stream, over
        self._lock = threading.Lock()
        self._is_over = False

    def __iter__(self) -> Iterator[Any]:
        return self._items(iter(self._stream))

    def close(self) -> None:
        """End it. Safe to say twice."""
        self._stream.close()
        self._end()

    @property
    def answer(self) -> Answer:
        """How it ended; it is closed where it has not."""
        told = self._stream.answer
        self._end()
        return told

    def _items(self, items: Iterator[Any]) -> Iterator[Any]:
        yield from items
        self._end()

    def _end(self) -> None:
        with self._lock:
            is_first, self._is_over = not self._is_over, True
        if is_first:
            self._over()


def _few(order: CallOrder) -> dict[str, str]:
    named = (*PASSED_ON, *OWN, order.spec.package.metadata.db_env)
    return {name: value for name, value in order.env.items() if name in named}


def _astray(order: CallOrder) -> Answer:
    message = f"`{order.spec.id}` asks keisei about a project, and there is none here"
    return Answer(error=InvocationError(kind="refused", message=message), exit_code=EXIT["refused"])
