"""Reading tasks: one, their numbers, and what an agent finished before. Lists stand in `task_list`."""

from datetime import datetime
from typing import Any

from msgspec.structs import replace

from keisei.records.id import AgentId, AttemptId, ProfileId, RunnerId, TaskId
from keisei.records.task import Lease, TaskRecord, TaskStatus
from keisei.rules.follow_up import TASK_SOURCE
from keisei.store.ask import LARGEST, bounded, known
from keisei.store.clock import microseconds, moment
from keisei.store.reader import Reader, Row
from keisei.store.row import TASK, TASK_WIDTH, task_of

PLACES: dict[TaskStatus, tuple[int, ...]] = {
    "pending": (0, 1),
    "retryable_failure": (0, 1),
    "running": (2,),
    "completed": (3,),
    "permanent_failure": (3,),
    "operator_canceled": (3,),
    "blocked": (4,),
}
"""Where a status stands: the partial indexes go by it."""

LEASED = f"""
SELECT {TASK}, a.attempt_id, a.runner_id, a.fence, r.heartbeat_at + r.lease_us FROM tasks t
LEFT JOIN attempts a ON a.task_id = t.task_id AND a.ended_at IS NULL
LEFT JOIN runners r ON r.runner_id = a.runner_id
"""  # noqa: S608 - our own columns
ONE = f"{LEASED} WHERE t.task_id = :task_id"
CANCELED = "SELECT 1 FROM tasks WHERE task_id = :task_id AND cancel_at IS NOT NULL"
DEPTH = "SELECT depth FROM tasks WHERE task_id = :task_id"
CHILDREN = f"{LEASED} WHERE t.depth > 0 AND t.source = :source ORDER BY t.seq LIMIT :limit"
MEMORY = f"""
SELECT {TASK} FROM tasks t
WHERE t.ready = 3 AND {{agent}} AND t.profile_id = :profile_id AND t.finished_at <= :until
ORDER BY t.finished_at DESC, t.seq DESC LIMIT :limit
"""  # noqa: S608 - our own columns
# Most tasks are completed, and all together are counted at once: those that are completed are the rest.
REST: TaskStatus = "completed"
COUNTED = tuple((status, ready) for status, places in PLACES.items() if status != REST for ready in places)
COUNTS = ", ".join(
    (
        "SELECT (SELECT count(*) FROM tasks)",
        *(f"(SELECT count(*) FROM tasks WHERE ready = {ready} AND status = '{status}')" for status, ready in COUNTED),  # noqa: S608
    )
)
CLAIMABLE = """
SELECT (SELECT count(*) FROM tasks WHERE ready = 1)
    + (SELECT count(*) FROM tasks WHERE ready = 0 AND available_at <= :now_us)
"""


def read_task(reader: Reader, task_id: TaskId) -> TaskRecord | None:
    """One task, with its lease while it runs."""
    return next(map(leased, reader.read(ONE, {"task_id": known(task_id)})), None)


def read_depth(reader: Reader, task_id: TaskId) -> int:
    """How many tasks stand above a task; 0 for one nobody knows."""
    return next((int(row[0]) for row in reader.read(DEPTH, {"task_id": known(task_id)})), 0)


def read_children(reader: Reader, task_id: TaskId, limit: int) -> list[TaskRecord]:
    """Tasks that a task asked for, oldest first."""
    asked = {"source": known(f"{TASK_SOURCE}{task_id}"), "limit": bounded(limit)}
    return list(map(leased, reader.read(CHILDREN, asked)))


def read_canceled(reader: Reader, task_id: TaskId) -> bool:
    """Whether somebody wants a running task ended."""
    return bool(list(reader.read(CANCELED, {"task_id": known(task_id)})))


def count_tasks(reader: Reader) -> dict[TaskStatus, int]:
    """How many tasks have which status; every status is there."""
    counts: dict[TaskStatus, int] = dict.fromkeys(PLACES, 0)
    total, *numbers = reader.read(COUNTS, {})[0]
    for (status, _), number in zip(COUNTED, numbers, strict=True):
        counts[status] += number
    return counts | {REST: total - sum(numbers)}


def count_claimable(reader: Reader, now_us: int) -> int:
    """How many tasks could be claimed now, those included whose moment has come and that nobody has woken yet."""
    return int(reader.read(CLAIMABLE, {"now_us": now_us})[0][0])


def read_memory(
    reader: Reader, agent: AgentId | None, profile: ProfileId, limit: int, until: datetime | None = None
) -> list[TaskRecord]:
    """The newest finished tasks of the same agent, or of none, and the same profile, as they were `until` then."""
    last = LARGEST if until is None else microseconds(until)
    asked: dict[str, Any] = {"profile_id": known(profile), "limit": bounded(limit), "until": last}
    if agent is None:
        return list(map(task_of, reader.read(MEMORY.format(agent="t.agent IS NULL"), asked)))
    return list(map(task_of, reader.read(MEMORY.format(agent="t.agent = :agent"), asked | {"agent": known(agent)})))


def leased(row: Row) -> TaskRecord:
    """A task out of the columns of `LEASED`, with its lease while it runs."""
    task = task_of(row)
    attempt_id, runner_id, fence, expires_us = row[TASK_WIDTH:]
    if task.status != "running" or attempt_id is None or expires_us is None:
        return task
    lease = Lease(
        attempt_id=AttemptId(attempt_id), runner_id=RunnerId(runner_id), fence=fence, expires_at=moment(expires_us)
    )
    return replace(task, lease=lease)
