"""Workflows: where each stands, by which version of its definition, and where it has been."""

from collections.abc import Iterable
from typing import Any

import msgspec

from keisei.records.beside import Beside
from keisei.records.error import ContractViolation, OperatorError
from keisei.records.id import TaskId, WorkflowId
from keisei.records.progression import Visit, Workflow, WorkflowMove, WorkflowQuery, WorkflowStart
from keisei.records.workflow import WorkflowDefinition, WorkflowRecord
from keisei.rules.canonical import digest
from keisei.store.ask import bounded, known, whole
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.document import document, number, required
from keisei.store.queued import real_id, real_ids
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_name, maybe_text, name
from keisei.store.work import Work, write_beside

KIND = "workflow.record"
STATUSES = ("active", "blocked", "completed")

_DEFINE = """
INSERT INTO definitions (definition_hash, workflow_type, record)
VALUES (:definition_hash, :workflow_type, :definition) ON CONFLICT DO NOTHING
"""
# The definition must stand before the workflow that refers to it, and must not where there is no such workflow.
_IS_KNOWN = """
SELECT 1 FROM workflows WHERE workflow_id = :workflow_id UNION ALL
SELECT 1 FROM workflows WHERE instance_key = :instance_key
"""
_INSERT = """
INSERT INTO workflows (workflow_id, workflow_type, instance_key, status, awaits, task_id, asks, definition_hash,
    version, updated_at, record)
VALUES (:workflow_id, :workflow_type, :instance_key, :status, :awaits, :task_id, :asks, :definition_hash,
    1, :updated_at, :record)
ON CONFLICT DO NOTHING RETURNING 1
"""
# What is completed never changes again.
_MOVE = """
UPDATE workflows SET status = :status, awaits = :awaits, task_id = :task_id, asks = :asks, updated_at = :updated_at,
    record = :record, version = version + 1
WHERE workflow_id = :workflow_id AND version = :was AND awaits <> 'nothing'
    AND workflow_type = :workflow_type AND instance_key = :instance_key
RETURNING definition_hash
"""
_FOLLOW = "UPDATE workflows SET definition_hash = :definition_hash WHERE workflow_id = :workflow_id"
_TASK = "UPDATE workflows SET task_id = :task_id WHERE workflow_id = :workflow_id"
_VISIT = """
INSERT INTO visits (workflow_id, state, visit, task_id, entered_at, left_at, signal, actor)
VALUES (:workflow_id, :state, :visit, :task_id, :entered_at, :left_at, :signal, :actor)
ON CONFLICT (workflow_id, state, visit) DO UPDATE SET task_id = excluded.task_id, entered_at = excluded.entered_at,
    left_at = excluded.left_at, signal = excluded.signal, actor = excluded.actor
"""

# Joined so that no plan begins with anything but the workflows.
_READ = """
SELECT w.workflow_id, w.record, d.record, w.awaits, w.task_id, w.asks, w.version FROM workflows w
LEFT JOIN definitions d ON d.definition_hash = w.definition_hash
"""
_BY_ID = f"{_READ} WHERE w.workflow_id = :workflow_id"
_BY_KEY = f"{_READ} WHERE w.instance_key = :instance_key"
_STIRRED = f"""
{_READ} LEFT JOIN tasks t ON t.task_id = w.task_id
WHERE w.awaits <> 'nothing' AND CASE w.awaits
    WHEN 'entry' THEN TRUE
    WHEN 'task' THEN t.status IS NULL OR t.status IN ('completed', 'permanent_failure', 'operator_canceled', 'blocked')
    WHEN 'person' THEN t.status <> 'blocked'
    ELSE FALSE
END
ORDER BY w.updated_at, w.seq LIMIT :limit
"""
_VISITS = """
SELECT workflow_id, state, visit, task_id, entered_at, left_at, signal, actor FROM visits
WHERE workflow_id = :workflow_id ORDER BY seq
"""

_record = msgspec.json.Decoder(WorkflowRecord).decode
_definition = msgspec.json.Decoder(WorkflowDefinition).decode


def start_workflow(work: Work, start: WorkflowStart) -> bool:
    """A workflow begins, with its first stay and what is written beside it. False: its key or its id is known."""
    values = _values(start.workflow)
    visits = _visit_values(start.workflow, start.visits)
    if work.run(_IS_KNOWN, values):
        return False
    work.run(_DEFINE, values)
    if not work.run(_INSERT, values):
        return False
    _write_rest(work, start.workflow, visits, start.beside)
    return True


def move_workflow(work: Work, move: WorkflowMove) -> bool:
    """A workflow moves, with its stays and what is written beside it. False: another version, or it is completed."""
    values = _values(move.workflow)
    visits = _visit_values(move.workflow, move.visits)
    found = work.run(_MOVE, {**values, "was": whole(move.was)})
    if not found:
        return False
    if found[0][0] != values["definition_hash"]:
        work.run(_DEFINE, values)
        work.run(_FOLLOW, values)
    _write_rest(work, move.workflow, visits, move.beside)
    return True


def read_workflow(reader: Reader, workflow_id: WorkflowId) -> Workflow | None:
    """One workflow. Raises OperatorError where its row cannot be read."""
    return next(map(_workflow, reader.read(_BY_ID, {"workflow_id": known(workflow_id)})), None)


