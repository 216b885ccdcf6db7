"""Answers of people to what needs them. Internal: no published schema."""

from datetime import datetime

from msgspec import Struct

from keisei.records.approval import ApprovalRecord, ApprovalStatus
from keisei.records.beside import NOTHING, Beside
from keisei.records.id import ApprovalId, TaskId
from keisei.records.move import TaskMove


class Decision(Struct, frozen=True, kw_only=True):
    """Somebody has decided: the approval and what follows from it, in one transaction."""

    approval: ApprovalRecord
    """Decided. It must still be open; otherwise nothing is written."""
    move: TaskMove | None = None
    """The task that goes on or ends by it. Where it has moved meanwhile nothing is written."""
    beside: Beside = NOTHING
    """Its event, its ledger row."""


class ApprovalQuery(Struct, frozen=True, kw_only=True):
    """Which approvals to list: newest first, unless it says otherwise."""

    statuses: tuple[ApprovalStatus, ...] = ("open",)
    """Only these; empty means all."""
    task_id: TaskId | None = None
    """Only about this task."""
    key: str | None = None
    """Only with this key."""
    begins: str | None = None
    """Only those whose id begins so."""
    overdue_at: datetime | None = None
    """Only open ones whose deadline had passed by then and of which nobody was reminded."""
    undated: bool = False
    """Only open ones without a deadline: whoever raised them knew no policy."""
    urgent: bool = False
    """The nearest deadline first, and those without one behind."""
    oldest: bool = False
    """Longest waiting first."""
    before: ApprovalId | None = None
    """Behind this one, in the order of their making: the next page. Not together with `urgent`."""
    limit: int = 50
    """At most so many."""
