"""Verifying the ledger from the console: one walk along the chain at a time, in the background, and what it found."""

import threading
import time
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.records.error import KeiseiError, Refused
from keisei.records.form import Timestamp
from keisei.records.move import LedgerRow
from keisei.rules.ledger import GENESIS, first_broken

PATIENCE_S: Final = 5.0
"""How long an order waits for the end of a walk; a longer one goes on, and its page tells how far it is."""
OFTEN: Final = 1000
"""Rows between two looks at whether the console ends."""


class LedgerVerdict(Struct, frozen=True, kw_only=True):
    """What a walk along the chain found, or how far it has come."""

    running: bool
    """It is not at the end yet; nothing is proved."""
    ok: bool
    """Every row holds, and a head that was given is in the chain."""
    rows: int
    """Rows that were looked at."""
    head: str
    """The chain's hash at the last of them; whoever keeps it can prove later that nothing was cut off."""
    unsealed: int = 0
    """Rows that are written and not sealed yet."""
    broken_row: int | None = None
    """The first row that does not hold."""
    broken_why: str | None = None
    """What is wrong with it."""
    kept_head: str | None = None
    """A head that was kept elsewhere."""
    kept_head_found: bool | None = None
    """Whether it is in the chain; None where none was given."""
    failed: str | None = None
    """Why the walk itself ended too early."""
    started_at: Timestamp
    """When it began."""
    took_s: float
    """How long it took, so far."""


class Verifier:
    """The walks of one console."""

    def __init__(self, premises: Premises) -> None:
        """None was made yet."""
        self._premises = premises
        self._turn = threading.Lock()
        self._walk: _Walk | None = None

    @property
    def verdict(self) -> LedgerVerdict | None:
        """What the last walk found; None where there was none."""
        with self._turn:
            return None if self._walk is None else self._walk.verdict()

    def verify(self, kept_head: str | None) -> LedgerVerdict:
        """Walk along the chain; where somebody does already, how far that is, without waiting for it.

        Raises Refused where another head is being looked for, WorldFault where too much is under way.
        """
        if (known := self._under_way(kept_head)) is not None:
            return known.verdict()
        with slowly(self._premises, "a verification of the ledger"):
            walk = self._under_way(kept_head) or self._started(kept_head)  # one may have begun just now
            walk.thread.join(PATIENCE_S)
            return walk.verdict()

    def _under_way(self, kept_head: str | None) -> "_Walk | None":
        with self._turn:
            walk = self._walk
        if walk is None or not walk.thread.is_alive():
            return None
        if walk.kept_head != kept_head:
            raise Refused("the ledger is being verified for another head", "wait until that is done")
        return walk

    def _started(self, kept_head: str | None) -> "_Walk":
        with self._turn:
            self._walk = _Walk(self._premises, kept_head)
            self._walk.thread.start()
            return self._walk

    def close(self) -> None:
        """End the walk. Safe to say twice."""
        with self._turn:
            walk = self._walk
        if walk is not None:
            walk.ends.set()
            walk.thread.join()


class _Ended(Exception):
    """The console ends."""


class _Walk:
    """One walk: how long the chain is, how it ends, whether a kept head was met, and what is broken."""

    def __init__(self, premises: Premises, kept_head: str | None) -> None:
        self._premises, self.kept_head = premises, kept_head
        self.ends = threading.Event()
        self._rows, self._head = 0, GENESIS.hex()
        self._met = None if kept_head is None else kept_head == self._head
        self._began, self._started_at = time.monotonic(), premises.now()
        self._end: LedgerVerdict | None = None
        self.thread = threading.Thread(target=self._run, name="console ledger", daemon=True)

    def verdict(self) -> LedgerVerdict:
        return self._end or self._told(self._started_at, running=True)

    def _run(self) -> None:
        try:
            broken = first_broken(self._over(self._premises.store.rows()))
            waiting = self._premises.store.unsealed()
        except KeiseiError as error:
            self._end = replace(self._told(self._started_at, running=False), failed=error.message)
            return
        except _Ended:
            self._end = replace(self._told(self._started_at, running=False), failed="the console ended")
            return
        self._end = replace(
            self._told(self._started_at, running=False),
            ok=broken is None and self._met is not False,
            unsealed=waiting,
            broken_row=None if broken is None else broken[0],
            broken_why=None if broken is None else broken[1],
        )

    def _over(self, rows: Iterator[LedgerRow]) -> Iterator[LedgerRow]:
        """The same rows."""
        for row in rows:
            self._rows, self._head = self._rows + 1, row.chain_hash
            self._met = True if row.chain_hash == self.kept_head else self._met
            if self._rows % OFTEN == 0 and self.ends.is_set():
                raise _Ended
            yield row

    def _told(self, started_at: datetime, *, running: bool) -> LedgerVerdict:
        return LedgerVerdict(
            running=running,
            ok=False,
            rows=self._rows,
            head=self._head,
            kept_head=self.kept_head,
            kept_head_found=self._met,
            started_at=started_at,
            took_s=round(time.monotonic() - self._began, 3),
        )
