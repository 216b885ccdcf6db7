"""Till: what a relay has counted so far, where other processes of this machine see it while the attempt runs.

One line of one size, written over itself: a disk that fills up meanwhile takes it all the same. Whoever cannot read it
knows nothing, and must not take that for nothing spent.
"""

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.records.budget import Amount
from keisei.records.relay import Charge

TILL: Final = "relay-till"
"""Its name, beside the relay's log."""
SIZE: Final = 128
"""Bytes; the rest of the line is spaces."""
UNPRICED: Final = "-"
READS: Final = 5
"""A line that is being written right now may be seen half; it is looked at again."""


class Till:
    """The end that the relay writes. Whoever calls sees to it that only one thread does."""

    def __init__(self, path: Path) -> None:
        """Raises OSError where it cannot be made."""
        self._file: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._shown: Charge | None = None

    def show(self, charge: Charge, *, priced: bool) -> None:
        """What counts by now; without prices nobody knows the money."""
        if self._file is None or charge == self._shown:
            return
        said = f"{charge.tokens} {format(charge.cost_usd, '.9f') if priced else UNPRICED}"
        line = f"{said} {zlib.crc32(said.encode()):08x}".ljust(SIZE - 1) + "\n"
        written = 0
        with suppress(OSError):
            written = os.pwrite(self._file, line.encode(), 0)
        if written < SIZE:
            with suppress(OSError):
                os.ftruncate(self._file, 0)  # the amount before it is too small, and would be believed
        self._shown = charge

    def close(self) -> None:
        """What is shown stays."""
        if self._file is not None:
            os.close(self._file)
        self._file = None


def read_till(path: Path) -> Amount:
    """What the attempt has spent by now; None where that is not known. Never raises."""
    for _ in range(READS):
        try:
            said, _, mark = path.read_bytes()[:SIZE].decode("ascii").rstrip().rpartition(" ")
            tokens, usd = said.split(" ")
            if int(mark, 16) == zlib.crc32(said.encode()):
                return Amount(tokens=int(tokens), usd=None if usd == UNPRICED else float(usd))
        except (OSError, ValueError):
            continue
    return Amount()
