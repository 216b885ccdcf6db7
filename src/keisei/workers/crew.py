"""Crew: everybody who runs atoms for one process of ours. Implements the port Workers."""

import secrets
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from keisei.records.atom_spec import AtomPackage
from keisei.records.error import MissingProgram, WorldFault
from keisei.records.invocation import Answer, CallOrder
from keisei.workers import answer
from keisei.workers.errand import Errand, Errands
from keisei.workers.following import ProgramSource, PythonSource, Stream
from keisei.workers.frame import call_line, json_of
from keisei.workers.pool import Closed, Pool
from keisei.workers.process import Process, Starter, kill
from keisei.workers.program import Program
from keisei.workers.steward import Job, Steward
from keisei.workers.worker import Ended, Key, Worker, key_of

CAP: Final = 16_777_216
"""How many bytes an output, or one item of a stream, may have."""

LOADING_S: Final = 5.0
"""The time to import a function, also where the call itself has less."""
LEAVING_S: Final = 1.0
"""The time an idle worker has to end by itself."""

_TRIES: Final = 3
"""How many workers a call is handed to before it is believed that none begins with it."""


class Crew:
    """Warm workers and programs. Any thread may call; what is over the number of places waits in turn.

    A stream never waits for a place and takes none: who takes its items makes calls of its own, and would wait for
    itself.
    """

    def __init__(  # noqa: PLR0913 - each says one thing, and most say none
        self,
        open_process: Starter,
        find_program: Callable[[AtomPackage], str | None],
        python: str = sys.executable,
        *,
        most: int = 8,
        cap: int = CAP,
        grace_s: float = 2.0,
        load_s: float = 30.0,
        idle_s: float = 60.0,
    ) -> None:
        """Nothing is started yet.

        `most` processes at once; `cap` bytes of output; `grace_s` between TERM and KILL; at most `load_s` for importing
        a function (see `_loading_s`); a worker that had nothing to do for `idle_s` ends.
        """
        self._open_process, self._find_program, self._python = open_process, find_program, python
        self._cap, self._grace_s, self._load_s, self._idle_s = cap, grace_s, load_s, idle_s
        self._pool = Pool(most)
        self._steward = Steward(self._send_home, idle_s / 2)
        self._running: dict[int, Process] = {}
        self._streams: dict[int, Stream] = {}
        self._errands = Errands()
        self._canceled = False

    def call(self, order: CallOrder) -> Answer:
        """Run an atom to its end, its deadline or its cap. Never raises for what it does; raises MissingProgram."""
        if self._canceled:
            return answer.canceled(order.spec)
        if order.spec.manifest.kind == "stream":
            return answer.usage(f"{order.spec.id} is a stream: its items are followed, one by one")
        errand = self._errands.begin(order.invocation_id)
        try:
            is_program = order.spec.function is None
            return self._call_program(order, errand) if is_program else self._call_python(order, errand)
        except _TOLD as error:
            return _told(order, error)
        finally:
            self._errands.over(errand)

    def follow(self, order: CallOrder) -> Stream:
        """Start a stream. Raises MissingProgram; whatever else goes wrong is its answer."""
        if self._canceled:
            return Stream(order.spec, answer.canceled(order.spec))
        if order.spec.manifest.kind != "stream":
            return Stream(order.spec, answer.usage(f"{order.spec.id} is no stream: it is called"))
        errand = self._errands.begin(order.invocation_id)
        try:
            with self._pool.guest():
                is_program = order.spec.function is None
                return self._follow_program(order, errand) if is_program else self._follow_python(order, errand)
        except BaseException as error:
            self._errands.over(errand)
            if not isinstance(error, _TOLD):
                raise
            return Stream(order.spec, _told(order, error))

    def cancel(self, invocation_id: str | None = None) -> None:
        """End every call there is; each answers `killed`, and so does every later one. Also in a signal handler.

        With an id only that call is ended, and not in a signal handler. One that is over, or that did not begin yet,
        is nothing to end.
        """
        if invocation_id is not None:
            self._errands.cancel(invocation_id)
            return
        self._canceled = True
        self._steward.say(self._ring)

    def close(self) -> None:
        """Cancel everything and wait until nothing runs any more. Safe to say twice."""
        self._canceled = True
        self._ring()
        self._pool.drain()
        for stream in list(self._streams.values()):
            stream.close()
        self._dismiss(self._pool.idle())
        self._steward.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Leave nothing running."""
        self.close()

    def _call_python(self, order: CallOrder, errand: Errand) -> Answer:
        identity, key = secrets.token_hex(8), key_of(order)
        line = call_line(order, identity, stream=False)
        for _ in range(_TRIES):
            if (told := self._try(order, errand, key, line, identity)) is not None:
                return told
        return answer.unbegun(order.spec)

    def _try(self, order: CallOrder, errand: Errand, key: Key, line: bytes, identity: str) -> Answer | None:
        """One worker at one call; None where it never began with it."""
        kept, ending = self._pool.take(key, errand)
        worker, clean = kept, False
        try:
            self._dismiss([ending] if ending else [])
            worker = self._ready(kept, order, errand)
            until = worker.begin(order, line, identity, self._loading_s(order))
            told, clean = worker.finish(until, order, identity)
        except Ended as ended:
            return ended.answer
        else:
            return told
        finally:
            errand.at(None)
            clean = clean and not errand.is_canceled  # its bell may have rung when it was done already
            self._rest(worker, clean=clean)
            self._pool.give_back(key, worker if clean else None)

    def _follow_python(self, order: CallOrder, errand: Errand) -> Stream:
        identity, key = secrets.token_hex(8), key_of(order)
        line = call_line(order, identity, stream=True)
        for _ in range(_TRIES):
            worker = self._ready(self._pool.borrow(key), order, errand)
            try:
                until = worker.begin(order, line, identity, self._loading_s(order))
            except BaseException as error:
                self._rest(worker, clean=False)
                if isinstance(error, Ended) and error.answer is None:
                    continue
                raise
            return self._streaming(PythonSource(worker, order, identity, until), worker, key, errand)
        raise Ended(answer.unbegun(order.spec))

    def _streaming(self, source: PythonSource, worker: Worker, key: Key, errand: Errand) -> Stream:
        def over() -> None:
            self._streams.pop(id(stream), None)
            self._errands.over(errand)
            clean = source.is_clean and not errand.is_canceled
            self._rest(worker, clean=clean)
            if clean and not self._pool.offer(key, worker):
                self._dismiss([worker])

        stream = Stream(source.spec, source, worker.process.cancel, over)
        self._streams[id(stream)] = stream
        errand.at(lambda: _close_beside(stream))
        return stream

    def _call_program(self, order: CallOrder, errand: Errand) -> Answer:
        data, path = json_of(order.input), self._program(order)
        _, ending = self._pool.take(None, errand)
        program = Program(order, self._cap)
        try:
            self._dismiss([ending] if ending else [])
            self._watch(program.start(path, data, self._open_process, self._grace_s), errand)
            return program.run()
        finally:
            errand.at(None)
            self._rest(program, clean=False)
            self._pool.give_back()

    def _follow_program(self, order: CallOrder, errand: Errand) -> Stream:
        data, path = json_of(order.input), self._program(order)
        program = Program(order, self._cap)
        process = program.start(path, data, self._open_process, self._grace_s)

        def over() -> None:
            self._streams.pop(id(stream), None)
            self._errands.over(errand)
            self._rest(program, clean=False)

        stream = Stream(order.spec, ProgramSource(program), process.cancel, over)
        self._streams[id(stream)] = stream
        self._watch(process, errand)
        errand.at(lambda: _close_beside(stream))
        return stream

    def _program(self, order: CallOrder) -> str:
        package = order.spec.package
        path = self._find_program(package)
        if path is None:
            raise MissingProgram(
                f"the program `{package.name}` of {order.spec.id} is not installed",
                f"put `{package.name}` on the PATH, or its folder into KEI_RUNTIME_BIN_DIR",
            )
        return path

    def _ready(self, kept: Worker | None, order: CallOrder, errand: Errand) -> Worker:
        """A worker that is loaded and watched: the one that is there where it will do, else a new one."""
        if kept is not None:
            if kept.is_usable():
                self._watch(kept.process, errand)
                return kept
            kept.end()
        worker = Worker(order, self._cap)
        self._steward.ensure()
        job = Job(lambda: worker.start(order, self._open_process, self._python, self._grace_s), kill)
        self._steward.say(job.do)
        try:
            self._watch(job.result(), errand)
            worker.load(self._loading_s(order))
        except BaseException:
            errand.at(None)
            self._rest(worker, clean=False)
            raise
        return worker

    def _loading_s(self, order: CallOrder) -> float:
        """How long a function may take to be imported, before a call's own time begins.

        No longer than the call may take, but for a few seconds that a machine under load needs.
        """
        return min(self._load_s, max(order.timeout_s, LOADING_S))

    def _watch(self, process: Process, errand: Errand) -> None:
        """Have it ended by a cancel. One that was said a moment ago is passed on here."""
        self._steward.ensure()
        self._running[id(process)] = process
        errand.at(process.cancel)
        if self._canceled:
            process.cancel()

    def _rest(self, one: Worker | Program | None, *, clean: bool) -> None:
        """It is watched no more; where it is not to be used again, nothing of its tree is left."""
        if one is None or not one.is_started:
            return
        self._running.pop(id(one.process), None)
        if not clean:
            one.end()

    def _ring(self) -> None:
        self._pool.close()
        for process in list(self._running.values()):
            process.cancel()

    def _send_home(self) -> None:
        self._dismiss(self._pool.idle(self._idle_s))

    def _dismiss(self, workers: list[Worker]) -> None:
        """See idle ones off, side by side: who asks the steward for something meanwhile waits no longer for many."""
        for worker in workers:
            worker.part()
        until = time.monotonic() + LEAVING_S
        for worker in workers:
            worker.leave(until)


def _close_beside(stream: Stream) -> None:
    """Close a stream in a thread of its own: that takes the grace time, and whoever should take its items may not."""
    threading.Thread(target=stream.close, name="atom stream end", daemon=True).start()


_TOLD: Final = (Closed, Ended, WorldFault, ValueError)


def _told(order: CallOrder, error: Exception) -> Answer:
    """What is no fault of the atom's doing, as its answer."""
    if isinstance(error, Closed):
        return answer.canceled(order.spec)
    if isinstance(error, Ended):
        return error.answer or answer.unbegun(order.spec)
    if isinstance(error, WorldFault):
        return answer.unstarted(order.spec, error)
    return answer.usage(f"the input of {order.spec.id} is no JSON: {error}")
