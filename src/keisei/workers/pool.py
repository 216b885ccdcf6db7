"""Pool: how many processes there may be, who is next, and which workers wait for a call."""

import threading
import time
from collections import deque
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from keisei.workers.errand import Errand
from keisei.workers.worker import Worker


class Closed(Exception):
    """Nobody gets a place any more, or the one who asked for it does not."""


class _Turn:
    """One who waits for a place."""

    def __init__(self) -> None:
        self.is_left = False
        self._lock = threading.Lock()
        self._lock.acquire()
        self.acquire, self.release = self._lock.acquire, self._lock.release


class Pool:
    """Places, given in the order they were asked for. Busy and idle processes together are never more than `most`."""

    def __init__(self, most: int) -> None:
        """Every place is free."""
        self._most = most
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)
        self._busy = self._guests = 0
        self._idle: list[tuple[Hashable, Worker]] = []
        self._waiting: deque[_Turn] = deque()
        self._closed = False

    def take(self, key: Hashable, errand: Errand) -> tuple[Worker | None, Worker | None]:
        """Wait for a place: the idle worker for the key, or None where one is to be started; and who must end first.

        Raises Closed, also where the errand is canceled meanwhile: then it holds no place.
        """
        self._wait(errand)
        with self._lock:
            if self._closed or errand.is_canceled:
                self._pass_on()
                raise Closed
            if (worker := self._found(key)) is not None:
                return worker, None
            # One, never more: whoever is given a place next ends another before it starts its own.
            is_full = self._idle and self._busy + len(self._idle) > self._most
            return None, self._idle.pop(0)[1] if is_full else None  # the longest idle

    def give_back(self, key: Hashable = None, worker: Worker | None = None) -> None:
        """Give a place back, with the worker that waits there for its next call, or with none."""
        with self._lock:
            if worker is not None:
                self._keep(key, worker)
            self._pass_on()

    @contextmanager
    def guest(self) -> Iterator[None]:
        """Something is started that takes no place; `drain` waits for it all the same. Raises Closed."""
        with self._lock:
            if self._closed:
                raise Closed
            self._guests += 1
        try:
            yield
        finally:
            with self._lock:
                self._guests -= 1
                self._empty.notify_all()

    def borrow(self, key: Hashable) -> Worker | None:
        """An idle worker for the key, without a place."""
        with self._lock:
            return self._found(key)

    def offer(self, key: Hashable, worker: Worker) -> bool:
        """Let a borrowed worker wait for its next call. False where there is no room for it."""
        with self._lock:
            if self._closed or self._busy + len(self._idle) >= self._most:
                return False
            self._keep(key, worker)
        return True

    def idle(self, longer_than_s: float = 0.0) -> list[Worker]:
        """Take out the workers that had nothing to do for that long; they are the caller's to end."""
        before = time.monotonic() - longer_than_s
        with self._lock:
            out = [worker for _, worker in self._idle if worker.idle_since <= before]
            self._idle = [(key, worker) for key, worker in self._idle if worker.idle_since > before]
        return out

    def close(self) -> None:
        """Let everybody who waits go."""
        with self._lock:
            self._closed = True
            while self._waiting:
                self._busy += 1
                self._waiting.popleft().release()

    def drain(self) -> None:
        """Wait until every place was given back. Only after `close`: nobody gets one meanwhile."""
        with self._lock:
            self._empty.wait_for(lambda: self._busy == 0 and self._guests == 0)

    def _found(self, key: Hashable) -> Worker | None:
        """The idle worker for a key that worked last: its memory is the warmest."""
        for index in range(len(self._idle) - 1, -1, -1):
            if self._idle[index][0] == key:
                return self._idle.pop(index)[1]
        return None

    def _keep(self, key: Hashable, worker: Worker) -> None:
        worker.idle_since = time.monotonic()
        self._idle.append((key, worker))

    def _wait(self, errand: Errand) -> None:
        with self._lock:
            if self._closed or (self._busy < self._most and not self._waiting):
                self._busy += 1
                return
            turn = _Turn()
            self._waiting.append(turn)
        try:
            errand.at(lambda: self._let_go(turn))
            turn.acquire()
        except BaseException:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                else:  # it was given meanwhile
                    self._pass_on()
            raise
        finally:
            errand.at(None)
        if turn.is_left:
            raise Closed

    def _let_go(self, turn: _Turn) -> None:
        """One who need not wait any more: it gets no place."""
        with self._lock:
            if turn in self._waiting:
                self._waiting.remove(turn)
                turn.is_left = True
                turn.release()

    def _pass_on(self) -> None:
        """A place is free: it goes to who waits longest."""
        if self._waiting:
            self._waiting.popleft().release()
        else:
            self._busy -= 1
            self._empty.notify_all()
