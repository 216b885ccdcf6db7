"""Ports: what the engine needs of the world. Verbs that take and return values; implemented on the floor above.

A port that cannot do its work raises a KeiseiError and has then done nothing; WorldFault says whether trying again
could help. No transaction crosses a port: what belongs together is one value.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Protocol

from keisei.engine.autonomy import Autonomy
from keisei.records.artifact import ArtifactRecord
from keisei.records.atom_spec import AtomPackage, AtomSpec
from keisei.records.attempt import TaskAttempt
from keisei.records.beside import NOTHING, Beside
from keisei.records.breaker import Breaker
from keisei.records.bundle import BundleRecord
from keisei.records.event import RuntimeEvent
from keisei.records.evidence import Stored
from keisei.records.finding import FindingRecord
from keisei.records.id import AdapterId, AgentId, AttemptId, LandingId, ProfileId, RunnerId, TaskId
from keisei.records.invocation import Answer, CallOrder
from keisei.records.landing import LandingRecord
from keisei.records.ledger import LedgerEntry
from keisei.records.move import (
    AttemptQuery,
    CancelOrder,
    Claimed,
    ClaimOrder,
    Delivery,
    Enqueued,
    EntryQuery,
    EventQuery,
    LandingMove,
    LandingQuery,
    LedgerCheckpoint,
    LedgerRestoration,
    LedgerRow,
    NewEntry,
    NewEvent,
    NewTask,
    Pause,
    PauseOrder,
    Progress,
    Settled,
    Settlement,
    Sweep,
    TaskMove,
    TaskPage,
    TaskQuery,
    TreeNode,
    UnsealedRows,
)
from keisei.records.outbox import OutboxItem, OutboxStatus
from keisei.records.overview import Overview
from keisei.records.pipe_run import CacheHit, CacheKey, PipeMember, PipeMove, PipeRun
from keisei.records.request import RequestAnswer, RequestRecord
from keisei.records.runner import Beat, RunnerRecord
from keisei.records.task import TaskRecord, TaskStatus
from keisei.rules.role import ResolvedRole


class Library(Protocol):
    """Authored files."""

    def resolved_role(self, name: str) -> ResolvedRole:
        """A role with everything it inherits. Raises where anything it names is missing."""

    def canonical(self, name: str) -> str:
        """The current name of a capability, aliases followed."""

    def fragment(self, name: str) -> bytes:
        """The text of a capability, byte for byte. Raises where it is missing."""


class Queue(Protocol):
    """Tasks and attempts: every method that writes is one transaction, done or not done."""

    def now(self) -> datetime:
        """The store's time, aware UTC: the machine's on SQLite, close to the server's on PostgreSQL."""

    def enqueue(self, tasks: Sequence[NewTask]) -> list[Enqueued]:
        """Queue tasks in one commit, each with its `task_enqueued` event. A known key or id writes nothing."""

    def requeue(self, task: NewTask, beside: Beside) -> Enqueued:
        """Queue one task with what is written beside it, in one commit. A known key or id writes nothing of either."""

    def wake_due(self) -> int:
        """Make delayed tasks whose moment has come claimable, at most some thousands at once. How many."""

    def next_due(self) -> datetime | None:
        """When the next delayed task becomes due; None where nothing is delayed."""

    def claim(self, order: ClaimOrder) -> list[Claimed]:
        """Take claimable tasks, best first: an open attempt each, one higher fence, one `task_claimed` event.

        Nothing is taken where the runner is not active. A task whose attempts are used up is never claimable.
        """

    def progress(self, progress: Progress) -> bool:
        """Write how far an attempt has come. False: its fence does not hold, nothing was written."""

    def settle(self, settlement: Settlement) -> Settled:
        """Close the attempt and move its task, with all that belongs to it. Saying it twice is saying it once."""

    def move(self, move: TaskMove) -> bool:
        """Move a task that nobody runs. False: it has another status by now, nothing was written."""

    def request_cancel(self, order: CancelOrder) -> tuple[TaskId, ...]:
        """Ask the runners of running tasks to end them. The tasks it holds for, each with event and ledger row."""

    def is_canceled(self, task_id: TaskId) -> bool:
        """Whether somebody wants a running task ended."""


