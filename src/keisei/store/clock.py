"""The store's sense of time, so that tests and simulations can bring their own."""

import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Clock(Protocol):
    """What a store asks of a clock."""

    @property
    def boot_id(self) -> str:
        """Which start of the machine it is; another one after every start."""

    def now(self) -> datetime:
        """The time, aware UTC. May jump."""

    def boottime(self) -> float:
        """Seconds since the machine's start, its sleep included. Never jumps."""


class SystemClock:
    """The machine's clock."""

    def __init__(self) -> None:
        """Read the id of this start once; a machine that has none tells its starts apart by the time alone."""
        self.boot_id = BOOT_ID.read_text(encoding="utf-8").strip() if BOOT_ID.exists() else "unknown"

    def now(self) -> datetime:
        """The wall clock."""
        return datetime.now(UTC)

    def boottime(self) -> float:
        """The clock that counts sleep, where there is one."""
        return time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))


def microseconds(moment: datetime) -> int:
    """A moment as the tables keep it, exact. Raises TypeError for a naive one."""
    return (moment - EPOCH) // MICROSECOND


def moment(us: int) -> datetime:
    """A moment out of the tables."""
    return EPOCH + timedelta(microseconds=us)


def maybe_microseconds(moment: datetime | None) -> int | None:
    """As `microseconds`, where there may be none."""
    return None if moment is None else (moment - EPOCH) // MICROSECOND


def maybe_moment(us: int | None) -> datetime | None:
    """As `moment`, where there may be none."""
    return None if us is None else EPOCH + timedelta(microseconds=us)