def read_instance(reader: Reader, instance_key: str) -> Workflow | None:
    """One workflow, by its key. Raises OperatorError where its row cannot be read."""
    return next(map(_workflow, reader.read(_BY_KEY, {"instance_key": known(instance_key)})), None)


def read_workflows(reader: Reader, query: WorkflowQuery) -> list[Workflow]:
    """Workflows, newest first. Rows that cannot be read are left out."""
    chosen = [status for status in STATUSES if status in (query.statuses or STATUSES)]
    if not chosen:
        return []
    asked: dict[str, Any] = {"limit": bounded(query.limit)}
    narrow = [f"w.status IN ({', '.join(repr(status) for status in chosen)})"]
    if query.workflow_type is not None:
        narrow.append("w.workflow_type = :workflow_type")
        asked["workflow_type"] = known(query.workflow_type)
    if query.before is not None:
        narrow.append("w.seq < (SELECT b.seq FROM workflows b WHERE b.workflow_id = :before)")
        asked["before"] = known(query.before)
    # Those that go on are few and have an index; the plus keeps the planner from walking through all the others.
    order = "w.seq" if "completed" in chosen else "+w.seq"
    if order == "+w.seq":
        narrow.append("w.awaits <> 'nothing'")
    sql = f"{_READ} WHERE {' AND '.join(narrow)} ORDER BY {order} DESC LIMIT :limit"
    return list(_readable(reader.read(sql, asked)))


def read_stirred(reader: Reader, limit: int) -> list[Workflow]:
    """Workflows that something has happened to, longest unmoved first. Rows that cannot be read are left out."""
    return list(_readable(reader.read(_STIRRED, {"limit": bounded(limit)})))


def read_visits(reader: Reader, workflow_id: WorkflowId) -> list[Visit]:
    """The stays of a workflow, in order."""
    return list(map(_visit, reader.read(_VISITS, {"workflow_id": known(workflow_id)})))


def _write_rest(work: Work, workflow: Workflow, visits: Iterable[dict[str, Any]], beside: Beside) -> None:
    """Everything that follows the row; a task whose key was known is the earlier one wherever it is named."""
    real = real_ids(beside.tasks, write_beside(work, beside))
    for values in visits:
        work.run(_VISIT, values | {"task_id": real_id(values["task_id"], real)})
    task_id = real_id(workflow.task_id, real)
    if task_id != workflow.task_id:
        work.run(_TASK, {"task_id": task_id, "workflow_id": workflow.record.workflow_id})


def _values(workflow: Workflow) -> dict[str, Any]:
    record = workflow.record
    written = document(KIND, record, _record)
    return {
        "workflow_id": name(record.workflow_id),
        "workflow_type": name(record.workflow_type),
        "instance_key": name(record.instance_key),
        "status": record.status,
        "awaits": workflow.awaits,
        "task_id": maybe_name(workflow.task_id),
        "asks": number(KIND, workflow.asks),
        "definition_hash": record.definition_hash,
        "updated_at": microseconds(record.updated_at),
        "record": written,
        "definition": _defined(workflow),
    }


def _defined(workflow: Workflow) -> str:
    """The definition as it is stored, under the hash that the record names."""
    written = document("workflow.definition", workflow.definition, _definition)
    if workflow.record.definition_hash != digest(msgspec.json.decode(written)):
        complaint = "definition_hash is not the sha256 of the canonical JSON of its definition"
        raise ContractViolation(KIND, [complaint])
    return written


def _visit_values(workflow: Workflow, visits: Iterable[Visit]) -> list[dict[str, Any]]:
    if any(visit.workflow_id != workflow.record.workflow_id for visit in visits):
        raise ContractViolation("visit", ["it is the stay of another workflow"])
    return [
        {
            "workflow_id": visit.workflow_id,
            "state": name(visit.state),
            "visit": number("visit", visit.visit),
            "task_id": maybe_name(visit.task_id),
            "entered_at": microseconds(visit.entered_at),
            "left_at": maybe_microseconds(visit.left_at),
            "signal": maybe_text(visit.signal),
            "actor": maybe_text(visit.actor),
        }
        for visit in visits
    ]


def _readable(rows: Iterable[Row]) -> Iterable[Workflow]:
    """One row that cannot be read harms only itself."""
    for row in rows:
        try:
            yield _workflow(row)
        except OperatorError:
            continue


def _workflow(row: Row) -> Workflow:
    return Workflow(
        record=required(f"workflow {row[0]}", row[1], _record),
        definition=required(f"definition of workflow {row[0]}", row[2], _definition),
        awaits=row[3],
        task_id=None if row[4] is None else TaskId(row[4]),
        asks=row[5],
        version=row[6],
    )


def _visit(row: Row) -> Visit:
    return Visit(
        workflow_id=WorkflowId(row[0]),
        state=row[1],
        visit=row[2],
        task_id=None if row[3] is None else TaskId(row[3]),
        entered_at=moment(row[4]),
        left_at=maybe_moment(row[5]),
        signal=row[6],
        actor=row[7],
    )