class Leases(Protocol):
    """Runners and their leases."""

    def register(self, runner: RunnerRecord) -> None:
        """A runner begins; its heartbeat starts now."""

    def beat(self, runner_id: RunnerId) -> Beat:
        """Renew the lease. A runner that is lost or stopped stays so."""

    def drain(self, runner_id: RunnerId, beside: Beside = NOTHING) -> bool:
        """Tell a runner to take nothing new, and write what stands beside it. False where it is not active."""

    def leave(self, runner_id: RunnerId) -> None:
        """A runner stops by itself. Open attempts it still has are found by the next sweep."""

    def sweep(self, sweep: Sweep) -> list[Claimed]:
        """Give up runners whose lease has ended, and take the open attempts of every runner that is gone.

        Each comes with a new fence, so that whoever had it can settle nothing any more. Whoever asked settles them or,
        where the harness has returned, resumes them; if it dies meanwhile, the next sweep finds them again.
        """

    def adopt(self, claimed: Claimed, runner_id: RunnerId) -> Claimed | None:
        """Put an attempt that sweep found under a living runner, to judge what its harness returned. None: too late."""

    def runners(self, *, gone: bool = False) -> list[RunnerRecord]:
        """Runners that are active or draining; with `gone` the others too, newest first."""


class Bell(Protocol):
    """A doorbell, never the truth: it may ring for nothing, and a ring may be lost."""

    def ring(self) -> None:
        """Tell waiting runners that there is something to do. Never raises."""

    def wait(self, timeout_s: float) -> None:
        """Wait for a ring or the time. Returns early at will."""


class Controls(Protocol):
    """What operators say to all runners."""

    def pause(self, order: PauseOrder) -> None:
        """Stop or resume claiming, with its event and its ledger row."""

    def pauses(self) -> list[Pause]:
        """Where claiming is stopped."""

    def breakers(self) -> list[Breaker]:
        """What is known of adapters that failed."""

    def reset_breaker(self, adapter_id: AdapterId, actor: str) -> bool:
        """Forget an adapter's failures, with its ledger row. False where there were none."""

    def note(self, events: Sequence[NewEvent]) -> None:
        """Write events that belong to no other move."""

    def prune(self, before: datetime) -> int:
        """Remove events and slots older than that, some thousands at once, and runners gone by then.

        How many events and slots. Requests that are older than a day go too.
        """


class Outbox(Protocol):
    """What outcomes ask for."""

    def pending(self, limit: int, after: str | None = None) -> list[OutboxItem]:
        """Rows that wait for delivery and may be tried by now, oldest first; behind that key, where one is named."""

    def deliver(self, delivery: Delivery) -> bool:
        """Write what became of a row. False: somebody was quicker, nothing was written."""

    def outbox(self, status: OutboxStatus | None, limit: int) -> list[OutboxItem]:
        """Rows, newest first."""


class Landings(Protocol):
    """Verified candidates on their way to main."""

    def landing(self, landing_id: LandingId) -> LandingRecord | None:
        """One landing."""

    def landings(self, query: LandingQuery) -> list[LandingRecord]:
        """Landings; a row that cannot be read is left out."""

    def move_landing(self, move: LandingMove) -> bool:
        """Move one. False: it has another status by now, nothing was written. Raises IllegalMove for no such move."""


class Requests(Protocol):
    """Orders that came with an `Idempotency-Key`: each is carried out by one, and answered alike whenever it comes."""

    def begin_request(self, key: str, actor: str, digest: str) -> RequestRecord:
        """Begin one, before it is carried out: of any number at once exactly one is `fresh`, and may go on.

        The others are told what is known: `open` while it is carried out, `answered` with the answer after that, and
        `mismatch` where the key had another digest. One that stays open for an hour belongs to a process that
        died: the next who asks takes it over, `fresh` with a higher fence. A key is remembered for a day. Raises
        ContractViolation for a key, an actor or a digest that cannot be kept.
        """

    def answer_request(self, answer: RequestAnswer) -> bool:
        """Keep the answer. False: it was taken over, answered or forgotten, nothing was written."""

    def withdraw_request(self, key: str, actor: str, fence: int) -> bool:
        """Forget one that was begun and not carried out, so that it may be tried again at once. False likewise."""


