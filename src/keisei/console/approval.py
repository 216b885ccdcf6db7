"""Needs you: what waits for a person, the most urgent first, and what was decided."""

from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct

from keisei.console.asking import Cursor, Key, Limit, Reason
from keisei.console.cursor import lost
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine import approval as decisions
from keisei.engine.budget import policy_of
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalKind, ApprovalRecord, ApprovalStatus
from keisei.records.id import ApprovalId, LandingId
from keisei.records.landing import LandingStatus
from keisei.records.move import LandingQuery
from keisei.records.project import ProjectApprovals
from keisei.records.task import TaskStatus
from keisei.rules.approval import ANSWER, dated, effects

DECIDED: Final[tuple[ApprovalStatus, ...]] = ("approved", "rejected", "answered", "resolved", "expired")
MOST: Final = 200
"""Open ones that are shown."""
Answer = Annotated[str, Meta(min_length=1, max_length=ANSWER)]


class Asked(NamedTuple):
    """What an approval of a kind is, for people."""

    title: str
    asker: str


ASKED: Final[dict[ApprovalKind, Asked]] = {
    "task": Asked("A task cannot go on by itself", "the runtime, for a task"),
    "question": Asked("An agent asks a question", "the agent of a task"),
    "budget": Asked("No budget covers this work", "the budget"),
    "loop": Asked("Work goes round in circles", "the loop guard"),
    "adapter": Asked("An adapter is left alone", "the adapter's breaker"),
    "schedule": Asked("A schedule was switched off", "the scheduler"),
    "sensor": Asked("A sensor was switched off", "the sensor's breaker"),
    "message": Asked("A message could not be delivered", "the outbox"),
    "landing": Asked("A verified candidate waits to land", "the landing queue"),
    "workflow": Asked("A workflow stands still", "a workflow"),
}
"""What is asked, and who asks."""


class ApprovalsAsk(Struct, frozen=True, kw_only=True):
    """Which part of what was decided."""

    after: Cursor | None = None
    """Go on behind this one."""
    limit: Limit = 50
    """At most so many that are decided."""


class ApprovalLine(Struct, frozen=True, kw_only=True):
    """An approval with what people want to know of it."""

    approval: ApprovalRecord
    """What waits; an open one with the deadline that holds for it."""
    title: str
    """What is asked, in words."""
    asker: str
    """Who asks."""
    subject: str | None
    """Its task's line for people."""
    effects: dict[str, str]
    """What each decision does, by its verb; empty where it is decided."""
    overdue: bool
    """Somebody should have looked by now."""


class ApprovalsPage(Struct, frozen=True, kw_only=True):
    """What needs you."""

    open: tuple[ApprovalLine, ...]
    """What waits, the nearest deadline first; at most 200."""
    items: tuple[ApprovalLine, ...]
    """What was decided, newest first."""
    next: str | None
    """Where older ones begin."""
    rejects: bool
    """Whether what nobody decides in time is rejected, instead of told again."""
    unasked: int
    """How many held landings wait although no question about them is open; counted up to 200."""
    unreadable: tuple[str, ...]
    """Rows that cannot be read, and are left out."""


class ApprovalAsk(Struct, frozen=True, kw_only=True):
    """Which approval."""

    approval_id: Key
    """Its id."""


class ApprovalPage(Struct, frozen=True, kw_only=True):
    """One thing that needs a person, or needed one."""

    line: ApprovalLine
    """The approval."""
    rejects: bool
    """Whether it is rejected when nobody decides in time, instead of told again."""
    task_status: TaskStatus | None
    """How its task stands now."""
    landing_status: LandingStatus | None
    """How its landing stands now."""
    workflow_status: str | None
    """How its workflow stands now."""


class ApprovalOrder(Struct, frozen=True, kw_only=True):
    """A decision."""

    approval_id: Key
    """About what."""
    reason: Reason = ""
    """Why."""


class ApprovalAnswer(Struct, frozen=True, kw_only=True):
    """An answer to an agent."""

    approval_id: Key
    """To what."""
    text: Answer
    """What the next attempt reads."""


class ApprovalDone(Struct, frozen=True, kw_only=True):
    """What became of it."""

    approval: ApprovalRecord
    """As it is now."""


