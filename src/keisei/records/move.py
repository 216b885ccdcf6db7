"""Moves: the values that cross the store's ports, one a verb. Internal: no published schema."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.approval import ApprovalRecord, ApprovalStatus
from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import TaskAttempt
from keisei.records.breaker import Breaker
from keisei.records.budget import BudgetPolicy
from keisei.records.bundle import BundleRecord
from keisei.records.event import EventType
from keisei.records.finding import FindingRecord
from keisei.records.form import JsonObject
from keisei.records.id import AdapterId, AgentId, AttemptId, LandingId, ProfileId, RunnerId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectApprovals
from keisei.records.task import TaskRecord, TaskStatus


class NewEvent(Struct, frozen=True, kw_only=True):
    """A line of what happened; the store numbers and dates it."""

    event_type: EventType
    """What happened."""
    task_id: TaskId | None = None
    """To which task."""
    attempt_id: AttemptId | None = None
    """In which attempt."""
    detail: JsonObject = {}
    """More, by event type."""


class NewEntry(Struct, frozen=True, kw_only=True):
    """A ledger row; the store dates, hashes and seals it."""

    kind: str
    """What it tells of, in the past tense."""
    actor: str
    """Who did it."""
    subject: str
    """What it was done to, by id."""
    body: JsonObject
    """The facts."""
    source: Literal["engine", "manual"] = "engine"
    """Manual rows never feed an outcome."""


class NewTask(Struct, frozen=True, kw_only=True):
    """A task to be queued."""

    task: TaskRecord
    """Pending, never tried."""
    breaker_id: AdapterId | None = None
    """The adapter that will run it if nothing changes; while that one's breaker is open the task is passed over."""
    depth: int = 0
    """How many tasks stand above it: a follow-up of a follow-up has 2."""
    ledger: tuple[NewEntry, ...] = ()
    """That a person asked for it. Written where it is queued by itself, and is new; one that is queued with a move is
    told of by the move's own rows."""


class Enqueued(Struct, frozen=True, kw_only=True):
    """What became of a task at the door."""

    task_id: TaskId
    """The task's id; that of the earlier task where the key was known."""
    created: bool
    """False: the idempotency key, or the id, was known already and nothing was written."""


class ClaimOrder(Struct, frozen=True, kw_only=True):
    """Who wants how many tasks."""

    runner_id: RunnerId
    """Who will run them."""
    attempt_ids: tuple[AttemptId, ...]
    """An id for every attempt that may begin; their number is the number of tasks asked for."""
    without_adapters: tuple[AdapterId, ...] = ()
    """Adapters whose breaker is open."""
    budget: BudgetPolicy | None = None
    """Limits that the claim keeps to; None where the project has none. A task's own budget holds all the same: one that
    has used it up is not tried again."""
    approvals: ProjectApprovals = ProjectApprovals()
    """How a person is asked where a budget does not cover a task."""
    only: tuple[TaskId, ...] | None = None
    """Only these tasks, whatever else waits; None for any."""


class Claimed(Struct, frozen=True, kw_only=True):
    """A task in somebody's hands."""

    task: TaskRecord
    """Running, or being recovered."""
    attempt: TaskAttempt
    """Open; its fence is the right to settle."""
    returned: bool = False
    """The harness has returned and its evidence is stored: it is never run again, only judged."""
    postponed: int = 0
    """How often the task was put off without using up an attempt."""
    depth: int = 0
    """How many tasks stand above it."""


class Progress(Struct, frozen=True, kw_only=True):
    """An attempt has come further: it is about to start, or its harness has returned."""

    stage: Literal["started", "returned"]
    """Started is written before the harness is; returned after its evidence is stored."""
    attempt: TaskAttempt
    """The attempt as it is now; still open. Its fence must still hold."""
    bundle: BundleRecord | None = None
    """Written with `started`."""
    events: tuple[NewEvent, ...] = ()
    """Written with it."""
    ledger: tuple[NewEntry, ...] = ()
    """What must be provable: written once, with the progress it tells of."""


