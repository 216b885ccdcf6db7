"""The watchman: looks after an attempt while it runs, and ends it when what it needs is gone."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal, NamedTuple

from keisei.records.report import HarnessError
from keisei.wiring.gatehouse import Admitted
from keisei.wiring.switch import Endable
from keisei.wiring.yard import Yard
from keisei.workspace.space import free_bytes

LOOK_S: Final = 0.25
MB: Final = 1024 * 1024
GATE_DIED: Final = "the gate service has died; every call is refused, so the attempt was ended"
ATOMS_DIED: Final = "the process that answers for atoms has died, so the attempt was ended"


class Ended(NamedTuple):
    """Why an attempt was ended before its time."""

    kind: Literal["gate", "atoms", "disk", "budget", "model"]
    reason: str
    error: HarnessError | None = None
    """What the attempt has failed by; None where that was no fault of its own, so that it does not count."""


class Watchman:
    """One attempt's. `watching` looks until the attempt is over; any thread may `end` it."""

    def __init__(self, yard: Yard, admitted: Admitted | None, folder: Path, is_served: Callable[[], bool]) -> None:
        """Nothing is watched yet. `is_served` says whether somebody answers for the attempt's atoms."""
        self._yard, self._admitted, self._folder, self._is_served = yard, admitted, folder, is_served
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._running: Endable | None = None
        self.ended: Ended | None = None
        """Why the attempt was ended; None where it was not."""

    def watch(self, running: Endable) -> None:
        """Begin to look, in a thread of its own."""
        with self._lock:
            self._running = running
        if self.ended is not None:
            running.cancel()
        threading.Thread(target=self._look, name="watchman", daemon=True).start()

    def rest(self) -> None:
        """The attempt is over. One that ended by itself right after what it needs had died is told as ended too."""
        self._over.set()
        died = self._gate() or self._atoms()
        with self._lock:
            self.ended = self.ended or died
            self._running = None

    def end(self, reason: str) -> None:
        """The budget is used up."""
        self._end(Ended("budget", reason, HarnessError(kind="limit", message=reason)))

    def give_up(self, error: HarnessError) -> None:
        """The model's server does not answer this attempt any more."""
        self._end(Ended("model", error.message, error))

    def _look(self) -> None:
        while not self._over.wait(LOOK_S):
            found = self._gate() or self._atoms() or self._disk()
            if found is not None and not self._over.is_set():  # else that was taken away behind it
                self._end(found)
                return

    def _end(self, ended: Ended) -> None:
        with self._lock:
            self.ended = self.ended or ended
            if self._running is not None:
                self._running.cancel()

    def _gate(self) -> Ended | None:
        if self._admitted is None or self._yard.gatehouse.is_alive(self._admitted):
            return None
        return Ended("gate", GATE_DIED)

    def _atoms(self) -> Ended | None:
        return None if self._is_served() else Ended("atoms", ATOMS_DIED)

    def _disk(self) -> Ended | None:
        """Half of what a claim wants to see: the attempt that begins there is not ended at once."""
        least = self._yard.workspace.min_free_mb * MB // 2
        free = free_bytes(self._folder)
        if free is None or free >= least:
            return None
        return Ended("disk", f"the disk is nearly full ({free // MB} MB left), so the attempt was ended")