class View(Protocol):
    """Reading, without a lock."""

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """One task, with its lease while it runs."""

    def tasks(self, query: TaskQuery) -> list[TaskRecord]:
        """Tasks, newest first."""

    def find_tasks(self, query: TaskQuery) -> TaskPage:
        """Tasks, newest first, and where the next page begins. Older than a task that is not there: none."""

    def counts(self) -> dict[TaskStatus, int]:
        """How many tasks have which status; every status is there."""

    def claimable(self) -> int:
        """How many tasks could be claimed now."""

    def depth(self, task_id: TaskId) -> int:
        """How many tasks stand above a task; 0 for one nobody knows."""

    def children(self, task_id: TaskId, limit: int = 1000) -> list[TaskRecord]:
        """Tasks that a task asked for, oldest first: its follow-ups, and what its attempts have queued."""

    def attempt(self, attempt_id: AttemptId) -> TaskAttempt | None:
        """One attempt."""

    def attempts(self, task_id: TaskId | None, limit: int = 50) -> list[TaskAttempt]:
        """Attempts of one task, oldest first; of all tasks, newest first, where none is named."""

    def find_attempts(self, query: AttemptQuery) -> list[TaskAttempt]:
        """Attempts, newest first. Older than an attempt that is not there: none."""

    def memory(
        self, agent: AgentId | None, profile: ProfileId, limit: int, until: datetime | None = None
    ) -> list[TaskRecord]:
        """The newest finished tasks of the same agent and profile, newest first; what came after `until` left out."""

    def bundle(self, attempt_id: AttemptId) -> BundleRecord | None:
        """The bundle an attempt was given."""

    def findings(self, attempt_id: AttemptId) -> list[FindingRecord]:
        """What verification said."""

    def artifacts(self, task_id: TaskId) -> list[ArtifactRecord]:
        """Files of a task."""

    def events(self, query: EventQuery) -> list[RuntimeEvent]:
        """Events, oldest first."""

    def find_events(self, query: EventQuery) -> list[RuntimeEvent]:
        """The same, newest first, for those who look back: what is being written just now may be missing."""

    def overview(self, day_start: datetime) -> Overview:
        """What is going on, and what happened since the start of the day."""


class Ledger(Protocol):
    """The chained record."""

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it."""

    def append_if(self, entry: NewEntry, seen: int) -> LedgerEntry | None:
        """The same, where no row about its subject stands behind the place `seen`. None: somebody was quicker.

        Of those who write this way about one subject, only one is the first.
        """

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed rows after a place, in order."""

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed rows, newest first."""

    def entry(self, seq: int) -> LedgerEntry | None:
        """One row."""

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed row as it is stored, in order, for verification. Raises nothing for rows that were changed."""

    def restore_rows(self, order: LedgerRestoration) -> bool:
        """Take in rows that were sealed elsewhere, all or none. False where the chain does not end there any more."""

    def unsealed(self) -> int:
        """How many rows are written and not sealed yet; sealed first where this process may."""

    def unsealed_rows(self) -> UnsealedRows:
        """The same, with since when and what hinders it, for verification; to be asked before `rows`."""

    def row(self, seq: int) -> LedgerRow | None:
        """One sealed row as it is stored, as `rows` tells it."""

    def size(self) -> int:
        """How many rows are sealed: the last place; sealed first where this process may."""

    def leaves(self, first: int, limit: int) -> list[bytes]:
        """Leaf hashes of sealed rows from a place on, in order, at most a thousand; they end where a place is empty."""

    def checkpoints(self, after: int = 0, limit: int = 100) -> list[LedgerCheckpoint]:
        """Kept checkpoints of more rows than that, in order."""

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The one of most rows."""

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep one for good, with nodes of the tree that are not kept yet.

        False where one of as many rows or more is kept already: nothing was written.
        """

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level from an index on, in order; there may be gaps."""

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node as they are stored, as of one moment, for verification. In order."""


