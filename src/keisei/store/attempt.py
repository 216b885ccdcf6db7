"""Reading attempts, and what stands under one: its bundle, its findings."""

import msgspec

from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord
from keisei.records.finding import FindingRecord
from keisei.records.id import AttemptId, TaskId
from keisei.store.ask import bounded, known
from keisei.store.reader import Reader
from keisei.store.row import ATTEMPT, attempt_of

ONE = f"SELECT {ATTEMPT} FROM attempts a WHERE a.attempt_id = :attempt_id"  # noqa: S608 - our own columns
OF_TASK = f"SELECT {ATTEMPT} FROM attempts a WHERE a.task_id = :task_id ORDER BY a.seq LIMIT :limit"  # noqa: S608
NEWEST = f"SELECT {ATTEMPT} FROM attempts a ORDER BY a.seq DESC LIMIT :limit"  # noqa: S608 - our own columns
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


def read_bundle(reader: Reader, attempt_id: AttemptId) -> BundleRecord | None:
    """The bundle an attempt was given."""
    return next((_bundle(row[0]) for row in reader.read(BUNDLE, {"attempt_id": known(attempt_id)})), None)


def read_findings(reader: Reader, attempt_id: AttemptId) -> list[FindingRecord]:
    """What verification said, in the order it was said."""
    return [_finding(row[0]) for row in reader.read(FINDINGS, {"attempt_id": known(attempt_id)})]
