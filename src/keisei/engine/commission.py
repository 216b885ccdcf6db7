"""Commission: the task that a workflow's state asks for, with everything earlier states have left for it."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from keisei.engine.intake import Origin, Registry, accept
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.error import OperatorError
from keisei.records.id import TaskId
from keisei.records.intent import TaskIntent, WorkflowRef
from keisei.records.move import NewTask, TaskQuery
from keisei.records.progression import Visit, Workflow
from keisei.records.task import TaskRecord
from keisei.records.workflow import WorkflowState
from keisei.rules.progression import current_state, emits, signals_of, source_of

PLAN: Final = "plan"
"""The state whose words later states are given as the plan."""
PASSED_ON: Final = ("plan", "execute-report", "verify-report", "output", "snapshot")
"""Roles of artifacts that states leave for each other; an audit is nobody's input."""
MOST_ARTIFACTS: Final = 200
"""Artifacts that a payload names, the newest ones."""
MOST_TASKS: Final = 1000


class Stayed(NamedTuple):
    """A stay that is over, with its completed task."""

    visit: Visit
    task: TaskRecord


def commission(office: Office, workflow: Workflow, visits: Sequence[Visit]) -> NewTask:
    """The task of its state, in this stay.

    Raises KeiseiError for one that could not run: its type is gone, or what the workflow knows does not fit it.
    """
    state = current_state(workflow)
    if state is None or state.task_type is None or not emits(state):
        raise OperatorError(f"state `{workflow.record.current_state}` asks for no task")
    registry, record = office.registry(), workflow.record
    intent = TaskIntent(
        task_type=state.task_type,
        source=source_of(record.workflow_id, state.state_id),
        subject=f"{record.instance_key}: {state.state_id}",
        requested_profile_id=state.default_profile_id,
        skill_ids=state.default_skill_ids,
        workflow_ref=WorkflowRef(
            workflow_id=record.workflow_id, state_id=state.state_id, instance_key=record.instance_key
        ),
        payload=_payload(office.store, registry, workflow, state, visits),
        idempotency_key=f"{_prefix(workflow)}{workflow.asks + 1}",
    )
    now, task_id = office.store.now(), TaskId(office.new_id())
    return accept(intent, registry, office.defaults, origin=Origin(), task_id=task_id, now=now)


def asks_before(store: Store, workflow: Workflow) -> int:
    """How many tasks its stay has asked for, by their keys: the number of the next one is free."""
    prefix = _prefix(workflow)
    source = source_of(workflow.record.workflow_id, workflow.record.current_state)
    keys = (each.idempotency_key or "" for each in store.tasks(TaskQuery(source=source, limit=MOST_TASKS)))
    used = [key.removeprefix(prefix) for key in keys if key.startswith(prefix)]
    return max((int(each) for each in used if each.isdecimal()), default=workflow.asks)


def _prefix(workflow: Workflow) -> str:
    return f"{source_of(workflow.record.workflow_id, workflow.record.current_state)}:{workflow.visit}:"


def _payload(
    store: Store, registry: Registry, workflow: Workflow, state: WorkflowState, visits: Sequence[Visit]
) -> dict[str, Any]:
    """What the workflow knows, and above it what only the engine can say; keys its type does not know are left out."""
    known = {**(workflow.record.context or {}), **_told(store, workflow, state, visits)}
    keys = registry.payload_keys(registry.task_type(state.task_type or ""))
    return {key: value for key, value in known.items() if keys is None or key in keys}


def _told(store: Store, workflow: Workflow, state: WorkflowState, visits: Sequence[Visit]) -> dict[str, Any]:
    record, over = workflow.record, _over(store, visits)
    context = record.context or {}
    told: dict[str, Any] = {
        "workflow_id": record.workflow_id,
        "workflow_template": record.workflow_type,
        "workflow_state": state.state_id,
        "instance_key": record.instance_key,
        "phase": state.state_id,
        "objective": context.get("objective") or context.get("summary"),
        "iteration": workflow.visit,
        "accepted_signals": list(signals_of(state)) or None,
        "plan": next((_summary(each.task) for each in reversed(over) if each.visit.state == PLAN), None),
        "artifacts": _artifacts(store, over) or None,
        "file_changes": _file_changes(over[-1].task) if over else None,
    }
    feedback = _feedback(over, visits) if workflow.visit > 1 else None
    if feedback != told["plan"]:  # what led here was the plan, and that is told already
        told["feedback"] = feedback
    return {key: value for key, value in told.items() if value is not None}


def _over(store: Store, visits: Sequence[Visit]) -> list[Stayed]:
    """Stays that are over and whose task was completed, in the order in which they ended."""
    tasks = [(each, store.task(each.task_id)) for each in _ended(visits) if each.task_id is not None]
    return [Stayed(visit, task) for visit, task in tasks if task is not None and task.status == "completed"]


def _ended(visits: Sequence[Visit]) -> list[Visit]:
    left = [(each.left_at, number, each) for number, each in enumerate(visits) if each.left_at is not None]
    return [each for _, _, each in sorted(left, key=lambda item: item[:2])]


def _feedback(over: Sequence[Stayed], visits: Sequence[Visit]) -> str | None:
    """The words of the task whose signal led here; none where a person's did."""
    ended = _ended(visits)
    led = next((each for each in over if ended and each.visit == ended[-1]), None)
    by_task = led is not None and led.visit.actor == f"task:{led.task.task_id}"
    return _summary(led.task) if led is not None and by_task else None


def _summary(task: TaskRecord) -> str | None:
    return (task.outcome.operator_summary.strip() or None) if task.outcome is not None else None


def _file_changes(task: TaskRecord) -> list[str]:
    claimed = task.outcome.file_changes if task.outcome is not None else ()
    return [each for each in dict.fromkeys(claimed) if each]


def _artifacts(store: Store, over: Sequence[Stayed]) -> list[dict[str, Any]]:
    """Verified artifacts of earlier stays, newest last; a file that was written again counts once, as the newest."""
    found: dict[str, dict[str, Any]] = {}
    for stayed in over:
        for each in store.artifacts(stayed.task.task_id):
            if each.verified_at is not None and each.role in PASSED_ON:
                found.pop(each.relative_path, None)
                told = {"role": each.role, "path": each.relative_path, "iteration": stayed.visit.visit}
                found[each.relative_path] = told
    return list(found.values())[-MOST_ARTIFACTS:]
