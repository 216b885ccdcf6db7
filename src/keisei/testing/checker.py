"""Checker: eight rules of a run, over a history outside the database and the tables at its end."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from keisei.records.attempt import TaskAttempt
from keisei.records.id import TaskId
from keisei.records.task import TERMINAL, TaskRecord
from keisei.testing.history import NOTHING, Line, Tables


class Complaint(NamedTuple):
    """Something that must not be, with the number of the rule it breaks."""

    rule: int
    about: str
    message: str


def check(
    history: Iterable[Line],
    tables: Tables,
    *,
    recovered: bool = True,
    steady: bool = True,
    resolves: Callable[[TaskRecord], bool] = lambda _: True,
) -> list[Complaint]:
    """Everything that is wrong; nothing, where no task was lost and none ran or was settled twice unseen.

    `recovered` says that the trouble is over and everything had time to end, so nothing may be under way any more.
    `steady` says that nobody set the wall clock back, so that times in the tables can be compared.
    `resolves` says whether the artifacts of a completed task are there, as they were recorded.
    """
    lines = list(history)
    return [
        *_intake(lines, tables),
        *(_liveness(tables) if recovered else ()),
        *_starts(lines, tables),
        *_two_at_once(lines),
        *_completion(lines, tables, resolves),
        *_effects(lines, tables),
        *_records(tables),
        *(_moments(tables) if steady else ()),
        *(Complaint(8, "database", text) for text in tables.damage),
    ]


def _intake(lines: Sequence[Line], tables: Tables) -> Iterator[Complaint]:
    """Rule 1: what was accepted is there, and nothing is there that nobody asked for."""
    known = {task.task_id for task in tables.tasks}
    asked = {line.task for line in lines if line.kind == "Q"}
    for line in lines:
        if line.kind == "A" and line.task not in known:
            yield Complaint(1, line.task, "was accepted and is not there")
    for task in tables.tasks:
        caused = task.parent_task_id or task.schedule_id or task.sensor_event_id or task.workflow_ref
        if task.task_id not in asked and not caused:
            yield Complaint(1, task.task_id, "is there and nobody asked for it")
    for task_id, count in Counter(task.task_id for task in tables.tasks).items():
        if count > 1:
            yield Complaint(1, task_id, f"is there {count} times")


def _liveness(tables: Tables) -> Iterator[Complaint]:
    """Rule 2: in the end every task is over, or waits for a person and says why."""
    for task in tables.tasks:
        if task.status == "blocked" and not task.last_error:
            yield Complaint(2, task.task_id, "is blocked and does not say why")
        elif task.status != "blocked" and task.status not in TERMINAL:
            yield Complaint(2, task.task_id, f"is {task.status} for ever")
    for attempt in tables.attempts:
        if attempt.ended_at is None:
            yield Complaint(2, attempt.task_id, f"has the open attempt {attempt.attempt_id}")


def _starts(lines: Sequence[Line], tables: Tables) -> Iterator[Complaint]:
    """Rule 3: every start has its attempt, and what never started did not end well."""
    rows = {(attempt.task_id, attempt.attempt_id) for attempt in tables.attempts}
    starts = Counter((line.task, line.attempt) for line in lines if line.kind == "S")
    ends = {(line.task, line.attempt) for line in lines if line.kind == "E"}
    for (task, attempt), count in starts.items():
        if (task, attempt) not in rows:
            yield Complaint(3, task, f"was started and has no attempt {attempt}")
        if count > 1:
            yield Complaint(3, task, f"the attempt {attempt} was started {count} times")
    for row in tables.attempts:
        if row.exit_status == "ok" and (row.task_id, row.attempt_id) not in ends:
            yield Complaint(3, row.task_id, f"the attempt {row.attempt_id} is ok and its harness never ended")


def _two_at_once(lines: Sequence[Line]) -> Iterator[Complaint]:
    """Rule 4: an attempt whose task was started again shows no sign of life any more."""
    newest: dict[str, str] = {}
    earlier: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.kind == "S" and newest.get(line.task) != line.attempt:
            if line.task in newest:
                earlier[line.task].add(newest[line.task])
            newest[line.task] = line.attempt
        elif line.kind in {"S", "L", "E"} and line.attempt in earlier[line.task]:
            yield Complaint(4, line.task, f"{line.attempt} is alive while {newest[line.task]} runs")


def _completion(lines: Sequence[Line], tables: Tables, resolves: Callable[[TaskRecord], bool]) -> Iterator[Complaint]:
    """Rule 5: a task is over once, by one attempt that went well, and stays what it became."""
    last = {attempt.task_id: attempt for attempt in tables.attempts}
    ends = _ends(lines)
    for attempt_id, words in _words(lines).items():
        if len(words) > 1:
            yield Complaint(5, attempt_id, f"was settled as {' and '.join(sorted(words))}")
    for task in tables.tasks:
        said = ends.get(task.task_id, {})
        if len(said) > 1:
            yield Complaint(5, task.task_id, f"was ended by {len(said)} attempts")
        if any(status != task.status for status in said.values()):
            yield Complaint(5, task.task_id, f"is {task.status} and was told {sorted(said.values())}")
        newest = last.get(task.task_id)
        if task.status == "completed" and (newest is None or newest.exit_status != "ok"):
            yield Complaint(5, task.task_id, "is completed and its last attempt was not ok")
        if task.status == "completed" and not resolves(task):
            yield Complaint(5, task.task_id, "is completed and its artifacts are not what was recorded")


def _ends(lines: Sequence[Line]) -> dict[str, dict[str, str]]:
    """Of every task, the attempts that were told to have ended it, with the status."""
    ends: dict[str, dict[str, str]] = defaultdict(dict)
    for line in lines:
        if line.kind == "W" and line.word in TERMINAL:
            ends[line.task][line.attempt] = line.word
    return ends


def _words(lines: Sequence[Line]) -> dict[str, set[str]]:
    words: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        if line.kind == "W" and line.attempt != NOTHING:
            words[line.attempt].add(line.word)
    return words


def _effects(lines: Sequence[Line], tables: Tables) -> Iterator[Complaint]:
    """Rule 6: nothing leaves the house for an attempt that lost its lease, and nothing leaves twice."""
    rows = {item.key: item for item in tables.outbox}
    exits = {attempt.attempt_id: attempt.exit_status for attempt in tables.attempts}
    for item in tables.outbox:
        if item.attempt_id is not None and exits.get(item.attempt_id) in {None, "lost", "canceled"}:
            yield Complaint(6, item.task_id or NOTHING, f"{item.key} stands for an attempt that settled nothing")
    for line in lines:
        if line.kind == "X" and (line.word not in rows or rows[line.word].status == "refused"):
            yield Complaint(6, line.task, f"the effect {line.word} reached the outside without a row")
    asked = {line.task for line in lines if line.kind == "Q"}
    children = Counter(task.parent_task_id for task in tables.tasks if task.task_id not in asked)
    delivered = Counter(
        item.task_id for item in tables.outbox if item.kind == "follow_up_task" and item.status == "delivered"
    )
    for task in tables.tasks:
        if children[task.task_id] != delivered[task.task_id]:
            found, meant = children[task.task_id], delivered[task.task_id]
            yield Complaint(6, task.task_id, f"has {found} follow-up tasks and {meant} deliveries")


LETTERS: Mapping[str, str] = {
    "task_enqueued": "q",
    "task_claimed": "c",
    "task_started": "s",
    "task_attempt_finished": "f",
    "task_retry_scheduled": "r",
    "rate_limit_rescheduled": "r",
    "task_finished": "t",
    "task_operator_canceled": "x",
}
"""Events that tell a task's life. The others may stand anywhere."""

