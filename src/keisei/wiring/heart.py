"""The heart: renews a runner's lease from a thread that no work can starve, and says when it is gone.

A lease counts from the moment a beat was sent, by a clock that no one sets (CLOCK_BOOTTIME). Trees are kept alive only
by beats that succeeded: a runner that is stopped, cut off or too slow loses its trees before it loses its lease.
"""

import threading
import time
from collections.abc import Callable

from keisei.engine.ports import Leases
from keisei.records.error import KeiseiError
from keisei.records.id import RunnerId
from keisei.records.runner import Beat

BEATS = 3
"""Beats in one lease."""
MARGIN = 0.2
"""The part of a lease in which trees must already be dead."""


def boottime() -> float:
    """Seconds since the machine started, suspend included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Heart:
    """One runner's heartbeat."""

    def __init__(
        self, store: Leases, runner_id: RunnerId, lease_s: float, on_beat: Callable[[Beat, float], None]
    ) -> None:
        """`on_beat` hears every beat that succeeded, with the seconds that trees may live on, in the heart's thread."""
        self._store, self._runner_id, self._lease_s, self._on_beat = store, runner_id, lease_s, on_beat
        self._until = boottime() + lease_s
        self._stopped = False
        self._nudge = threading.Event()
        self.lost = threading.Event()
        """Set once the lease is gone, or cannot be renewed in time."""
        self._thread = threading.Thread(target=self._run, name="heart", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Beat no more; waits for a beat that is under way."""
        self._stopped = True
        self._nudge.set()
        if self._thread.is_alive():
            self._thread.join(self._lease_s)

    def hurry(self) -> None:
        """Beat now: there may be an order to hear."""
        self._nudge.set()

    def left_s(self) -> float:
        """How long a tree may live from now, if no beat succeeds any more."""
        return max(0.0, self._until - self._lease_s * MARGIN - boottime())

    def _run(self) -> None:
        wait = self._lease_s / BEATS
        while not self.lost.is_set():
            self._nudge.wait(wait)
            self._nudge.clear()
            if self._stopped:
                return
            wait = self._lease_s / BEATS if self._beat() else min(1.0, self._lease_s / 10)
            if self.left_s() <= 0:
                self.lost.set()

    def _beat(self) -> bool:
        """Whether the lease was renewed. A store that cannot be asked is asked again soon, while there is time."""
        sent = boottime()
        try:
            beat = self._store.beat(self._runner_id)
        except KeiseiError:
            return False
        if not beat.alive:
            self.lost.set()
            return False
        self._until = sent + self._lease_s
        self._on_beat(beat, self.left_s())
        return True
