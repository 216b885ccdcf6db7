"""Approvals: what needs a person, and what was decided. Written with a move, or closed by one; never removed."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import replace

from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.error import ContractViolation, IllegalMove
from keisei.records.id import ApprovalId, TaskId
from keisei.rules.approval import OF_TASK
from keisei.store.ask import bounded, known
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.document import document, opened, required
from keisei.store.reader import Reader
from keisei.store.row import LONGEST_NAME, Row, maybe_name, text

if TYPE_CHECKING:
    from keisei.store.work import Work

Run: TypeAlias = Callable[[str, Mapping[str, Any]], list[Row]]
"""One statement of a transaction that is under way, and its rows."""

COLUMNS = {
    "approval_id": "text",
    "key": "text",
    "status": "text",
    "task_id": "text",
    "deadline": "bigint",
    "reminded_at": "bigint",
    "record": "text",
}
"""What is written of an approval, and PostgreSQL's types for it."""
LONGEST_KEY = 2 * LONGEST_NAME
"""Bytes of an id or a key: PostgreSQL's indexes hold no more than 2,700."""

_names = ", ".join(COLUMNS)
_values = ", ".join(f":{column}" for column in COLUMNS)
_lists = ", ".join(f":a_{column}::{kind}[]" for column, kind in COLUMNS.items())
_INSERT = f"INSERT INTO approvals ({_names}) VALUES ({_values}) ON CONFLICT DO NOTHING RETURNING 1"  # noqa: S608
RAISED = f"""raised AS (
    INSERT INTO approvals ({_names})
    SELECT {_names} FROM done, unnest({_lists}) WITH ORDINALITY AS a ({_names}, n) ORDER BY n ON CONFLICT DO NOTHING
)"""  # noqa: S608 - constants
"""The step of PostgreSQL that writes approvals."""
# IS TRUE keeps a plan from reading all open rows to find one.
WAITING = "SELECT 1 FROM approvals WHERE task_id = :task_id AND (status = 'open') IS TRUE"
"""Whether a person was asked about a task."""
_CLOSE = """
UPDATE approvals SET status = :status, record = :record
WHERE approval_id = :approval_id AND key = :key AND (status = 'open') IS TRUE RETURNING reminded_at
"""
_RECORD = "UPDATE approvals SET record = :record WHERE approval_id = :approval_id"
_OPEN = "SELECT record FROM approvals WHERE task_id = :task_id AND (status = 'open') IS TRUE ORDER BY seq"
_WAITING = "SELECT approval_id, record FROM approvals WHERE status = 'open' ORDER BY seq DESC LIMIT :limit"
_ONE = "SELECT record FROM approvals WHERE approval_id = :approval_id"
_UNDER = "SELECT record FROM approvals WHERE key = :key AND status = 'open'"

_decode = msgspec.json.Decoder(ApprovalRecord).decode


def write_approvals(work: "Work", approvals: Sequence[ApprovalRecord]) -> int:
    """Write them; one whose id is known, or whose key is open, writes nothing. How many were new."""
    return raise_approvals(work.run, approvals)


def raise_approvals(run: Run, approvals: Sequence[ApprovalRecord]) -> int:
    """As `write_approvals`, for moves that have no more than their statements."""
    return sum(bool(run(_INSERT, dict(zip(COLUMNS, approval_row(one), strict=True)))) for one in approvals)


def raised_params(approvals: Sequence[ApprovalRecord]) -> dict[str, Any]:
    """What `RAISED` writes."""
    rows = [approval_row(one) for one in approvals]
    return {f"a_{column}": [row[index] for row in rows] for index, column in enumerate(COLUMNS)}


def approval_row(approval: ApprovalRecord) -> Row:
    """What is written, in the order of `COLUMNS`. Raises ContractViolation for what could not be read again."""
    return (
        _key(approval.approval_id),
        _key(approval.key),
        approval.status,
        maybe_name(approval.task_id),
        maybe_microseconds(approval.deadline),
        maybe_microseconds(approval.reminded_at),
        _written(approval),
    )


def close(run: Run, approval: ApprovalRecord) -> bool:
    """Write what was decided. False: it is not open any more. Raises IllegalMove for a decision that is none."""
    if approval.status == "open":
        raise IllegalMove(f"approval {approval.approval_id} is not decided", "give it another status than open")
    row = dict(zip(COLUMNS, approval_row(approval), strict=True))
    for (reminded_at,) in run(_CLOSE, row):
        if reminded_at != row["reminded_at"]:  # somebody was told again after the decision was made up
            seen = replace(approval, reminded_at=maybe_moment(reminded_at))
            run(_RECORD, {"approval_id": approval.approval_id, "record": _written(seen)})
        return True
    return False


