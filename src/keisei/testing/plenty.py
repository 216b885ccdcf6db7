"""Plenty: a store after a month of work, made in seconds, for whoever measures what reading it takes.

    fill(Path(folder) / "state.db", tasks=100_000, events=1_000_000)

Rows go straight into the tables of SQLite, in the shapes the moves leave: most tasks are done, some failed, the newest
wait or run; types, profiles and agents are common and rare; the ledger is sealed. The same seed makes the same rows.
"""

import random
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, cast

from keisei.records.approval import ApprovalRecord
from keisei.records.attempt import GateSummary, Usage
from keisei.records.id import ApprovalId, AttemptId, LandingId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import NewEntry
from keisei.records.outcome import MachineStatus, OutcomeStatus, TaskOutcome
from keisei.records.task import TaskStatus
from keisei.rules.task import rank
from keisei.store import approval, landing, ledger
from keisei.store.clock import SystemClock, microseconds, moment
from keisei.store.enqueue import COLUMNS
from keisei.store.row import AttemptRest, Row, TaskBody, json
from keisei.store.sqlite import Sqlite

DAYS = 30
"""How long the work has been going on."""
RUNNING, WAITING, DELAYED, PARKED = 12, 0.01, 0.005, 0.01
"""How many of the newest tasks run; which parts of all wait, are put off, and wait for a person."""
TYPES = ("fix", "review", "test", "docs", "release", "triage", "refactor", "bump")
RARE_TYPE, RARE_AGENT, RARE_PROFILE = "audit", "hermit", "forensics"
"""What three tasks have, among the oldest."""
PROFILES, AGENTS = ("default", "careful", "quick", "reviewer"), (None, "ann", "bob", "carla")
ADAPTERS, SOURCES = ("claude-code", "codex", "script"), ("operator:ann", "schedule:nightly", "sensor:github", "cli")
WORDS = ("login page", "flaky test", "cache", "parser", "docs of the queue", "slow query", "broken link", "release")
ENDS: tuple[OutcomeStatus, ...] = ("completed",) * 18 + ("permanent_failure", "operator_canceled")
MACHINE: dict[OutcomeStatus, MachineStatus] = {
    "completed": "ok",
    "permanent_failure": "failed",
    "operator_canceled": "canceled",
    "blocked": "blocked",
    "retryable_failure": "needs_retry",
}
PLACE: dict[TaskStatus, int] = {"running": 2, "blocked": 4, "retryable_failure": 0}
LIFE = ("task_claimed", "bundle_compiled", "task_started", "capability_checked", "task_attempt_finished")
RARE_EVENTS = ("gate_denied", "landing_rejected", "operator_ordered", "approval_asked", "delivery_failed")
SHA = "5" * 40

TASK = (*COLUMNS, "fence", "started_at", "finished_at", "outcome", "last_error")
ATTEMPT = (
    *("attempt_id", "task_id", "runner_id", "fence", "stage", "started_at", "ended_at", "exit_status", "retry_class"),
    *("adapter_id", "adapter_kind", "model", "cost_usd", "tokens", "record"),
)
EVENT = ("event_type", "task_id", "attempt_id", "detail", "created_at")
RUNNER = (
    *("runner_id", "host", "boot_id", "pid", "born", "version", "slots", "lease_us", "state", "started_at"),
    *("heartbeat_at", "beat_us", "beat_boot_id", "ended_at"),
)


class Made(NamedTuple):
    """One task of the month, before it is written."""

    number: int
    """Which, from 0."""
    task_id: str
    """Its id."""
    attempt_id: str | None
    """Its attempt, where it was tried."""
    status: TaskStatus
    """Where it stands."""
    ready: int
    """Its place in the queue."""
    at: int
    """When it was made, in microseconds."""
    over: int | None
    """When its attempt ended, if it did."""


