"""Clock: time that stands still until a test moves it, for a store's leases and moments."""

from datetime import UTC, datetime, timedelta

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""When a virtual clock begins unless it is told otherwise."""


class VirtualClock:
    """The clock a store takes, moved by hand: `advance` is time passing, `jump` is somebody setting the wall clock.

    The two hands are apart, as on a machine: `now` is the wall and can be set back, `boottime` only grows until the
    machine starts again.
    """

    def __init__(self, now: datetime = BEGINNING) -> None:
        self._now = now
        self._uptime = timedelta(seconds=100)
        self.boot_id = "boot-1"
        """Which start of the machine this is."""

    def now(self) -> datetime:
        """The wall clock, aware UTC."""
        return self._now

    def boottime(self) -> float:
        """Seconds since the machine started."""
        return self._uptime.total_seconds()

    def advance(self, seconds: float) -> None:
        """Time passes, for both hands. Raises ValueError where it would pass backwards."""
        if seconds < 0:
            message = f"time does not pass backwards: {seconds}; `jump` sets the wall clock"
            raise ValueError(message)
        self._now += timedelta(seconds=seconds)
        self._uptime += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        """Somebody sets the wall clock, forwards or back; no time passes."""
        self._now += timedelta(seconds=seconds)

    def reboot(self) -> None:
        """The machine starts again: another boot id, and the boot clock begins anew."""
        self.boot_id = f"boot-{int(self.boot_id.removeprefix('boot-')) + 1}"
        self._uptime = timedelta(0)