class Settlement(Struct, frozen=True, kw_only=True):
    """The end of an attempt: everything that is written, in one transaction or not at all."""

    task: TaskRecord
    """The task after the move."""
    attempt: TaskAttempt
    """Closed. Its fence must still hold."""
    postponed: bool = False
    """The attempt is not counted: a rate limit, or a runner that went away before it began."""
    findings: tuple[FindingRecord, ...] = ()
    """What verification said."""
    artifacts: tuple[ArtifactRecord, ...] = ()
    """Files the task was asked for."""
    outbox: tuple[OutboxItem, ...] = ()
    """What the outcome asks for."""
    events: tuple[NewEvent, ...] = ()
    """What happened."""
    ledger: tuple[NewEntry, ...] = ()
    """What must be provable."""
    breaker: Breaker | None = None
    """What was learnt of the adapter."""
    approvals: tuple[ApprovalRecord, ...] = ()
    """What needs a person now."""
    landings: tuple[LandingRecord, ...] = ()
    """The verified candidate, held or queued."""


Settled = Literal["settled", "lost", "canceled"]
"""Lost: the fence does not hold any more. Canceled: an operator was quicker. In both cases nothing was written."""


class TaskMove(Struct, frozen=True, kw_only=True):
    """A move of a task that nobody runs: an operator cancels, retries or frees it."""

    task: TaskRecord
    """The task after the move."""
    was: TaskStatus
    """The status it must have now; otherwise nothing is written."""
    events: tuple[NewEvent, ...] = ()
    """What happened."""
    ledger: tuple[NewEntry, ...] = ()
    """What must be provable."""


class CancelOrder(Struct, frozen=True, kw_only=True):
    """An operator wants a running task ended; its runner is told at the next heartbeat."""

    task_id: TaskId | None
    """Which; None for every running task."""
    reason: str
    """Why."""
    actor: str
    """Who."""


class PauseOrder(Struct, frozen=True, kw_only=True):
    """An operator stops or resumes claiming."""

    scope: str
    """`all`, or a runner's id."""
    paused: bool
    """Stop, or go on."""
    reason: str
    """Why."""
    actor: str
    """Who."""


class Pause(Struct, frozen=True, kw_only=True):
    """Where claiming is stopped."""

    scope: str
    """`all`, or a runner's id."""
    reason: str
    """Why."""
    since: datetime
    """Since when."""


class Sweep(Struct, frozen=True, kw_only=True):
    """Who looks for lost leases."""

    runner_id: RunnerId | None
    """Who will settle or resume what is found; its own attempts are left alone, save those in `unknown`."""
    dead: tuple[RunnerId, ...] = ()
    """Runners whose process is known to be gone; they are not waited for."""
    unknown: tuple[AttemptId, ...] = ()
    """Attempts that stand under `runner_id` although it does not know them: a claim whose answer was lost."""


class Delivery(Struct, frozen=True, kw_only=True):
    """One outbox row leaves, or is given up."""

    item: OutboxItem
    """The row after the delivery."""
    task: NewTask | None = None
    """The follow-up task, queued in the same transaction."""
    events: tuple[NewEvent, ...] = ()
    """What happened."""


class LandingMove(Struct, frozen=True, kw_only=True):
    """One landing moves, with everything that follows from it, in one transaction or not at all."""

    landing: LandingRecord
    """The landing after the move."""
    was: LandingStatus
    """The status it must have now; otherwise nothing is written."""
    findings: tuple[FindingRecord, ...] = ()
    """What verification said on the tree that lands; rows of the attempt that made the candidate."""
    approvals: tuple[ApprovalRecord, ...] = ()
    """What needs a person now."""
    resolves: ApprovalStatus | None = None
    """What becomes of the open approval `landing:<id>`, where there is one: None leaves it as it is."""
    said: str = ""
    """What they said who decided."""
    tasks: tuple[NewTask, ...] = ()
    """The task that takes over from a rejected candidate; a known idempotency key writes nothing."""
    outbox: tuple[OutboxItem, ...] = ()
    """Messages about it."""
    events: tuple[NewEvent, ...] = ()
    """What happened."""
    ledger: tuple[NewEntry, ...] = ()
    """What must be provable."""


class LandingQuery(Struct, frozen=True, kw_only=True):
    """Which landings to list."""

    statuses: tuple[LandingStatus, ...] = ()
    """Only these; empty means all."""
    task_id: TaskId | None = None
    """Only of this task."""
    attempt_id: AttemptId | None = None
    """Only of this attempt."""
    begins: str | None = None
    """Only those whose id begins so."""
    unasked: bool = False
    """Only those about which no question to a person is open."""
    oldest: bool = False
    """In the order in which they were made: the order in which they land. Otherwise newest first."""
    before: LandingId | None = None
    """Behind this landing in that order: the next page."""
    limit: int = 50
    """At most so many."""


