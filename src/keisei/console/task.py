"""One task: where it stands and why, what came of it, everything that belongs to it, and the orders about it."""

from collections.abc import Iterable
from typing import Annotated, Final
from urllib.parse import quote

from msgspec import Meta, Struct

from keisei.console import task_artifact
from keisei.console.asking import Key, Reason
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.task_list import show_tasks
from keisei.console.task_new import new_task, queue_instruction, queue_task, task_form
from keisei.console.task_why import TaskWhy, why
from keisei.console.visitor import Visitor
from keisei.engine import control
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import TaskAttempt
from keisei.records.budget import Tally
from keisei.records.error import Refused
from keisei.records.event import RuntimeEvent
from keisei.records.finding import FindingRecord, FindingStatus
from keisei.records.id import TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import AttemptQuery, EventQuery, LandingQuery
from keisei.records.project import ProjectApprovals
from keisei.records.task import TERMINAL, TaskRecord
from keisei.rules.approval import dated, effects
from keisei.wiring.fresh import new_id

Tries = Annotated[int, Meta(ge=1, le=1000)]
"""How often a task may be tried."""
MOST: Final = 50
"""Rows of each kind that stand on the page of a task; events and attempts are the newest of them."""


class TaskAsk(Struct, frozen=True, kw_only=True):
    """Which task."""

    task_id: Key
    """Its id."""


class TaskTry(Struct, frozen=True, kw_only=True):
    """One attempt and what verification said of it."""

    attempt: TaskAttempt
    """The run."""
    findings: dict[FindingStatus, int]
    """How many predicates gave which answer; only answers that were given."""
    faults: tuple[FindingRecord, ...]
    """Those that did not hold."""


class TaskQuestion(Struct, frozen=True, kw_only=True):
    """What a person was asked about the task."""

    approval: ApprovalRecord
    """The question."""
    effects: dict[str, str]
    """What each decision does; nothing where it is decided."""


class TaskPage(Struct, frozen=True, kw_only=True):
    """One task with everything that belongs to it."""

    task: TaskRecord
    """The task."""
    why: TaskWhy
    """Where it stands, in sentences, and what moves it on."""
    attempts: tuple[TaskTry, ...]
    """Newest first."""
    children: tuple[TaskRecord, ...]
    """Tasks it asked for, oldest first."""
    artifacts: tuple[ArtifactRecord, ...]
    """Files it was asked for."""
    approvals: tuple[TaskQuestion, ...]
    """What people were asked, newest first."""
    landings: tuple[LandingRecord, ...]
    """Its candidates on their way to main, newest first."""
    events: tuple[RuntimeEvent, ...]
    """What happened to it, newest first."""
    spent: Tally
    """What all its attempts have cost."""


class CancelAsk(Struct, frozen=True, kw_only=True):
    """End a task."""

    task_id: Key
    """Which."""
    reason: Reason = ""
    """Why; stands in the ledger."""


class TryAsk(Struct, frozen=True, kw_only=True):
    """Try a task again."""

    task_id: Key
    """Which."""
    attempts: Tries = 1
    """How many tries it has at least."""
    reason: Reason = ""
    """Why; stands in the ledger."""


def show_task(premises: Premises, asks: TaskAsk) -> TaskPage:
    """One task: where it stands and why, and everything that belongs to it."""
    store, task = premises.store, known_task(premises, asks.task_id)
    policy = premises.home.file.approvals or ProjectApprovals()
    asked = store.approvals(ApprovalQuery(statuses=(), task_id=task.task_id, limit=MOST))
    questions = [dated(each, policy) for each in asked]
    landings = store.landings(LandingQuery(task_id=task.task_id, limit=MOST))
    return TaskPage(
        task=task,
        why=why(store, task, [each for each in questions if each.status == "open"], landings),
        attempts=tuple(_tries(premises, store.find_attempts(AttemptQuery(task_id=task.task_id, limit=MOST)))),
        children=tuple(store.children(task.task_id, MOST)),
        artifacts=tuple(store.artifacts(task.task_id)),
        approvals=tuple(TaskQuestion(approval=each, effects=effects(each)) for each in questions),
        landings=tuple(landings),
        events=tuple(store.events(EventQuery(task_id=task.task_id, newest=True, limit=MOST))[::-1]),
        spent=store.spent_by(task.task_id),
    )


def known_task(premises: Premises, task_id: str) -> TaskRecord:
    """The task. Raises Missing for an id that nobody has."""
    found = premises.store.task(TaskId(task_id))
    if found is None:
        raise Missing(f"no task has the id `{task_id}`", "the list of tasks shows all")
    return found


def _tries(premises: Premises, attempts: Iterable[TaskAttempt]) -> Iterable[TaskTry]:
    for attempt in attempts:
        findings = premises.store.findings(attempt.attempt_id)
        counts: dict[FindingStatus, int] = {}
        for each in findings:
            counts[each.status] = counts.get(each.status, 0) + 1
        faults = tuple(each for each in findings if each.status not in ("held", "not-applicable", "skipped"))
        yield TaskTry(attempt=attempt, findings=counts, faults=faults)


def cancel(premises: Premises, asks: CancelAsk, visitor: Visitor) -> TaskRecord:
    """End a task: at once where nobody runs it, else as soon as its runner hears of it."""
    task = known_task(premises, asks.task_id)
    return control.cancel(premises.store, task.task_id, asks.reason or "canceled by an operator", visitor.actor)


def unblock(premises: Premises, asks: TryAsk, visitor: Visitor) -> TaskRecord:
    """Make a blocked task claimable again."""
    task = known_task(premises, asks.task_id)
    if task.status != "blocked":
        raise Refused(f"task {task.task_id} is {task.status}, not blocked", "`retry` tries others again")
    return _freed(premises, task, asks, visitor)


def retry(premises: Premises, asks: TryAsk, visitor: Visitor) -> TaskRecord:
    """Try a task again now: one that waits or is blocked as it is, one that is over as a new task."""
    task = known_task(premises, asks.task_id)
    if task.status in TERMINAL:
        reason = asks.reason or "tried again by an operator"
        return control.again(premises.store, task, TaskId(new_id()), reason, visitor.actor)
    if task.status in ("pending", "running"):
        raise Refused(f"task {task.task_id} is {task.status}: it is tried anyway", "its page follows it")
    return _freed(premises, task, asks, visitor)


def _freed(premises: Premises, task: TaskRecord, asks: TryAsk, visitor: Visitor) -> TaskRecord:
    reason = asks.reason or "freed by an operator"
    return control.free(premises.store, task.task_id, reason, visitor.actor, asks.attempts)


def _page_of(task_id: str) -> str:
    return f"/tasks/{quote(task_id, safe='')}"


PAGES: Final[tuple[Page, ...]] = (
    page("/tasks", "tasks.html", show_tasks),
    page("/tasks/new", "task_new.html", new_task),
    page("/tasks/{task_id}", "task.html", show_task),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/tasks", queue_task, lambda queued: _page_of(queued.task_id), status=201, form=task_form),
    order("/tasks/run", queue_instruction, lambda queued: _page_of(queued.task_id), status=201),
    order("/tasks/{task_id}/cancel", cancel, lambda task: _page_of(task.task_id)),
    order("/tasks/{task_id}/retry", retry, lambda task: _page_of(task.task_id)),
    order("/tasks/{task_id}/unblock", unblock, lambda task: _page_of(task.task_id)),
)
ROUTES: Final = task_artifact.ROUTES
EXTRA_PATHS: Final = task_artifact.EXTRA_PATHS
