"""Pipes that the console runs: each in a thread with processes of its own, as the command would run it.

A console that ends stops them; one that is killed leaves rows from which a resume goes on.
"""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from keisei.console.memory import Memory
from keisei.console.premises import Premises
from keisei.engine.pipe import Pipe
from keisei.engine.pipe_order import Happening, PipeOrder, PipeTools
from keisei.records.error import KeiseiError, Refused, WorldFault
from keisei.wiring.atom_runtime import AtomRuntime, open_runtime
from keisei.workspace.lock import BusyError, KeyLocks

if TYPE_CHECKING:
    from keisei.console.pipe_plan import PipePlanned


class Ready(NamedTuple):
    """A run that can begin."""

    run_id: str
    """Its id."""
    write: Callable[[], PipeOrder]
    """Writes down that it begins, or is taken over. Raises KeiseiError."""


Begin = Callable[[AtomRuntime], Ready]
"""Makes a run ready, or one that is taken over, in a runtime of its own."""
MOST: Final = 4
"""Pipes side by side."""
PARALLEL: Final = 16
"""Calls side by side in one of them, whatever it says."""
PATIENCE_S: Final = 0.1
BEGIN_S: Final = 30.0
"""How long an order waits until its run is written down."""
log = logging.getLogger("keisei.console")


class Sessions:
    """The pipes of one console."""

    def __init__(self, premises: Premises) -> None:
        """None runs yet."""
        self._premises = premises
        self._turn = threading.Lock()
        self._threads: set[threading.Thread] = set()
        self._pipes: dict[str, Pipe] = {}
        self._is_closed = False
        self.plans: Memory[PipePlanned] = Memory(most=32)
        self.spans: Memory[dict[str, float]] = Memory()
        """How long the steps of a run took, in milliseconds, as far as this console ran it."""

    def start(self, begin: Begin, *, parallel: int, cache: bool = True) -> str:
        """Begin a run and go on in the background; its id. Raises KeiseiError where it did not begin."""
        begun: Future[str] = Future()
        work = partial(self._run, begin, begun, parallel=parallel, cache=cache)
        thread = threading.Thread(target=work, name="console pipe", daemon=True)
        with self._turn:
            if self._is_closed or len(self._threads) >= MOST:
                raise WorldFault(f"{MOST} pipes run already", "wait until one of them is over", retryable=True)
            self._threads.add(thread)
        thread.start()
        try:
            return begun.result(BEGIN_S)
        except TimeoutError:
            if begun.cancel():  # from here on it cannot begin, so that nobody who orders it again runs it twice
                message = "the run could not begin in time, and will not"
                raise WorldFault(message, "order it again in a moment", retryable=True) from None
        return begun.result()  # it is being written down just now

    def stop(self, run_id: str) -> bool:
        """End the calls of a run and the run; whether it runs here."""
        with self._turn:
            pipe = self._pipes.get(run_id)
        if pipe is not None:
            pipe.cancel()
        return pipe is not None

    def runs(self, run_id: str) -> bool:
        """Whether it runs here just now."""
        with self._turn:
            return run_id in self._pipes

    def close(self) -> None:
        """Stop all and wait for them. Safe to say twice."""
        with self._turn:
            self._is_closed = True
            pipes, threads = list(self._pipes.values()), list(self._threads)
        for pipe in pipes:
            pipe.cancel()
        for thread in threads:
            thread.join()

    def _run(self, begin: Begin, begun: "Future[str]", *, parallel: int, cache: bool) -> None:
        try:
            self._begun(begin, begun, parallel=parallel, cache=cache)
        except Exception as error:  # whoever asked is told, or nobody is left who could be
            if _told(begun, error):
                return
            if isinstance(error, KeiseiError):
                log.warning("a pipe ended: %s", error.message)
            else:
                log.exception("a pipe broke")
        finally:
            with self._turn:
                self._threads.discard(threading.current_thread())

    def _begun(self, begin: Begin, begun: "Future[str]", *, parallel: int, cache: bool) -> None:
        own = self._premises
        opened = open_runtime(own.settings, actor=own.runtime.actor, kit_root=own.kit_root, start=own.start)
        with opened as runtime:
            runtime.most = max(1, min(parallel, PARALLEL))
            ready = begin(runtime)
            with alone(runtime, ready.run_id):
                if not begun.set_running_or_notify_cancel():
                    return  # whoever asked was told that it does not begin
                self._session(runtime, ready.write(), begun, cache=cache)

    def _session(self, runtime: AtomRuntime, order: PipeOrder, begun: "Future[str]", *, cache: bool) -> None:
        tools = runtime.tools._replace(cwd=str(self._premises.start.absolute()))
        run_id, spans = order.run.run_id, dict[str, float]()

        def tell(happening: Happening) -> None:
            if happening["event"] == "step" and happening.get("duration_ms") is not None:
                spans[happening["step"]] = happening["duration_ms"]

        self.spans.keep(run_id, spans, len(order.plan.steps) * 100)
        kept = runtime.cache if cache else None
        pipe = Pipe(PipeTools(runtime.store, tools, kept, runtime.code_sha, tell=tell), order)
        with self._turn:
            self._pipes[run_id] = pipe
            is_closed = self._is_closed
        begun.set_result(run_id)
        if is_closed:
            pipe.cancel()
        try:
            pipe.run()
        finally:
            with self._turn:
                self._pipes.pop(run_id, None)


def _told(begun: "Future[str]", error: Exception) -> bool:
    """Whether somebody waits for it, and hears the error."""
    try:
        begun.set_exception(error)
    except InvalidStateError:
        return False
    return True


@contextmanager
def alone(runtime: AtomRuntime, run_id: str) -> Iterator[None]:
    """Nobody else of this machine runs it meanwhile. Raises Refused; other machines are kept out by the fence."""
    locks, key = KeyLocks(runtime.home.run), f"pipe-{run_id}"
    with ExitStack() as held:
        try:
            held.enter_context(locks.own(key, PATIENCE_S))
        except BusyError as error:
            raise Refused(f"somebody runs {run_id} just now", "wait for it, or stop it") from error
        held.callback(locks.forget, key)
        yield


def interrupted(premises: Premises, run_id: str, status: str) -> bool:
    """Whether a run says that it runs and nobody of this machine does it any more: whoever ran it was killed."""
    locks, key = KeyLocks(premises.home.run), f"pipe-{run_id}"
    left = (premises.home.run / f"{key}.lock").exists()
    return status in ("running", "undoing") and left and not locks.is_held(key)