class Evidence(Protocol):
    """Files of attempts, by relative keys: written once, on the disk before `put` returns, never changed."""

    def put(self, key: str, data: bytes) -> Stored:
        """Store bytes. The same bytes again are fine; others raise IllegalMove."""

    def get(self, key: str) -> bytes | None:
        """The bytes; None where the key is unknown."""

    def stored(self, key: str) -> Stored | None:
        """What stands under a key, hashed again; None where the key is unknown."""

    def keys(self, prefix: str = "") -> list[str]:
        """Every key that begins with the prefix, sorted."""


class PipeRuns(Protocol):
    """Runs of pipes: every method that writes is one transaction, done or not done."""

    def begin_run(self, run: PipeRun) -> None:
        """Keep a new run, `running`, fence 1, with its ledger row `pipe_begun`. Raises IllegalMove for a known id."""

    def pipe_run(self, run_id: str) -> PipeRun | None:
        """One run."""

    def pipe_runs(self, limit: int = 50, begins: str = "", before: str | None = None) -> list[PipeRun]:
        """Runs whose ids begin so, newest first; those older than `before`, none where that is not there."""

    def take_run(self, run: PipeRun) -> PipeRun:
        """Take a run over, with definition, source and input as given; its fence is one higher then.

        It is `running`, or `undoing` where it was. Raises IllegalMove where the stored fence is another by now.
        """

    def move_run(self, move: PipeMove) -> bool:
        """Write members, status and ledger rows at once.

        False: the fence is an older one. Then only the ledger rows of calls were written, because these took place.
        """

    def members(self, run_id: str, step: str | None = None, after: int = -1, limit: int = 500) -> list[PipeMember]:
        """Members in the order of (step, index): of one step behind an index, or the first of all steps.

        Fewer than asked for where outputs are large: only an empty page is the last.
        """

    def member_counts(self, run_id: str) -> dict[tuple[str, str], int]:
        """How many members each step has in each state."""

    def old_runs(self, before: datetime) -> tuple[int, int]:
        """How many runs did not move since, and how many bytes they take. One that was killed never moves again."""

    def forget_runs(self, before: datetime, limit: int = 100) -> int:
        """Remove such runs, the oldest first, with their members; how many. The ledger stays."""


class Atoms(Protocol):
    """Atoms by id."""

    def atom(self, atom_id: str) -> AtomSpec:
        """The atom as it is now. Raises MissingAtom with the nearest name, AuthorError where its files are broken."""


class Databases(Protocol):
    """The databases of packages."""

    def database(self, package: AtomPackage) -> str | None:
        """Its database, made and brought up to date; None where it has none. Raises OperatorError, WorldFault."""


class Workers(Protocol):
    """Whoever runs an atom: a warm process of its own, or a program. Any thread may call."""

    def call(self, order: CallOrder) -> Answer:
        """Run it to its end, its deadline or its cap; then nothing of its tree is left that it did not have before.

        Never raises for what the atom does. Raises MissingProgram where there is no program.
        """

    def follow(self, order: CallOrder) -> "Following":
        """Start a stream. Raises MissingProgram."""

    def cancel(self, invocation_id: str | None = None) -> None:
        """End every call there is; each answers `killed`, and so does every later one. Any thread may say it.

        With an id only that call is ended, wherever it is on its way; one that is over, or that nobody knows, is
        nothing to end.
        """


class Following(Protocol):
    """A stream while it runs, for one consumer. Closing it before its end cancels it."""

    def __iter__(self) -> Iterator[Any]:
        """Items as they come. The atom is held up where nobody takes them. A second iterator raises IllegalMove."""

    def close(self) -> None:
        """End it. Safe to say twice."""

    @property
    def answer(self) -> Answer:
        """How it ended; `output` is the number of items. Asked before the end, it closes the stream."""


class TransformCache(Protocol):
    """Results of pure functions. Disposable; any failure of it is a miss."""

    def find(self, key: CacheKey) -> CacheHit:
        """The kept output, or why there is none, in words."""

    def keep(self, key: CacheKey, output: Any) -> None:  # noqa: ANN401 - any JSON
        """Keep a validated output."""


class Store(Queue, Leases, Bell, Controls, Outbox, Landings, PipeRuns, Requests, View, Ledger, Autonomy, Protocol):
    """Everything behind one database."""

    def close(self) -> None:
        """Give back connections, locks and sockets. Safe to say twice."""
