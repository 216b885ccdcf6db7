"""The overview: what is going on, for whoever looks in. Internal: no published schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.approval import ApprovalRecord
from keisei.records.event import RuntimeEvent
from keisei.records.id import AdapterId, AgentId, AttemptId, LandingId, RunnerId, TaskId
from keisei.records.runner import RunnerRecord
from keisei.records.task import TaskStatus


class RunningAttempt(Struct, frozen=True, kw_only=True):
    """An open attempt, with what tells people which it is."""

    attempt_id: AttemptId
    """The attempt."""
    task_id: TaskId
    """Its task."""
    task_type: str
    """The task's type."""
    subject: str | None
    """The task's line for people."""
    agent: AgentId | None
    """The durable identity it runs under."""
    adapter_id: AdapterId
    """What runs it; `unresolved` until one was chosen."""
    runner_id: RunnerId
    """Who runs it."""
    started_at: datetime
    """When it was claimed."""
    canceled: bool
    """Somebody wants it ended."""


class Mishap(Struct, frozen=True, kw_only=True):
    """Something that went wrong: a task that failed or waits for a person, a candidate that was rejected."""

    kind: Literal["permanent_failure", "blocked", "landing_rejected"]
    """What."""
    task_id: TaskId
    """The task."""
    landing_id: LandingId | None = None
    """The landing that was rejected."""
    subject: str | None
    """The task's line for people."""
    reason: str | None
    """Why, in a sentence; as an agent wrote it, perhaps."""
    at: datetime
    """When."""


class Spend(Struct, frozen=True, kw_only=True):
    """What attempts have used that began since the start of the day."""

    attempts: int
    """How many began."""
    cost_usd: float
    """Money, where it is known."""
    tokens: int
    """Tokens, where they are known."""
    unpriced: int
    """How many have ended and do not say what they cost; those that cost nothing are not among them."""
    uncounted: int
    """How many have ended and do not say how many tokens they used; likewise."""


class Refusals(Struct, frozen=True, kw_only=True):
    """What gates refused in attempts that began since the start of the day and have ended."""

    calls: int
    """How many calls, refused by a rule or because a gate broke."""
    attempts: int
    """In how many attempts."""
    partial: bool
    """Only the newest attempts of the day were looked at."""


class Overview(Struct, frozen=True, kw_only=True):
    """What is going on, in one look. The lists hold at most twenty; the numbers beside them say how many there are."""

    now: datetime
    """When this was so."""
    counts: dict[TaskStatus, int]
    """How many tasks have which status; every status is there."""
    claimable: int
    """How many tasks could be claimed now."""
    delayed: int
    """How many wait for their moment."""
    waiting_since: datetime | None
    """When the oldest task that could be claimed was made."""
    running: tuple[RunningAttempt, ...]
    """Open attempts, longest running first."""
    failed: int
    """How many tasks failed for good since the start of the day."""
    blocked: int
    """How many tasks wait for a person that were blocked since then."""
    rejected: int
    """How many landings were rejected since then."""
    mishaps: tuple[Mishap, ...]
    """Those three together, newest first."""
    spend: Spend
    """What was used since then."""
    refusals: Refusals
    """What gates refused since then."""
    approvals: int
    """How many things need a person."""
    asking: tuple[ApprovalRecord, ...]
    """Of them, longest waiting first; one that cannot be read is left out."""
    held: int
    """How many landings are held."""
    unasked: int
    """How many of them no open question asks about: they need a person too, and are not among `approvals`."""
    landing: int
    """How many landings are queued or on their way."""
    runners: tuple[RunnerRecord, ...]
    """Runners that are active or draining, newest first."""
    events: tuple[RuntimeEvent, ...]
    """What happened last, newest first."""
