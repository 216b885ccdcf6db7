"""What both stores do alike: reading in one text, and what a ledger or a bell of their own does for them."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from keisei.engine.ports import Bell, Ledger
from keisei.records.breaker import Breaker
from keisei.records.id import LandingId
from keisei.records.landing import LandingRecord
from keisei.records.ledger import LedgerEntry
from keisei.records.move import (
    EntryQuery,
    LandingQuery,
    LedgerCheckpoint,
    LedgerRestoration,
    LedgerRow,
    NewEntry,
    Pause,
    TreeNode,
    UnsealedRows,
)
from keisei.records.outbox import OutboxItem, OutboxStatus
from keisei.records.pipe_run import PipeMember, PipeRun
from keisei.records.runner import RunnerRecord
from keisei.store.breaker import breakers
from keisei.store.clock import moment
from keisei.store.due import next_due
from keisei.store.landing import read_landing, read_landings
from keisei.store.order import pauses
from keisei.store.outbox import outbox, pending
from keisei.store.pipe import read_member_counts, read_members, read_old_runs, read_run, read_runs
from keisei.store.runner import runners
from keisei.store.view import Reading


class Either(Reading):
    """A store without its moves."""

    _ledger: Ledger
    _bell: Bell

    def now(self) -> datetime:
        """The store's time, aware UTC."""
        return moment(self._reader.now_us())

    def next_due(self) -> datetime | None:
        """When the next delayed task becomes due; None where nothing is delayed."""
        return next_due(self._reader)

    def runners(self, *, gone: bool = False) -> list[RunnerRecord]:
        """Runners that are active or draining; with `gone` the others too, newest first."""
        return runners(self._reader, gone=gone)

    def pauses(self) -> list[Pause]:
        """Where claiming is stopped."""
        return pauses(self._reader)

    def breakers(self) -> list[Breaker]:
        """What is known of adapters that failed."""
        return breakers(self._reader)

    def pending(self, limit: int, after: str | None = None) -> list[OutboxItem]:
        """Outbox rows that wait for delivery and may be tried by now, oldest first; behind `after`, if named."""
        return pending(self._reader, self._reader.now_us(), limit, after)

    def outbox(self, status: OutboxStatus | None, limit: int) -> list[OutboxItem]:
        """Outbox rows, newest first."""
        return outbox(self._reader, status, limit)

    def landing(self, landing_id: LandingId) -> LandingRecord | None:
        """One landing."""
        return read_landing(self._reader, landing_id)

    def landings(self, query: LandingQuery) -> list[LandingRecord]:
        """Landings, newest or oldest first."""
        return read_landings(self._reader, query)

    def pipe_run(self, run_id: str) -> PipeRun | None:
        """One run of a pipe."""
        return read_run(self._reader, run_id)

    def pipe_runs(self, limit: int = 50, begins: str = "", before: str | None = None) -> list[PipeRun]:
        """Runs of pipes whose ids begin so, newest first."""
        return read_runs(self._reader, limit, begins, before)

    def members(self, run_id: str, step: str | None = None, after: int = -1, limit: int = 500) -> list[PipeMember]:
        """Members of a run by (step, index). Fewer than asked for where they are large."""
        return read_members(self._reader, run_id, step, after, limit)

    def member_counts(self, run_id: str) -> dict[tuple[str, str], int]:
        """How many members each step has in each state."""
        return read_member_counts(self._reader, run_id)

    def old_runs(self, before: datetime) -> tuple[int, int]:
        """How many runs of pipes did not move since, and how many bytes they take."""
        return read_old_runs(self._reader, before)

    def ring(self) -> None:
        """Tell waiting runners that there is something to do. Never raises; a signal handler may call it."""
        self._bell.ring()

    def wait(self, timeout_s: float) -> None:
        """Wait for a ring or the time. Returns early at will."""
        self._bell.wait(timeout_s)

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one ledger row and seal it."""
        return self._ledger.append(entry)

    def append_if(self, entry: NewEntry, seen: int) -> LedgerEntry | None:
        """The same, where no row about its subject stands behind a place. None: somebody was quicker."""
        return self._ledger.append_if(entry, seen)

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed ledger rows after a place, in order."""
        return self._ledger.entries(after, limit, kind)

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed ledger rows, newest first."""
        return self._ledger.find_entries(query)

    def entry(self, seq: int) -> LedgerEntry | None:
        """One ledger row."""
        return self._ledger.entry(seq)

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed ledger row as it is stored, in order."""
        return self._ledger.rows()

    def restore_rows(self, order: LedgerRestoration) -> bool:
        """Take in ledger rows that were sealed elsewhere. False where the chain does not end there any more."""
        return self._ledger.restore_rows(order)

    def unsealed(self) -> int:
        """How many ledger rows are written and not sealed yet."""
        return self._ledger.unsealed()

    def unsealed_rows(self) -> UnsealedRows:
        """Ledger rows that are written and not sealed yet, since when, and what hinders it."""
        return self._ledger.unsealed_rows()

    def row(self, seq: int) -> LedgerRow | None:
        """One sealed ledger row as it is stored."""
        return self._ledger.row(seq)

    def size(self) -> int:
        """How many ledger rows are sealed."""
        return self._ledger.size()

    def leaves(self, first: int, limit: int) -> list[bytes]:
        """Leaf hashes of sealed ledger rows from a place on, in order."""
        return self._ledger.leaves(first, limit)

    def checkpoints(self, after: int = 0, limit: int = 100) -> list[LedgerCheckpoint]:
        """Kept checkpoints of more rows than that, in order."""
        return self._ledger.checkpoints(after, limit)

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The checkpoint of most rows."""
        return self._ledger.newest_checkpoint()

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep a checkpoint with its nodes. False where one of as many rows or more is kept."""
        return self._ledger.keep_checkpoint(checkpoint, nodes)

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level of the ledger's tree from an index on, in order."""
        return self._ledger.tree_nodes(level, first, limit)

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node of the ledger's tree, as of one moment."""
        return self._ledger.kept()
