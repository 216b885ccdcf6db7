"""Workflows of the original's database as ours: at the same state, with the task and the files they stand on."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.contracts.check import data_of
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.id import ApprovalId
from keisei.records.intent import EvidenceRequirements, TaskIntent, WorkflowRef
from keisei.records.move import NewEntry, NewEvent
from keisei.records.progression import Awaited, Visit, Workflow, WorkflowStart
from keisei.records.task import TERMINAL, TaskRecord
from keisei.records.workflow import WorkflowDefinition, WorkflowRecord
from keisei.rules.artifact import artifact_path
from keisei.rules.canonical import digest
from keisei.wiring.compat import Runtime
from keisei.wiring.compat_goal import PHASES, goal_intent, is_goal, own_artifact
from keisei.wiring.compat_payload import declared_artifacts
from keisei.wiring.compat_registry import RuntimeRegistry
from keisei.wiring.fresh import new_id
from keisei.wiring.import_task import json_of

WAITS: Final = ("pending", "retryable_failure")
ENDED: Final = ("blocked", "permanent_failure", "operator_canceled")
"""Ends of a task at which the original's goal-loop stands still."""
MADE_BY: Final = {"plan": ("goal-plan", "proposal_artifact"), "execute": ("goal-execute", "implementation_artifact")}
"""Which tasks make what a later phase reads, and which payload key names it."""


class Planned(NamedTuple):
    """A workflow on its way in."""

    start: WorkflowStart
    task: TaskRecord | None
    """Its task, fitted to it; None where it asks for one anew, or stands on none."""
    files: tuple[tuple[Path, Path], ...]
    """Files of earlier phases, and where they stand from now on."""
    notes: tuple[str, ...]


class Known(NamedTuple):
    """What a workflow is planned from."""

    runtime: Runtime
    registry: RuntimeRegistry
    tasks: Mapping[str, TaskRecord]
    """Every task of the database that was taken, by id, in the order of its rows."""
    actor: str
    now: datetime


def workflow_of(row: Mapping[str, Any], known: Known) -> Planned:
    """The workflow of a row. Raises KeiseiError for one that cannot be taken over."""
    if not isinstance(row["id"], int):
        raise OperatorError("its id is no number")
    context = json_of(row, "context_json")
    if context is not None and not isinstance(context, dict):
        raise OperatorError("its context_json is no object")
    definition = _definition(row, known.registry)
    record = _record(row, context, definition, known.now)
    if record.status == "completed":
        workflow = Workflow(record=record, definition=definition, awaits="nothing")
        return Planned(_start(workflow, (), known), None, (), ())
    own = [each for each in known.tasks.values() if each.source == f"workflow:{row['id']}:{record.current_state}"]
    task = own[-1] if own and own[-1].status in (*WAITS, *ENDED) else None
    return _standing(record, definition, task, known)


def _definition(row: Mapping[str, Any], registry: RuntimeRegistry) -> WorkflowDefinition:
    template, state = str(row["template"]), row["current_state"]
    try:
        definition = registry.workflow(template)
    except OperatorError as error:
        names = ", ".join(registry.catalog.names("workflow")) or "none"
        message = f"no workflow is called `{template}` here (known: {names}), so its state `{state}` leads nowhere"
        raise OperatorError(message) from error
    if not any(each.state_id == state for each in definition.states):
        raise OperatorError(f"workflow `{template}` has no state `{state}`")
    return definition


def _record(
    row: Mapping[str, Any], context: dict[str, Any] | None, definition: WorkflowDefinition, now: datetime
) -> WorkflowRecord:
    data = {
        "workflow_id": str(row["id"]),
        "workflow_type": definition.workflow_type,
        "instance_key": row["instance_key"],
        "current_state": row["current_state"],
        "context": context,
        "status": "completed" if row["completed_at"] else "active",
        "created_at": row["created_at"] or now.isoformat(),
        "updated_at": row["updated_at"] or now.isoformat(),
        "completed_at": row["completed_at"] or None,
        "definition_hash": digest(data_of(definition)),
    }
    try:
        return msgspec.convert(data, WorkflowRecord)
    except msgspec.ValidationError as error:
        raise OperatorError(f"it is no workflow: {error}") from error


def _standing(record: WorkflowRecord, definition: WorkflowDefinition, task: TaskRecord | None, known: Known) -> Planned:
    """One that goes on: with its open task, with the one that stopped it, or by asking anew."""
    phase = record.current_state
    earlier = _earlier(record)
    stays = {**dict.fromkeys(earlier, 1), **({} if task is None else {phase: 1})}
    files, notes = _files(record, earlier, known)
    stopped = task is not None and task.status in ENDED
    reason = f"task {task.task_id} of state `{phase}` is {task.status}" if stopped and task is not None else None
    record = replace(record, visits=stays, status="blocked" if stopped else "active", reason=reason)
    awaits: Awaited = "entry" if task is None else "person" if stopped else "task"
    workflow = Workflow(
        record=record,
        definition=definition,
        awaits=awaits,
        task_id=None if task is None else task.task_id,
        asks=0 if task is None else 1,
    )
    visits = [_visit(record, each, None, record.updated_at) for each in earlier]
    if task is not None:
        visits.append(_visit(record, phase, task, None))
    fitted = None if task is None else _fitted(task, record, known)
    return Planned(_start(workflow, visits, known), fitted, files, notes)


