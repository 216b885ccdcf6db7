"""Workers: one Python atom in a warm process of its own, one call at a time."""

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from keisei.records.invocation import Answer, CallOrder
from keisei.records.launch import Exit, Launch
from keisei.workers import answer
from keisei.workers.frame import Frame, Inbox, decoded, setup_line
from keisei.workers.held import Held
from keisei.workers.look import Look, is_as_before, look
from keisei.workers.process import Process, Starter
from keisei.workers.source import Sources

HOST: Final = os.fspath(Path(__file__).with_name("host.py"))
CALLS: Final = 1_000
"""How many calls one process answers before a new one takes its place."""

_FOREVER_S: Final = 1e9
_BEGIN_S, _BYTES_PER_S = 3.0, 1e7
"""How long an idle host may take to say that it begins. Where it does not, the call is given to another one."""
_FRAME: Final = 131_072
"""What may stand around an output, or in its place: a message, each character of it escaped."""
_PIECES: Final = 64
_OF_ONE_CALL: Final = frozenset({"KEISEI_INVOCATION_ID", "KEISEI_DEADLINE"})

Key = tuple[str, frozenset[tuple[str, str]]]


class Ended(Exception):
    """The worker is gone, and this is the answer to the call it was at; None where it never began with it."""

    def __init__(self, told: Answer | None) -> None:
        """Keep the answer."""
        super().__init__()
        self.answer = told


def key_of(order: CallOrder) -> Key:
    """What two calls have in common that one worker may answer: the function and its lasting environment."""
    lasting = frozenset(item for item in order.env.items() if item[0] not in _OF_ONE_CALL)
    return order.spec.function or "", lasting


