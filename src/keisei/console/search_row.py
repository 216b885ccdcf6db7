"""Rows by a text: tasks by what they are about, and everything that has an id by that, or by how it begins."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from keisei.console.graph_page import address
from keisei.console.search_hit import SearchHit
from keisei.engine.ports import Store
from keisei.records.attempt import TaskAttempt
from keisei.records.id import ApprovalId, AttemptId, LandingId, TaskId, WorkflowId
from keisei.records.landing import LandingRecord
from keisei.records.move import AttemptQuery, LandingQuery, TaskQuery
from keisei.records.pipe_run import PipeRun
from keisei.records.task import TaskRecord

LONGEST_ID: Final = 200
LONGEST_TEXT: Final = 500
"""Characters of a text that tasks are asked for; no subject is searched for more."""
BEGINNING: Final = re.compile(r"[0-9a-f][0-9a-f-]{3,35}", re.IGNORECASE)
"""How an id begins."""
ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{0,22}", re.IGNORECASE)
"""What is so much of an id is no word."""
NEWEST: Final = 200
"""Attempts whose beginnings are compared."""


def is_id(text: str) -> bool:
    """Whether a text is an id of a row, or the larger part of one."""
    return ID.fullmatch(text) is not None


def exact_row(store: Store, text: str) -> SearchHit | None:
    """What has this id. The ids that people give (of schedules, sensors, agents) are words, and are not meant."""
    if not text or len(text) > LONGEST_ID or not text.isprintable():
        return None
    return next((found for look in _looks(store) if (found := look(text)) is not None), None)


def _looks(store: Store) -> Iterator[Callable[[str], SearchHit | None]]:
    yield lambda text: None if (found := store.task(TaskId(text))) is None else task_hit(found)
    yield lambda text: None if (found := store.attempt(AttemptId(text))) is None else attempt_hit(found)
    yield lambda text: None if (found := store.landing(LandingId(text))) is None else landing_hit(found)
    yield lambda text: None if (found := store.pipe_run(text)) is None else run_hit(found)
    yield lambda text: None if store.workflow(WorkflowId(text)) is None else _hit("workflow", text, "", "/workflows/")
    yield lambda text: None if store.approval(ApprovalId(text)) is None else _hit("approval", text, "", "/approvals/")


def found_tasks(store: Store, text: str, limit: int) -> tuple[tuple[SearchHit, ...], bool]:
    """Tasks that hold the text, newest first; and whether there may be more."""
    found = store.find_tasks(TaskQuery(text=text[:LONGEST_TEXT], limit=limit))
    return tuple(map(task_hit, found.tasks)), found.stopped or found.next is not None


def begun_rows(store: Store, text: str, limit: int) -> tuple[SearchHit, ...]:
    """Attempts, landings and runs of pipes whose ids begin so, newest first."""
    if BEGINNING.fullmatch(text) is None:
        return ()
    begins = text.lower()
    attempts = store.find_attempts(AttemptQuery(limit=NEWEST))
    return (
        *(attempt_hit(each) for each in [each for each in attempts if each.attempt_id.startswith(begins)][:limit]),
        *map(landing_hit, store.landings(LandingQuery(begins=begins, limit=limit))),
        *map(run_hit, store.pipe_runs(limit, begins)),
    )


def task_hit(task: TaskRecord) -> SearchHit:
    """A task, as it is told."""
    return _hit("task", task.task_id, task.subject or task.task_type, "/tasks/", task.status)


def attempt_hit(attempt: TaskAttempt) -> SearchHit:
    """An attempt, as it is told."""
    title = f"{attempt.adapter_id} for task {attempt.task_id}"
    return _hit("attempt", attempt.attempt_id, title, "/attempts/", attempt.exit_status or "running")


def landing_hit(landing: LandingRecord) -> SearchHit:
    """A landing, as it is told."""
    title = f"on {landing.branch}, of task {landing.task_id}"
    return _hit("landing", landing.landing_id, title, "/landings/", landing.status)


def run_hit(run: PipeRun) -> SearchHit:
    """A run of a pipe, as it is told."""
    return _hit("pipe run", run.run_id, run.name, "/pipes/", run.status)


def _hit(kind: str, name: str, title: str, place: str, status: str | None = None) -> SearchHit:
    return SearchHit(kind=kind, id=name, title=title, page=place + address(name), status=status)
