"""Verifying the ledger from the console: one walk along the chain at a time, in the background, and what it found."""

import threading
import time
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.records.error import KeiseiError, Refused
from keisei.records.form import Timestamp
from keisei.rules.ledger import GENESIS
from keisei.wiring.ledger_verify import Asked, Verification, verify
from keisei.wiring.signing import origin

PATIENCE_S: Final = 5.0
"""How long an order waits for the end of a walk; a longer one goes on, and its page tells how far it is."""


class LedgerVerdict(Struct, frozen=True, kw_only=True):
    """What a walk along the chain found, or how far it has come."""

    running: bool
    """It is not at the end yet; nothing is proved."""
    ok: bool
    """Every row and every checkpoint holds, and a head that was given is in the chain."""
    rows: int
    """Rows that were looked at."""
    head: str
    """The chain's hash at the last of them; whoever keeps it can prove later that nothing was cut off."""
    unsealed: int = 0
    """Rows that are written and not sealed yet."""
    root: str | None = None
    """The root of the tree over them."""
    checkpoints: int = 0
    """Checkpoints that are the root of the rows they are of, and signed by a key that is known."""
    newest_checkpoint: int | None = None
    """How many rows the newest of them is of."""
    told: tuple[str, ...] = ()
    """What nothing breaks by and somebody should know: a place without its checkpoints, checkpoints of other keys."""
    broken_row: int | None = None
    """The first row that does not hold; none where a checkpoint or a node of the tree does not."""
    broken_why: str | None = None
    """What is wrong there."""
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
        home = self._premises.home
        asked = Asked(origin=origin(home.name), state=home.folder, repository=home.root, head=self.kept_head)
        try:
            self._end = self._found(verify(self._premises.store, asked, self._go_on))
        except KeiseiError as error:
            self._end = replace(self._told(self._started_at, running=False), failed=error.message)
        except _Ended:
            self._end = replace(self._told(self._started_at, running=False), failed="the console ended")

    def _go_on(self, rows: int, head: str) -> None:
        self._rows, self._head = rows, head
        if self.ends.is_set():
            raise _Ended

    def _found(self, found: Verification) -> LedgerVerdict:
        self._rows, self._head, self._met = found.rows, found.head, found.kept_head_found
        return replace(
            self._told(self._started_at, running=False),
            ok=found.ok,
            unsealed=found.unsealed,
            root=found.root,
            checkpoints=found.checkpoints.checked,
            newest_checkpoint=found.checkpoints.newest,
            told=found.told,
            broken_row=None if found.broken is None else found.broken.row,
            broken_why=None if found.broken is None else found.broken.why,
        )

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
