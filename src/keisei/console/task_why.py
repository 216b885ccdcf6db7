"""Why a task stands where it stands, and what moves it on: in sentences, from rows."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.console.runner import is_heard
from keisei.engine.control import ALL
from keisei.engine.ports import Store
from keisei.records.approval import ApprovalRecord
from keisei.records.landing import LandingRecord
from keisei.records.task import TaskRecord


class TaskWhy(Struct, frozen=True, kw_only=True):
    """Where a task stands, and what moves it on."""

    tone: Literal["good", "bad", "warn", "busy"]
    """How it looks."""
    says: str
    """Where it stands, in a sentence of ours."""
    quoted: str | None = None
    """What it was told: the newest error. Agents may have written it."""
    next: str | None = None
    """What moves it on."""
    due: datetime | None = None
    """When it is tried, where that is known and still to come."""


def why(
    store: Store, task: TaskRecord, open_questions: Sequence[ApprovalRecord], landings: Sequence[LandingRecord]
) -> TaskWhy:
    """Where a task stands, and what moves it on."""
    if task.status == "running":
        return _running(store, task)
    if task.status in ("pending", "retryable_failure"):
        return _waiting(store, task)
    if task.status == "blocked":
        return _blocked(task, open_questions)
    if task.status == "completed":
        return _completed(landings)
    over = "An operator ended it." if task.status == "operator_canceled" else "It failed for good."
    tone: Literal["bad", "warn"] = "warn" if task.status == "operator_canceled" else "bad"
    return TaskWhy(tone=tone, says=over, quoted=task.last_error, next="Retry queues the same as a new task.")


def _running(store: Store, task: TaskRecord) -> TaskWhy:
    if store.is_canceled(task.task_id):
        return TaskWhy(tone="warn", says="It was asked to end; its runner ends it with its next heartbeat.")
    if task.lease is not None and task.lease.expires_at < store.now():
        return TaskWhy(
            tone="warn",
            says="Its runner has not been heard for longer than its lease.",
            next="The next runner that looks takes the attempt over and judges or repeats it.",
        )
    return TaskWhy(tone="busy", says="An attempt is running.")


def _waiting(store: Store, task: TaskRecord) -> TaskWhy:
    now = store.now()
    due = task.available_at if task.available_at > now else None
    failed = task.status == "retryable_failure"
    says = "The last attempt failed, and it is tried again." if failed else "It waits to be claimed."
    if due is not None:
        says = "The last attempt failed; it is tried again later." if failed else "It waits for its moment."
    return TaskWhy(
        tone="warn" if failed else "busy",
        says=says,
        quoted=task.last_error,
        next=_hindrance(store, now) or ("Retry tries it at once." if failed and due is not None else None),
        due=due,
    )


def _hindrance(store: Store, now: datetime) -> str | None:
    """Why nobody would take it even when its turn comes."""
    pause = next((each for each in store.pauses() if each.scope == ALL), None)
    if pause is not None:
        return f"All runners are paused ({pause.reason}): resume them on the page of runners."
    if not any(is_heard(each, now) for each in store.runners()):
        return "No runner is there to take it: `keisei up` or `keisei runner` starts one."
    return None


def _blocked(task: TaskRecord, questions: Sequence[ApprovalRecord]) -> TaskWhy:
    told = (
        "Decide what is asked below." if questions else "Nothing is asked: unblock it when what it waits for is there."
    )
    return TaskWhy(tone="warn", says="It is blocked and needs a person.", quoted=task.last_error, next=told)


def _completed(landings: Sequence[LandingRecord]) -> TaskWhy:
    if not landings:
        return TaskWhy(tone="good", says="It completed: everything that was asked of it held.")
    newest = landings[0]
    says = f"It completed; its candidate is {newest.status}."
    if newest.status == "rejected":
        return TaskWhy(tone="bad", says=says, quoted=newest.reason)
    if newest.status == "held":
        return TaskWhy(tone="warn", says=says, quoted=newest.reason, next="It lands when a person approves it.")
    return TaskWhy(tone="good", says=says)
