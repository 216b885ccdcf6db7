"""Reading attempts, and what stands under one: its bundle, its findings."""

from typing import Any

import msgspec

from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId, TaskId
from keisei.records.move import AttemptQuery
from keisei.store.ask import bounded, known
from keisei.store.reader import Reader
from keisei.store.row import ATTEMPT, attempt_of

ONE = f"SELECT {ATTEMPT} FROM attempts a WHERE a.attempt_id = :attempt_id"  # noqa: S608 - our own columns
OF_TASK = f"SELECT {ATTEMPT} FROM attempts a WHERE a.task_id = :task_id ORDER BY a.seq LIMIT :limit"  # noqa: S608
NEWEST = f"SELECT {ATTEMPT} FROM attempts a ORDER BY a.seq DESC LIMIT :limit"  # noqa: S608 - our own columns
BEFORE = "{seq} < (SELECT b.seq FROM attempts b WHERE b.attempt_id = :before)"
BUNDLE = "SELECT record FROM bundles WHERE attempt_id = :attempt_id"
FINDINGS = "SELECT record FROM findings WHERE attempt_id = :attempt_id ORDER BY seq"

_bundle = msgspec.json.Decoder(BundleRecord).decode
_finding = msgspec.json.Decoder(FindingRecord).decode


def read_attempt(reader: Reader, attempt_id: AttemptId) -> TaskAttempt | None:
    """One attempt."""
    return next(map(attempt_of, reader.read(ONE, {"attempt_id": known(attempt_id)})), None)


def read_attempts(reader: Reader, task_id: TaskId | None, limit: int) -> list[TaskAttempt]:
    """Attempts of one task, oldest first; of all tasks, newest first, where none is named."""
    if task_id is None:
        return list(map(attempt_of, reader.read(NEWEST, {"limit": bounded(limit)})))
    return list(map(attempt_of, reader.read(OF_TASK, {"task_id": known(task_id), "limit": bounded(limit)})))


def find_attempts(reader: Reader, query: AttemptQuery) -> list[TaskAttempt]:
    """A page of attempts, newest first. Older than an attempt that is not there: none.

    The plus keeps the planner from walking through all attempts in search of a few.
    """
    asked: dict[str, Any] = {"limit": bounded(query.limit)}
    few = query.open or query.task_id is not None
    seq, narrow = "+a.seq" if few else "a.seq", []
    if query.task_id is not None:
        narrow.append("a.task_id = :task_id")
        asked["task_id"] = known(query.task_id)
    if query.open:
        narrow.append("a.ended_at IS NULL" if query.task_id is not None else "a.exit_status IS NULL")
    if query.before is not None:
        narrow.append(BEFORE.format(seq=seq))
        asked["before"] = known(query.before)
    where = " AND ".join(narrow) or "TRUE"
    sql = f"SELECT {ATTEMPT} FROM attempts a WHERE {where} ORDER BY {seq} DESC LIMIT :limit"  # noqa: S608 - our texts
    return list(map(attempt_of, reader.read(sql, asked)))


def read_bundle(reader: Reader, attempt_id: AttemptId) -> BundleRecord | None:
    """The bundle an attempt was given."""
    return next((_bundle(row[0]) for row in reader.read(BUNDLE, {"attempt_id": known(attempt_id)})), None)


def read_findings(reader: Reader, attempt_id: AttemptId) -> list[FindingRecord]:
    """What verification said, in the order it was said."""
    return [_finding(row[0]) for row in reader.read(FINDINGS, {"attempt_id": known(attempt_id)})]