def show_open(premises: Premises, asks: ApprovalsAsk) -> ApprovalsPage:
    """What needs you, the nearest deadline first, and what was decided."""
    store = premises.store
    after = None if asks.after is None else ApprovalId(asks.after)
    over = store.approvals(ApprovalQuery(statuses=DECIDED, before=after, limit=asks.limit + 1))
    if after is not None and not over and store.approval(after) is None:
        raise lost()
    shown = over[: asks.limit]
    waiting = [_line(premises, each) for each in store.approvals(ApprovalQuery(urgent=True, limit=MOST))]
    return ApprovalsPage(
        open=tuple(sorted(waiting, key=lambda each: each.approval.deadline or each.approval.created_at)),
        items=tuple(_line(premises, each) for each in shown),
        next=shown[-1].approval_id if len(over) > len(shown) else None,
        rejects=_policy(premises).on_deadline == "reject",
        unasked=len(store.landings(LandingQuery(statuses=("held",), unasked=True, limit=MOST))),
        unreadable=tuple(each for each in store.unreadable() if each.startswith("approval ")),
    )


def show_approval(premises: Premises, asks: ApprovalAsk) -> ApprovalPage:
    """One thing that needs a person: why, what was asked, what each decision does, and what became of it."""
    store, found = premises.store, _known(premises, asks.approval_id)
    task = None if found.task_id is None else store.task(found.task_id)
    named = found.detail.get("landing_id")
    landing = store.landing(LandingId(named)) if isinstance(named, str) else None
    workflow = None if found.workflow_id is None else store.workflow(found.workflow_id)
    return ApprovalPage(
        line=_line(premises, found),
        rejects=_policy(premises).on_deadline == "reject",
        task_status=None if task is None else task.status,
        landing_status=None if landing is None else landing.status,
        workflow_status=None if workflow is None else workflow.record.status,
    )


def approve(premises: Premises, asks: ApprovalOrder, visitor: Visitor) -> ApprovalDone:
    """Let it go on; its `effects` say what that means."""
    found = _known(premises, asks.approval_id)
    limits = policy_of(premises.home.file.budget)
    done = decisions.approve(premises.office(), found.approval_id, asks.reason, visitor.actor, limits)
    return ApprovalDone(approval=done)


def reject(premises: Premises, asks: ApprovalOrder, visitor: Visitor) -> ApprovalDone:
    """Do not let it go on: a task is cancelled, anything else stays as it is."""
    found = _known(premises, asks.approval_id)
    return ApprovalDone(approval=decisions.reject(premises.store, found.approval_id, asks.reason, visitor.actor))


def answer(premises: Premises, asks: ApprovalAnswer, visitor: Visitor) -> ApprovalDone:
    """Answer the agent: its task goes on, and the next attempt reads the text."""
    found = _known(premises, asks.approval_id)
    return ApprovalDone(approval=decisions.answer(premises.store, found.approval_id, asks.text, visitor.actor))


def _known(premises: Premises, approval_id: str) -> ApprovalRecord:
    found = premises.store.approval(ApprovalId(approval_id))
    if found is None:
        raise Missing(f"nothing that needs a person has the id `{approval_id}`", "/approvals shows all")
    return found


def _line(premises: Premises, approval: ApprovalRecord) -> ApprovalLine:
    known = dated(approval, _policy(premises))
    task = None if known.task_id is None else premises.store.task(known.task_id)
    title, asker = ASKED[known.kind]
    late = known.status == "open" and known.deadline is not None and known.deadline <= premises.now()
    subject = None if task is None else task.subject
    return ApprovalLine(approval=known, title=title, asker=asker, subject=subject, effects=effects(known), overdue=late)


def _policy(premises: Premises) -> ProjectApprovals:
    return premises.home.file.approvals or ProjectApprovals()


def _after(done: ApprovalDone) -> str:
    return f"/approvals/{done.approval.approval_id}"


PAGES: Final[tuple[Page, ...]] = (
    page("/approvals", "approvals.html", show_open),
    page("/approvals/{approval_id}", "approval.html", show_approval),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/approvals/{approval_id}/approve", approve, _after),
    order("/approvals/{approval_id}/reject", reject, _after),
    order("/approvals/{approval_id}/answer", answer, _after),
)