def resolve(run: Run, task_id: TaskId, actor: str, now_us: int) -> None:
    """Nobody has to decide any more what becomes of a task: an order, or the task itself, has said it."""
    for (record,) in run(_OPEN, {"task_id": task_id}):
        waiting, _ = opened(record, _decode)
        if waiting is not None and waiting.kind in OF_TASK:
            close(run, replace(waiting, status="resolved", decided_at=moment(now_us), decided_by=actor))


def open_under(run: Run, key: str) -> ApprovalRecord | None:
    """What is open under a key. None where nothing is, or nothing that can be read."""
    return next((opened(record, _decode)[0] for (record,) in run(_UNDER, {"key": key})), None)


def rewrite(run: Run, approval_id: ApprovalId, record: str, **changes: datetime) -> None:
    """Put what a column has learnt into the record too. Raises OperatorError for one that cannot be read."""
    after = replace(required(f"approval {approval_id}", record, _decode), **changes)
    run(_RECORD, {"approval_id": approval_id, "record": _written(after)})


def read_approval(reader: Reader, approval_id: ApprovalId) -> ApprovalRecord | None:
    """One of them. Raises OperatorError for a row that cannot be read."""
    found = reader.read(_ONE, {"approval_id": text(approval_id)})
    return next((required(f"approval {approval_id}", record, _decode) for (record,) in found), None)


def read_approvals(reader: Reader, query: ApprovalQuery) -> list[ApprovalRecord]:
    """Them, newest or most urgent first; a row that cannot be read is left out."""
    where, params = _conditions(query)
    order = "deadline IS NULL, deadline, seq" if query.urgent else "seq" if query.oldest else "seq DESC"
    statement = f"SELECT record FROM approvals WHERE {where} ORDER BY {order} LIMIT :limit"  # noqa: S608 - our texts
    rows = reader.read(statement, {**params, "limit": bounded(query.limit)})
    return [found for (record,) in rows if (found := opened(record, _decode)[0]) is not None]


def read_unreadable(reader: Reader, limit: int) -> list[str]:
    """Names of open ones that cannot be read."""
    rows = reader.read(_WAITING, {"limit": bounded(limit)})
    return [f"approval {approval_id}" for approval_id, record in rows if opened(record, _decode)[0] is None]


def _conditions(query: ApprovalQuery) -> tuple[str, dict[str, Any]]:
    statuses = {f"status_{number}": status for number, status in enumerate(dict.fromkeys(query.statuses))}
    conditions = [f"status IN ({', '.join(f':{one}' for one in statuses)})"] if statuses else []
    if query.statuses == ("open",):  # said in the text: only then the index of open keys is used
        statuses, conditions = {}, ["status = 'open'"]
    params: dict[str, Any] = dict(statuses)
    if query.task_id is not None:
        conditions.append("task_id = :task_id")
        params["task_id"] = known(query.task_id)
    if query.key is not None:
        conditions.append("key = :key")
        params["key"] = text(query.key)
    if query.begins is not None:
        conditions.append("substr(approval_id, 1, length(:begins)) = :begins")
        params["begins"] = text(query.begins)
    if query.before is not None:
        beyond = ">" if query.oldest else "<"
        conditions.append(f"seq {beyond} (SELECT b.seq FROM approvals b WHERE b.approval_id = :before)")  # noqa: S608
        params["before"] = text(query.before)
    if query.undated:
        conditions.append("status = 'open' AND deadline IS NULL")
    if query.overdue_at is not None:
        conditions.append("status = 'open' AND reminded_at IS NULL AND deadline <= :overdue_at")
        params["overdue_at"] = microseconds(query.overdue_at)
    return " AND ".join(conditions) or "1 = 1", params


def _key(value: str) -> str:
    """An id or a key, which is often made of another one. Raises ContractViolation where no store can keep it."""
    if text(value) != value or len(value.encode()) > LONGEST_KEY:
        why = f"{value[:40]!r} is longer than {LONGEST_KEY} bytes or holds a character that cannot be stored"
        raise ContractViolation("approval.record", [why])
    return value


def _written(approval: ApprovalRecord) -> str:
    """The record as JSON; what is refused here would otherwise be left out of every list."""
    return document("approval.record", approval, _decode)