class TaskQuery(Struct, frozen=True, kw_only=True):
    """Which tasks to list, newest first."""

    statuses: tuple[TaskStatus, ...] = ()
    """Only these; empty means all."""
    task_type: str | None = None
    """Only this type."""
    source: str | None = None
    """Only from this source."""
    profile: ProfileId | None = None
    """Only under this profile."""
    agent: AgentId | None = None
    """Only of this agent."""
    adapter: AdapterId | None = None
    """Only those that ask for this adapter."""
    created_from: datetime | None = None
    """Only those made at this moment or later."""
    created_until: datetime | None = None
    """Only those made before this moment."""
    text: str | None = None
    """Only those whose id, subject, source or type holds this text, in any case; the newest some thousands of those
    that fit otherwise are looked at."""
    before: TaskId | None = None
    """Older than this task: the next page."""
    limit: int = 50
    """At most so many."""


class TaskPage(Struct, frozen=True, kw_only=True):
    """Tasks, newest first, and how to go on."""

    tasks: tuple[TaskRecord, ...]
    """Those that fit."""
    next: TaskId | None = None
    """Where the next page begins, as its `before`; None where there is nothing more."""
    stopped: bool = False
    """The search for a text ended here although older tasks may fit: ask for the next page to go on."""


class AttemptQuery(Struct, frozen=True, kw_only=True):
    """Which attempts to list, newest first."""

    task_id: TaskId | None = None
    """Only of this task."""
    open: bool = False
    """Only those that have not ended."""
    before: AttemptId | None = None
    """Older than this attempt: the next page."""
    limit: int = 50
    """At most so many."""


class EventQuery(Struct, frozen=True, kw_only=True):
    """Which events to list, oldest first."""

    after: int = 0
    """Only later ones."""
    before: int | None = None
    """Only earlier ones."""
    task_id: TaskId | None = None
    """Only of this task."""
    event_type: EventType | None = None
    """Only of this kind."""
    newest: bool = False
    """The newest `limit` instead of the first after `after`; still oldest first."""
    limit: int = 100
    """At most so many."""


class EntryQuery(Struct, frozen=True, kw_only=True):
    """Which ledger rows to list, newest first."""

    before: int | None = None
    """Only those in front of this place: the next page."""
    kind: str | None = None
    """Only of this kind."""
    subject: str | None = None
    """Only about this."""
    source: str | None = None
    """Only what the `engine` told, or only what was told by hand: `manual`."""
    limit: int = 50
    """At most so many."""


class LedgerRow(Struct, frozen=True, kw_only=True):
    """A ledger row as it is stored: bytes, hashes and its place in the chain."""

    seq: int
    """Its place; grows by one, no gaps."""
    content: bytes
    """The stored bytes: canonical JSON of kind, source, actor, subject, body, recorded_at."""
    leaf_hash: str
    """RFC 6962 leaf hash of the content, as stored."""
    chain_hash: str
    """The chain up to here, as stored."""


class UnsealedRows(Struct, frozen=True, kw_only=True):
    """Ledger rows that are written and not sealed, after whoever asks has tried to seal them."""

    rows: int
    """How many."""
    since: datetime | None
    """When the oldest of them was told; None where there is none, or the store seals what it writes at once."""
    strays: int = 0
    """Marks of rows that are sealed, or are gone, before that was tried: nobody but a stranger leaves such a mark."""
    hindered: str | None = None
    """Why who asks could not seal; None where it could."""


class LedgerCheckpoint(Struct, frozen=True, kw_only=True):
    """A signed word on how far the ledger had come."""

    size: int
    """How many rows it had, as stored; the note says it too."""
    note: str
    """A C2SP signed note with a C2SP checkpoint in it, as stored."""


class TreeNode(Struct, frozen=True, kw_only=True):
    """The hash of a perfect subtree of the ledger's tree, kept so that roots and proofs need not read every row."""

    level: int
    """It covers two to this power rows."""
    index: int
    """Its place among those of its level, from 0."""
    hash: bytes
    """As stored."""


class LedgerRestoration(Struct, frozen=True, kw_only=True):
    """Rows of a ledger that were sealed elsewhere, and what is kept of their tree."""

    after: int
    """They go on behind this place."""
    head: str
    """The chain's hash there."""
    rows: Callable[[], Iterator[LedgerRow]]
    """The rows in their order, from the first again each time. What this raises takes everything back."""
    checkpoints: tuple[LedgerCheckpoint, ...] = ()
    """Kept with them; one of a size that is kept already is passed over."""
    nodes: tuple[TreeNode, ...] = ()
    """Likewise."""
