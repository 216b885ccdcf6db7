"""Evidence for an atom: what an attempt left, by key, and the text of one file, bounded. Nothing outside evidence/.

What is stored was redacted when it was written; what an attempt still writes is not stored yet, and not told.
"""

from typing import Any, Final

from keisei.evidence.file import FileEvidence
from keisei.records.attempt import TaskAttempt
from keisei.records.error import Refused
from keisei.records.id import AttemptId
from keisei.rules.evidence import keys_of
from keisei.wiring.agency import Agency
from keisei.wiring.verb_error import VerbError, as_code

LARGEST: Final = 65_536
"""Bytes of one file that are told at once unless more or less is asked for."""


def evidence(agency: Agency, given: dict[str, Any]) -> dict[str, Any]:
    """The files of an attempt with size and digest; with `key` the text of one, from `start` on. Raises VerbError.

    Of a task without a named attempt: those of its newest attempt.
    """
    attempt = _attempt(agency, given)
    files, folder = FileEvidence(agency.home.evidence), keys_of(attempt.attempt_id, attempt.started_at).folder
    answer = {"task_id": attempt.task_id, "attempt_id": attempt.attempt_id}
    if (key := given.get("key")) is None:
        found = [each for name in files.keys(folder) if (each := files.stored(name)) is not None]
        told = [{"key": each.key.removeprefix(folder), "size": each.size, "sha256": each.sha256} for each in found]
        return {**answer, "files": told}
    return {**answer, "file": _text(files, folder, key, int(given.get("start", 0)), int(given.get("limit", LARGEST)))}


def _attempt(agency: Agency, given: dict[str, Any]) -> TaskAttempt:
    """The attempt that is meant, where whoever asks may know of its task."""
    task = agency.task(given["task_id"])
    if (named := given.get("attempt_id")) is None:
        attempts = agency.store.attempts(task.task_id, 1000)
        if not attempts:
            raise VerbError("NoEvidence", f"task {task.task_id} was never tried", "wait until it is")
        return attempts[-1]
    found = agency.store.attempt(AttemptId(named))
    if found is None or found.task_id != task.task_id:
        raise VerbError("NoEvidence", f"task {task.task_id} has no attempt `{named}`")
    return found


def _text(files: FileEvidence, folder: str, key: str, start: int, limit: int) -> dict[str, Any]:
    with as_code("NoEvidence", Refused):
        opened = files.open(f"{folder}{key}")
    if opened is None:
        raise VerbError("NoEvidence", f"there is no evidence `{key}`", "leave `key` out to see what there is")
    with opened:
        size = opened.seek(0, 2)
        opened.seek(min(start, size))
        piece = opened.read(limit)
    end = min(start, size) + len(piece)
    text = piece.decode("utf-8", "replace")
    return {"key": key, "size": size, "text": text, "next": end if end < size else None}
