"""Move: the course of a workflow becomes the one value that is written."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from keisei.engine.commission import commission
from keisei.engine.office import Office
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.id import ApprovalId
from keisei.records.move import NewEntry, NewEvent, NewTask
from keisei.records.problem import printable
from keisei.records.progression import Visit, Workflow, WorkflowMove
from keisei.rules import progression as moves
from keisei.rules.progression import Course


class By(NamedTuple):
    """Who moves a workflow, and why where they say so."""

    actor: str
    reason: str = ""


def stay_of(workflow: Workflow, visits: Sequence[Visit]) -> Visit | None:
    """The newest stay in the state it stands in."""
    here = (workflow.record.current_state, workflow.visit)
    return next((each for each in visits if (each.state, each.visit) == here), None)


def commissioned(
    office: Office, course: Course, visits: Sequence[Visit], now: datetime
) -> tuple[Course, tuple[NewTask, ...]]:
    """The course with the task its state wants, where it wants one."""
    if not course.asks:
        return course, ()
    task = commission(office, course.workflow, _after(visits, course.visits))
    return moves.asked(course, task.task.task_id, now), (task,)


def _after(visits: Sequence[Visit], changed: Sequence[Visit]) -> list[Visit]:
    known = {(each.state, each.visit): each for each in visits}
    return list((known | {(each.state, each.visit): each for each in changed}).values())


def move_of(office: Office, before: Workflow, course: Course, tasks: tuple[NewTask, ...], by: By) -> WorkflowMove:
    """The move that leads there from where it stood."""
    beside = beside_of(office, course, tasks, by)
    return WorkflowMove(workflow=course.workflow, was=before.version, visits=course.visits, beside=beside)


def beside_of(office: Office, course: Course, tasks: tuple[NewTask, ...], by: By) -> Beside:
    """What a move is told by: events; a ledger row for each but those that the queue writes; who has to know."""
    said = {"reason": by.reason} if by.reason else {}
    events = tuple(replace(each, detail={**said, **each.detail}) for each in course.happened)
    entries = (_entry(each, by.actor) for each in events if each.event_type != "workflow_task_created")
    approvals = (_approval(office, course),) if course.person else ()
    return Beside(tasks=tasks, events=events, ledger=tuple(entries), approvals=approvals)


def _entry(event: NewEvent, actor: str) -> NewEntry:
    body = {key: value for key, value in event.detail.items() if key != "workflow_id"}
    if event.task_id is not None:
        body["task_id"] = event.task_id
    return NewEntry(kind=event.event_type, actor=actor, subject=event.detail["workflow_id"], body=body)


def _approval(office: Office, course: Course) -> ApprovalRecord:
    record = course.workflow.record
    return ApprovalRecord(
        approval_id=ApprovalId(office.new_id()),
        kind="workflow",
        key=f"workflow:{record.workflow_id}",
        reason=f"workflow {printable(record.instance_key)} stands still: {record.reason}",
        task_id=course.stay.task_id if course.stay is not None else None,
        workflow_id=record.workflow_id,
        detail={"workflow_type": record.workflow_type, "state": record.current_state},
        created_at=office.store.now(),
        decided_at=None,
    )