def fill(
    store_path: Path, tasks: int = 100_000, events: int = 1_000_000, seed: int = 1, now: datetime | None = None
) -> None:
    """Make a database at the path with so many tasks and events, the newest of them a moment ago.

    Raises what opening a store raises; a database that is there must be empty.
    """
    chance = random.Random(seed)  # noqa: S311 - the same rows every time
    now_us = microseconds(now or datetime.now(UTC))
    made = list(_made(tasks, chance, now_us))
    with closing(Sqlite(store_path, SystemClock())) as driver, driver.write() as cursor:
        cursor.executemany(_into("runners", RUNNER), _runners(now_us))
        cursor.executemany(_into("tasks", TASK), (_task(each, chance) for each in made))
        tried = [each for each in made if each.attempt_id is not None]
        cursor.executemany(_into("attempts", ATTEMPT), (_attempt(each, chance) for each in tried))
        cursor.executemany(_into("events", EVENT), islice(_events(made, events, chance, now_us), events))
        cursor.executemany(_into("landings", tuple(landing.COLUMNS)), map(_landing, _offered(tried)))
        cursor.executemany(_into("approvals", tuple(approval.COLUMNS)), map(_approval, _asked(tried)))
        for each in tried:
            if each.over is not None:
                body = {"task_id": each.task_id, "status": each.status, "fence": 1}
                told = NewEntry(kind="attempt_settled", actor="runner-1", subject=str(each.attempt_id), body=body)
                ledger.insert(cursor, [told], each.over)