class Worker(Held):
    """A host with an atom in it. Used by one thread at a time."""

    def __init__(self, order: CallOrder, cap: int) -> None:
        """Nothing is started yet; what its sources are is noted before anything is loaded from them."""
        super().__init__(Inbox(cap, _FRAME))
        self.idle_since = 0.0
        self._spec = order.spec
        self._sources = Sources(order.spec)
        self._cap = cap
        self._calls = 0
        self._before: Look | None = None

    def start(self, order: CallOrder, open_process: Starter, python: str, grace_s: float) -> Process:
        """Start the host. Raises WorldFault."""
        env = {name: value for name, value in order.env.items() if name not in _OF_ONE_CALL}
        launch = Launch(
            argv=(python, "-I", "-X", "utf8", HOST),
            cwd=order.cwd,
            env=env,
            timeout_s=_FOREVER_S,
            output_cap=0,
            grace_s=grace_s,
        )
        self._process = open_process(launch, on_output=self._inbox.hear, keep_stdin=True)
        return self._process

    def load(self, load_s: float) -> None:
        """Have the function loaded. Raises Ended with the answer where it cannot be."""
        self.process.write(setup_line(self._spec, self._cap))
        try:
            frame = self._frame(time.monotonic() + load_s, load_s)
        except Ended as ended:
            raise Ended(answer.of_loading(self._spec, ended.answer, load_s)) from None
        if frame.kind == "unready":
            self.end()
            raise Ended(answer.unloaded(self._spec, frame.message, self._inbox.said))
        if frame.kind != "ready":
            self._lie()
        self._before = look(self.process.pid)

    def is_usable(self) -> bool:
        """Whether an idle worker is still there, quiet, and made of the sources as they are now."""
        alive = self.process.pump(0)
        return alive and not self._inbox.flooded and self._inbox.take() is None and self._sources.are_unchanged()

    def begin(self, order: CallOrder, line: bytes, identity: str, first_s: float) -> float:
        """Hand a call over, and say when its time is up. Raises Ended; its answer is None where it never began.

        One that never answered yet may be slow, and has `first_s`: another one would be no quicker.
        """
        self._calls += 1
        is_first = self._calls == 1
        patience_s = (first_s if is_first else _BEGIN_S) + len(line) / _BYTES_PER_S
        self._inbox.forget()
        self.process.write(line)
        try:
            frame = self._frame(time.monotonic() + patience_s, order.timeout_s)
            if frame.kind != "begun" or frame.id != identity:
                self._lie()
        except Ended as ended:
            is_late = is_first and answer.is_late(ended.answer)
            if is_late or answer.is_canceled(ended.answer) or self._has_begun(identity):
                raise
            raise Ended(None) from None
        return time.monotonic() + order.timeout_s

    def next(self, until: float, order: CallOrder, identity: str) -> Frame:
        """The next frame of a call. Raises Ended where its time is up, it floods, lies or is gone."""
        frame = self._frame(until, order.timeout_s)
        if frame.id != identity or frame.kind not in {"item", "done", "failed"}:
            self._lie()
        if frame.kind == "item" and time.monotonic() > until:  # there is always another one of a stream that is fast
            self._expire(order.timeout_s)
        return frame

    def finish(self, until: float, order: CallOrder, identity: str) -> tuple[Answer, bool]:
        """The answer to a call that is no stream, and whether another one may follow. Raises Ended."""
        frame = self.next(until, order, identity)
        if frame.kind == "item":
            self._lie()
        return self.told(frame), self.is_clean(frame)

    def told(self, frame: Frame) -> Answer:
        """The answer the last frame of a call gives, with everything that was said until then."""
        self._listen()
        if frame.kind == "done":
            return Answer(output=frame.output, said=self._inbox.said)
        if frame.error == "atom":
            return answer.own_error(frame.code, frame.message, self._inbox.said)
        return answer.failure(frame.error, f"{self._spec.id}: {frame.message}", self._inbox.said)

    def is_clean(self, frame: Frame) -> bool:
        """Whether it may answer another call: it says so, and the kernel does."""
        if self._end is not None or frame.spent or self._calls >= CALLS or self._before is None:
            return False
        return self._inbox.take() is None and is_as_before(self.process.pid, self._before)

    def part(self) -> None:
        """Tell an idle one that there is nothing more to do; `leave` is next."""
        if self._process is not None and self._end is None:
            self._process.close_stdin()

    def leave(self, until: float) -> None:
        """See an idle one off: it ends by itself where it can until then, and its tree with it."""
        while self._end is None and (left := until - time.monotonic()) > 0 and self.process.pump(left):
            pass
        self.end()

    def _frame(self, until: float, timeout_s: float) -> Frame:
        line = self._inbox.take()
        while line is None:
            if self._inbox.flooded:
                self.end()
                raise Ended(answer.flooded(self._spec, self._inbox.flooded, self._inbox.said))
            left = until - time.monotonic()
            alive = self.process.pump(max(0.0, left))
            line = self._inbox.take() if alive else self._last()
            if line is None and left <= 0 and not self._inbox.flooded:
                self._expire(timeout_s)
        try:
            frame = decoded(line)
        except RecursionError:
            self.end()
            raise Ended(answer.unfit(self._spec, "the output is nested too deeply", self._inbox.said)) from None
        if frame is None:
            self._lie()
        return frame

    def _last(self) -> bytes:
        """A line that was written before the process ended. Raises Ended where there is none, or it was asked to."""
        if self._end is None:
            self._end = self.process.wait()
        line = None if self._end.canceled or self._inbox.flooded else self._inbox.take()
        if line is None:
            raise Ended(self._gone(self._end))
        return line

    def _has_begun(self, identity: str) -> bool:
        """Whether it began after all, in the moment it was ended. Where that cannot be told, it has."""
        if self._inbox.flooded:
            return True
        begun = f'"id":"{identity}"'.encode()
        return begun in self._inbox.take_rest()

    def _gone(self, end: Exit) -> Answer:
        if end.canceled:
            return answer.canceled(self._spec, self._inbox.said)
        if self._inbox.flooded:
            return answer.flooded(self._spec, self._inbox.flooded, self._inbox.said)
        return answer.gone(self._spec, end, self._inbox.said)

    def _expire(self, timeout_s: float) -> NoReturn:
        self.stop()
        raise Ended(answer.late(self._spec, timeout_s, self._inbox.said))

    def _lie(self) -> NoReturn:
        self.end()
        raise Ended(answer.lied(self._spec, self._inbox.said))

    def _listen(self) -> None:
        """Read what was said before the answer and lies in the other pipe."""
        for _ in range(_PIECES):
            heard = self._inbox.heard
            if self._end is not None:
                return
            if not self.process.pump(0):
                with suppress(Ended):
                    self._last()
                return
            if self._inbox.heard == heard:
                return