LIFE = re.compile(r"q(?:cs?f[rt]?)*(?:cs?)?(?:x?t?)")
"""Queued once; claimed, perhaps started, finished, perhaps put off or blocked, again and again; then over."""


def _records(tables: Tables) -> Iterator[Complaint]:
    """Rule 7: events, counters, fences and attempts tell one story."""
    attempts: dict[str, list[TaskAttempt]] = defaultdict(list)
    lives: dict[str, str] = defaultdict(str)
    claimed: Counter[str] = Counter()
    finished: Counter[str] = Counter()
    for attempt in tables.attempts:
        attempts[attempt.task_id].append(attempt)
    for event in tables.events:
        lives[event.task_id or ""] += LETTERS.get(event.event_type, "")
        claimed[event.attempt_id or ""] += event.event_type == "task_claimed"
        finished[event.attempt_id or ""] += event.event_type == "task_attempt_finished"
    for task in tables.tasks:
        yield from _life(task, lives[task.task_id])
        yield from _counts(task, attempts[task.task_id], tables.postponed)
        for attempt in attempts[task.task_id]:
            closed = attempt.ended_at is not None
            if (claimed[attempt.attempt_id], finished[attempt.attempt_id]) != (1, closed):
                yield Complaint(7, task.task_id, f"events of attempt {attempt.attempt_id} are missing or too many")


def _moments(tables: Tables) -> Iterator[Complaint]:
    """Rule 7, of time: nothing was claimed before its moment, where that moment still stands in the table."""
    tries = Counter(attempt.task_id for attempt in tables.attempts)
    ended = [task for task in tables.tasks if task.status == "completed" and tries[task.task_id] == 1]
    due = {task.task_id: task.available_at for task in ended}
    for attempt in tables.attempts:
        if attempt.task_id in due and attempt.started_at < due[attempt.task_id]:
            yield Complaint(7, attempt.task_id, f"was claimed at {attempt.started_at}, before {due[attempt.task_id]}")


def _life(task: TaskRecord, life: str) -> Iterator[Complaint]:
    if not LIFE.fullmatch(life):
        yield Complaint(7, task.task_id, f"its events come in an order that cannot be: {life}")
    if (life[-1:] in {"t", "x"}) != (task.status in TERMINAL or (task.status == "blocked" and life[-1:] == "t")):
        yield Complaint(7, task.task_id, f"is {task.status} and its events say: {life}")


def _counts(
    task: TaskRecord, attempts: Sequence[TaskAttempt], postponed: Mapping[TaskId, int] | None
) -> Iterator[Complaint]:
    uncounted = len(attempts) - task.attempt_count
    if uncounted < 0 or (postponed is not None and uncounted != postponed.get(task.task_id, 0)):
        yield Complaint(7, task.task_id, f"counts {task.attempt_count} attempts and has {len(attempts)}")
    if task.attempt_count > task.max_attempts:
        yield Complaint(7, task.task_id, f"was tried {task.attempt_count} times of {task.max_attempts}")
    fences = [attempt.fence or 0 for attempt in attempts]
    if any(later <= earlier for earlier, later in pairwise(fences)):
        yield Complaint(7, task.task_id, f"its fences do not grow: {fences}")
    open_attempts = sum(attempt.ended_at is None for attempt in attempts)
    if open_attempts != (task.status == "running"):
        yield Complaint(7, task.task_id, f"is {task.status} and has {open_attempts} open attempts")