def _into(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608


def _made(number: int, chance: random.Random, now_us: int) -> Iterator[Made]:
    """Tasks in the order of their making, evenly over the month."""
    step = max(1, DAYS * 86_400_000_000 // max(1, number))
    waiting, delayed, parked = int(number * WAITING), int(number * DELAYED), int(number * PARKED)
    for index in range(number):
        left, at = number - index, now_us - (number - index) * step
        status, ready = _end(chance), 3
        if left <= waiting:
            status, ready = "pending", 1
        elif left <= waiting + RUNNING:
            status, ready = "running", 2
        elif left <= waiting + RUNNING + delayed:
            status, ready = chance.choice(("pending", "retryable_failure")), 0
        elif chance.random() < parked / number:
            status, ready = "blocked", 4
        attempt = None if status == "pending" else f"attempt-{index:07}-{chance.getrandbits(32):08x}"
        over = None if status in ("pending", "running") else min(now_us, at + chance.randrange(5, 600) * 1_000_000)
        yield Made(index, f"task-{index:07}-{chance.getrandbits(32):08x}", attempt, status, ready, at, over)


def _end(chance: random.Random) -> TaskStatus:
    return chance.choice(ENDS)


def _task(made: Made, chance: random.Random) -> Row:
    rare = 5 <= made.number < 8  # noqa: PLR2004 - three of the oldest
    tried = made.attempt_id is not None
    word = chance.choice(WORDS)
    body = TaskBody(
        subject=f"{word} {made.number}",
        description=f"What is wanted of the {word}, at length. " * 4,
        payload={"issue": made.number, "paths": ["src/a.py", "tests/test_a.py"], "note": "as agreed " * 10},
    )
    priority = chance.choice((0, 0, 0, 5))
    waits_until = made.at + (3_600_000_000 * 24 * 40 if made.ready == 0 else 0)
    known: dict[str, Any] = {
        "task_id": made.task_id,
        "status": made.status,
        "ready": made.ready,
        "rank": rank(priority, moment(made.at)),
        "priority": priority,
        "task_type": RARE_TYPE if rare else chance.choice(TYPES),
        "source": chance.choice(SOURCES),
        "profile_id": RARE_PROFILE if rare else chance.choice(PROFILES),
        "adapter_id": chance.choice((None, *ADAPTERS)),
        "agent": RARE_AGENT if rare else chance.choice(AGENTS),
        "attempt_count": int(tried),
        "max_attempts": 3,
        "depth": 0,
        "available_at": waits_until,
        "created_at": made.at,
        "updated_at": made.over or made.at,
        "body": json(body),
        "fence": int(tried),
        "started_at": made.at if tried else None,
        "finished_at": made.over if made.ready == 3 else None,  # noqa: PLR2004 - over
        "outcome": _outcome(made.status, word),
        "last_error": None if made.status in ("pending", "running", "completed") else f"the {word} did not hold",
    }
    return tuple(known.get(column) for column in TASK)


def _outcome(status: TaskStatus, word: str) -> str | None:
    if status in ("pending", "running"):
        return None
    became = cast("OutcomeStatus", status)
    return json(TaskOutcome(status=became, machine_status=MACHINE[became], operator_summary=f"the {word}: {status}"))


def _attempt(made: Made, chance: random.Random) -> Row:
    exit_status = None if made.over is None else "ok" if made.status == "completed" else "error"
    cost = None if made.over is None or chance.random() < 0.1 else round(chance.random(), 4)  # noqa: PLR2004 - a tenth
    tokens = None if cost is None else chance.randrange(1_000, 90_000)
    usage = Usage(
        input_tokens=tokens, output_tokens=tokens, cache_read_tokens=None, cache_write_tokens=None, cost_usd=cost
    )
    gate = GateSummary(allowed=chance.randrange(30), denied=chance.choice((0, 0, 0, 2)), errors=0, allowed_by_error=0)
    rest = AttemptRest(
        prompt_path=f"{made.attempt_id}/prompt.md",
        stdout_path=f"{made.attempt_id}/stdout",
        usage=usage,
        gate_summary=gate,
        isolation=("namespaces", "landlock"),
    )
    adapter = chance.choice(ADAPTERS)
    return (
        *(made.attempt_id, made.task_id, f"runner-{made.number % 2}", 1, 2, made.at + 1_000_000, made.over),
        *(exit_status, "none", adapter, adapter, "model-1", cost, tokens, json(rest)),
    )


def _events(made: list[Made], number: int, chance: random.Random, now_us: int) -> Iterator[Row]:
    """At least so many, in the order of time, roughly: each task's life, and what lies between."""
    each_has = max(1, number // max(1, len(made)))
    for one in made:
        about = f'{{"task_type":"fix","source":"cli","n":{one.number}}}'
        life = ("task_enqueued", *(LIFE if one.attempt_id else ()), *(("task_finished",) if one.ready == 3 else ()))  # noqa: PLR2004 - over
        for place in range(each_has):
            at = one.at + place * 1_000_000
            if place < len(life):
                yield life[place], one.task_id, one.attempt_id if place else None, about, at
            elif chance.random() < 0.001:  # noqa: PLR2004 - one in a thousand
                yield chance.choice(RARE_EVENTS), one.task_id, one.attempt_id, about, at
            else:
                yield (
                    "capability_checked" if one.attempt_id else "dispatch_idle",
                    one.task_id,
                    one.attempt_id,
                    about,
                    at,
                )
    for _ in range(number):
        yield "dispatch_idle", None, None, '{"runner_id":"runner-0"}', now_us


def _runners(now_us: int) -> Iterator[Row]:
    for number in range(12):
        alive = number < 2  # noqa: PLR2004 - two of them
        began = now_us - (number + 1) * 3_600_000_000
        last = now_us if alive else began + 60_000_000
        yield (
            *(f"runner-{number}", "host", "boot-1", 1000 + number, "1", "0", 4, 15_000_000),
            *("active" if alive else "stopped", began, last, last, "boot-1", None if alive else last),
        )


def _offered(tried: list[Made]) -> Iterator[tuple[Made, LandingStatus]]:
    """One completed task in ten has a candidate; the newest of them are on their way."""
    done = [one for one in tried if one.status == "completed"][::10]
    for left, one in zip(range(len(done), 0, -1), done, strict=True):
        on_the_way: LandingStatus = "held" if left % 2 else "queued"
        yield one, on_the_way if left <= 10 else "rejected" if left % 20 == 11 else "landed"  # noqa: PLR2004 - some


def _landing(offered: tuple[Made, LandingStatus]) -> Row:
    one, status = offered
    at = moment(one.over or one.at)
    record = LandingRecord(
        landing_id=LandingId(f"landing-{one.number:07}"),
        task_id=TaskId(one.task_id),
        attempt_id=AttemptId(str(one.attempt_id)),
        branch="main",
        candidate_commit=SHA,
        tree=SHA,
        before_commit=SHA,
        after_commit=SHA if status == "landed" else None,
        status=status,
        reason="a check does not hold on the merged tree" if status == "rejected" else None,
        created_at=at,
        updated_at=at,
    )
    return landing.row_of(record)


def _asked(tried: list[Made]) -> Iterator[tuple[Made, bool]]:
    """Every blocked task asks; the newest forty still do."""
    blocked = [one for one in tried if one.status == "blocked"]
    for left, one in zip(range(len(blocked), 0, -1), blocked, strict=True):
        yield one, left <= 40  # noqa: PLR2004 - some


def _approval(asked: tuple[Made, bool]) -> Row:
    one, is_open = asked
    at = moment(one.over or one.at)
    record = ApprovalRecord(
        approval_id=ApprovalId(f"approval-{one.number:07}"),
        kind="task",
        key=f"task:{one.task_id}",
        reason="the task is blocked: its agent does not know which of two ways is meant",
        status="open" if is_open else "resolved",
        task_id=TaskId(one.task_id),
        attempt_id=AttemptId(str(one.attempt_id)),
        deadline=at + timedelta(days=1),
        created_at=at,
        decided_at=None if is_open else at,
    )
    return approval.approval_row(record)
