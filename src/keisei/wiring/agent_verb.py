"""Seeing and ending tasks from an atom: what whoever asks may know of, in plain data."""

import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from keisei.engine.control import cancel as cancel_task
from keisei.records.attempt import TaskAttempt
from keisei.records.error import Refused
from keisei.records.id import TaskId
from keisei.records.move import TaskQuery
from keisei.records.task import TERMINAL, TaskRecord
from keisei.wiring.agency import Agency
from keisei.wiring.verb_error import VerbError, as_code

LONGEST: Final = 4000
"""Characters of one text that are told."""
MOST_ATTEMPTS: Final = 50
MOST_BELOW: Final = 5000
"""Tasks below one that are gone through."""
PACE_S: Final = 0.25
"""How often a task that is waited for is looked at."""


class Time(NamedTuple):
    """The clock of a wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def status(agency: Agency, task_id: str) -> dict[str, Any]:
    """One task, what it has cost, and its newest attempts, oldest first. Raises VerbError."""
    task = agency.task(task_id)
    cost = agency.store.spent_by(task.task_id)
    attempts = agency.store.attempts(task.task_id, 1000)[-MOST_ATTEMPTS:]
    return {
        **told(task),
        "description": _cut(task.description),
        "summary": None if task.outcome is None else _cut(task.outcome.operator_summary),
        "budget": {
            "max_cost_usd": None if task.budget is None else task.budget.max_cost_usd,
            "max_tokens": None if task.budget is None else task.budget.max_tokens,
        },
        "spent": {"usd": cost.spent.usd, "tokens": cost.spent.tokens, "untold": max(cost.unpriced, cost.uncounted)},
        "attempts": list(map(_told_attempt, attempts)),
        "is_over": task.status in TERMINAL,
    }


def listed(agency: Agency, given: dict[str, Any]) -> dict[str, Any]:
    """A page of tasks, newest first. Inside an attempt: of its own task and those below it. Raises VerbError."""
    limit, before = int(given.get("limit", 50)), given.get("before")
    query = TaskQuery(
        statuses=tuple(given.get("status", ())),
        task_type=given.get("task_type"),
        source=given.get("source"),
        before=None if before is None else agency.task(before).task_id,
        limit=limit + 1,
    )
    own = agency.own_task()
    found = agency.store.tasks(query) if own is None else _chosen(_family(agency, own), query)
    page = found[:limit]
    return {"tasks": list(map(told, page)), "next": page[-1].task_id if len(found) > limit else None}


def cancel(agency: Agency, task_id: str, reason: str) -> dict[str, Any]:
    """End a task, as an operator's order does. Raises VerbError; `Over` for one that is over already.

    An attempt does not end its own task: how that ends is for its checks to say.
    """
    own, task = agency.own_task(), agency.task(task_id)
    if own is not None and task.task_id == own.task_id:
        raise VerbError("NotAllowed", "an attempt ends tasks below its own, not its own", "end by reporting")
    with as_code("Over", Refused):
        after = cancel_task(agency.store, task.task_id, reason or f"canceled by {agency.actor}", agency.actor)
    return {"task_id": after.task_id, "status": after.status, "asked": after.status == "running"}


def changes(agency: Agency, task_id: str, wait_s: float, clock: Time = Time()) -> Iterator[dict[str, Any]]:  # noqa: B008 - a value
    """How a task stands, now and whenever it changes, until it is over or blocked, or the time is up."""
    until, before = clock.now() + wait_s, None
    while True:
        task = agency.task(task_id)
        attempt = None if task.lease is None else task.lease.attempt_id
        if (seen := (task.status, attempt, task.attempt_count)) != before:
            before = seen
            yield {"status": task.status, "attempt": attempt, "at": stamp(task.updated_at)}
        left_s = until - clock.now()
        if task.status in TERMINAL or task.status == "blocked" or left_s <= 0:
            return
        clock.sleep(min(PACE_S, left_s))


def told(task: TaskRecord) -> dict[str, Any]:
    """A task in one shape for every verb."""
    return {
        "task_id": task.task_id,
        "task_type": task.task_type,
        "status": task.status,
        "subject": _cut(task.subject),
        "profile": task.requested_profile_id,
        "source": task.source,
        "parent": task.parent_task_id,
        "priority": task.priority,
        "tries": task.attempt_count,
        "max_attempts": task.max_attempts,
        "created_at": stamp(task.created_at),
        "available_at": stamp(task.available_at),
        "finished_at": None if task.finished_at is None else stamp(task.finished_at),
        "error": _cut(task.last_error),
    }


def stamp(moment: datetime) -> str:
    """A moment, RFC 3339, UTC."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _told_attempt(attempt: TaskAttempt) -> dict[str, Any]:
    return {
        "attempt_id": attempt.attempt_id,
        "adapter": attempt.adapter_id,
        "model": attempt.model,
        "started_at": stamp(attempt.started_at),
        "ended_at": None if attempt.ended_at is None else stamp(attempt.ended_at),
        "exit_status": attempt.exit_status,
        "cost_usd": None if attempt.usage is None else attempt.usage.cost_usd,
    }


def _family(agency: Agency, own: TaskRecord) -> list[TaskRecord]:
    """The task and everything below it, newest first, as far as it is gone through."""
    found, ahead = {own.task_id: own}, [own.task_id]
    while ahead and len(found) < MOST_BELOW:
        for each in agency.store.children(ahead.pop(0)):
            if each.task_id not in found:
                found[each.task_id] = each
                ahead.append(each.task_id)
    return sorted(found.values(), key=lambda task: (task.created_at, task.task_id), reverse=True)


def _chosen(tasks: Sequence[TaskRecord], query: TaskQuery) -> list[TaskRecord]:
    """What a query of the store would find among these."""
    places = {TaskId(task.task_id): place for place, task in enumerate(tasks)}
    behind = 0 if query.before is None else places.get(query.before, len(tasks)) + 1
    return [
        task
        for task in tasks[behind:]
        if (not query.statuses or task.status in query.statuses)
        and query.task_type in (None, task.task_type)
        and query.source in (None, task.source)
    ][: query.limit]


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST else f"{text[:LONGEST]}…"