def _earlier(record: WorkflowRecord) -> list[str]:
    """Phases of a goal-loop that are behind it."""
    phases = list(PHASES)
    here = record.current_state
    return phases[: phases.index(here)] if record.workflow_type == "goal-loop" and here in PHASES else []


def _visit(record: WorkflowRecord, state: str, task: TaskRecord | None, left_at: datetime | None) -> Visit:
    task_id = None if task is None else task.task_id
    return Visit(
        workflow_id=record.workflow_id,
        state=state,
        visit=1,
        entered_at=record.created_at,
        task_id=task_id,
        left_at=left_at,
    )


def _start(workflow: Workflow, visits: Iterable[Visit], known: Known) -> WorkflowStart:
    record = workflow.record
    body = {"workflow_type": record.workflow_type, "instance_key": record.instance_key, "state": record.current_state}
    told = {"workflow_id": record.workflow_id, **body, "actor": known.actor, "reason": "taken over from a runtime.db"}
    failed = record.status == "blocked" and known.tasks[workflow.task_id or ""].status != "blocked"
    beside = Beside(
        events=(NewEvent(event_type="workflow_created", detail=told),),
        ledger=(NewEntry(kind="workflow_created", actor=known.actor, subject=record.workflow_id, body=body),),
        approvals=(_approval(record, known.now),) if failed else (),
    )
    return WorkflowStart(workflow=workflow, visits=tuple(visits), beside=beside)


def _approval(record: WorkflowRecord, now: datetime) -> ApprovalRecord:
    """A blocked task tells a person by itself; a workflow whose task has failed needs this."""
    return ApprovalRecord(
        approval_id=ApprovalId(new_id()),
        kind="workflow",
        key=f"workflow:{record.workflow_id}",
        reason=f"workflow {record.instance_key} stands still: {record.reason}",
        workflow_id=record.workflow_id,
        detail={"workflow_type": record.workflow_type, "state": record.current_state},
        created_at=now,
        decided_at=None,
    )


def _fitted(task: TaskRecord, record: WorkflowRecord, known: Known) -> TaskRecord:
    """The task as one of ours, which its workflow knows by its reference and its key."""
    key = f"workflow:{record.workflow_id}:{record.current_state}:1:1"
    ref = WorkflowRef(workflow_id=record.workflow_id, state_id=record.current_state, instance_key=record.instance_key)
    if task.status in TERMINAL:
        return replace(task, workflow_ref=ref, idempotency_key=key)
    intent = TaskIntent(
        task_type=task.task_type,
        source=task.source,
        payload={**(record.context or {}), **task.payload},
        workflow_ref=ref,
        idempotency_key=key,
        requested_profile_id=task.requested_profile_id,
    )
    if not is_goal(intent):
        return replace(task, workflow_ref=ref, idempotency_key=key)
    payload = goal_intent(intent, record.visits, known.runtime.artifacts).payload
    payload["accepted_signals"] = list(_signals(record, known.registry))
    needs = EvidenceRequirements(required_artifacts=tuple(declared_artifacts(payload)))
    return replace(task, payload=payload, workflow_ref=ref, idempotency_key=key, evidence_requirements=needs)


def _signals(record: WorkflowRecord, registry: RuntimeRegistry) -> Iterable[str]:
    states = registry.workflow(record.workflow_type).states
    return (each.signal for state in states if state.state_id == record.current_state for each in state.transitions)


def _files(
    record: WorkflowRecord, earlier: list[str], known: Known
) -> tuple[tuple[tuple[Path, Path], ...], tuple[str, ...]]:
    """What earlier phases wrote, to be copied under the name it has from now on; and what is not there."""
    files, notes = [], []
    folder = known.runtime.artifacts / "workflows" / record.workflow_id
    for phase in earlier:
        named = _named(record, phase, known)
        found = None if named is None else _file(known.runtime.artifacts, named)
        if found is None:
            notes.append(f"the artifact of its phase `{phase}` is not on disk: {named or 'no task names one'}")
        else:
            files.append((found, folder / own_artifact(phase, 1)))
    return tuple(files), tuple(notes)


def _named(record: WorkflowRecord, phase: str, known: Known) -> str | None:
    kind, key = MADE_BY[phase]
    source = f"workflow:{record.workflow_id}:{phase}"
    made = [each.payload.get(key) for each in known.tasks.values() if each.source == source and each.task_type == kind]
    kept = (record.context or {}).get("plan_artifact") if phase == "plan" else None
    return next((each for each in (kept, *reversed(made)) if isinstance(each, str) and each.strip()), None)


def _file(artifacts: Path, named: str) -> Path | None:
    """A plain file of the artifact folder; None for anything else, and for what a link leads to outside."""
    try:
        path = artifacts / artifact_path(named, (str(artifacts), str(artifacts.resolve())))
    except Refused:
        return None
    return path if path.is_file() and path.resolve().is_relative_to(artifacts.resolve()) else None


def copy_files(files: Iterable[tuple[Path, Path]], artifacts: Path) -> None:
    """Copy files byte for byte; one that is there stays as it is. Raises OperatorError for a link to outside."""
    for source, target in files:
        if not target.parent.resolve().is_relative_to(artifacts.resolve()):
            raise OperatorError(f"`{target.parent}` leads out of the artifact folder")
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError), target.open("xb") as file:
            file.write(source.read_bytes())
