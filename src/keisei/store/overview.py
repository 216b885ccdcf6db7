"""The overview: what is going on, by a handful of small questions, each answered by an index made for it."""

from datetime import datetime
from typing import Final

import msgspec

from keisei.records.answer import ApprovalQuery
from keisei.records.attempt import GateSummary
from keisei.records.id import AdapterId, AgentId, AttemptId, LandingId, RunnerId, TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import EventQuery
from keisei.records.overview import Mishap, Overview, Refusals, RunningAttempt, Spend
from keisei.rules.budget import FREE_KIND
from keisei.store.approval import read_approvals
from keisei.store.clock import maybe_moment, microseconds, moment
from keisei.store.document import opened
from keisei.store.event import find_events
from keisei.store.landing import UNASKED
from keisei.store.reader import Reader, Row
from keisei.store.runner import runners
from keisei.store.task import count_claimable, count_tasks

MOST: Final = 20
"""How many each list holds."""
LOOKED_AT: Final = 300
"""How many attempts are asked what their gates refused."""

# The pluses keep the planner from walking through the whole table in search of the first.
_NUMBERS = f"""
SELECT
    (SELECT count(*) FROM tasks WHERE ready = 0 AND available_at > :now_us),
    (SELECT min(created_at) FROM tasks WHERE seq = (SELECT min(+seq) FROM tasks WHERE ready = 1)),
    (SELECT count(*) FROM approvals WHERE status = 'open'),
    (SELECT count(*) FROM landings WHERE status IN ('queued', 'landing', 'held') AND status = 'held'),
    (SELECT count(*) FROM landings WHERE status IN ('queued', 'landing', 'held') AND status = 'held' AND {UNASKED}),
    (SELECT count(*) FROM landings WHERE status IN ('queued', 'landing', 'held') AND status <> 'held'),
    (SELECT count(*) FROM landings WHERE status = 'rejected' AND updated_at >= :since)
"""  # noqa: S608 - constants
_RUNNING = """
SELECT a.attempt_id, a.task_id, t.task_type, t.body, t.agent, a.adapter_id, a.runner_id, a.started_at, t.cancel_at
FROM attempts a JOIN tasks t ON t.task_id = a.task_id WHERE a.exit_status IS NULL ORDER BY +a.seq LIMIT :limit
"""
_IS_ILL = "status IN ('permanent_failure', 'blocked') AND updated_at >= :since"
_ILL = f"SELECT status, count(*) FROM tasks WHERE {_IS_ILL} GROUP BY status"  # noqa: S608 - constants
_FAILED = f"""
SELECT status, task_id, last_error, body, updated_at FROM tasks WHERE {_IS_ILL} ORDER BY updated_at DESC LIMIT :limit
"""  # noqa: S608 - constants
_REJECTED = """
SELECT l.landing_id, l.task_id, l.record, t.body, l.updated_at FROM landings l JOIN tasks t ON t.task_id = l.task_id
WHERE l.status = 'rejected' AND l.updated_at >= :since ORDER BY l.updated_at DESC LIMIT :limit
"""
# Tokens are added as real numbers, which do not overflow. What ended without a bundle has started nothing.
_PAID = f"ended_at IS NOT NULL AND bundle_id IS NOT NULL AND adapter_kind <> '{FREE_KIND}'"
_SPEND = f"""
SELECT count(*), sum(cost_usd), sum(CAST(tokens AS double precision)),
    sum(CASE WHEN {_PAID} AND cost_usd IS NULL THEN 1 ELSE 0 END),
    sum(CASE WHEN {_PAID} AND tokens IS NULL THEN 1 ELSE 0 END)
FROM attempts WHERE started_at >= :since
"""  # noqa: S608 - constants
_GATED = """
SELECT record, ended_at FROM attempts WHERE started_at >= :since ORDER BY started_at DESC LIMIT :limit
"""


class _Subject(msgspec.Struct):
    """Of a body, only this."""

    subject: str | None = None


class _Gated(msgspec.Struct):
    """Of an attempt's record, only this."""

    gate_summary: GateSummary | None = None


_subject = msgspec.json.Decoder(_Subject).decode
_gated = msgspec.json.Decoder(_Gated).decode
_landing = msgspec.json.Decoder(LandingRecord).decode


def read_overview(reader: Reader, now_us: int, day_start: datetime) -> Overview:
    """What is going on now, and what happened since the start of the day."""
    since = microseconds(day_start)
    numbers = reader.read(_NUMBERS, {"now_us": now_us, "since": since})[0]
    delayed, waiting, approvals, held, unasked, landing, rejected = numbers
    ill: dict[str, int] = dict(reader.read(_ILL, {"since": since}))
    return Overview(
        now=moment(now_us),
        counts=count_tasks(reader),
        claimable=count_claimable(reader, now_us),
        delayed=delayed,
        waiting_since=maybe_moment(waiting),
        running=tuple(map(_running, reader.read(_RUNNING, {"limit": MOST}))),
        failed=ill.get("permanent_failure", 0),
        blocked=ill.get("blocked", 0),
        rejected=rejected,
        mishaps=_mishaps(reader, since),
        spend=_spend(reader.read(_SPEND, {"since": since})[0]),
        refusals=_refusals(reader.read(_GATED, {"since": since, "limit": LOOKED_AT + 1})),
        approvals=approvals,
        asking=tuple(read_approvals(reader, ApprovalQuery(oldest=True, limit=MOST))),
        held=held,
        unasked=unasked,
        landing=landing,
        runners=tuple(runners(reader, gone=False)),
        events=tuple(find_events(reader, EventQuery(limit=MOST))),
    )


def _running(row: Row) -> RunningAttempt:
    return RunningAttempt(
        attempt_id=AttemptId(row[0]),
        task_id=TaskId(row[1]),
        task_type=row[2],
        subject=_subject_of(row[3]),
        agent=None if row[4] is None else AgentId(row[4]),
        adapter_id=AdapterId(row[5]),
        runner_id=RunnerId(row[6]),
        started_at=moment(row[7]),
        canceled=row[8] is not None,
    )


def _mishaps(reader: Reader, since: int) -> tuple[Mishap, ...]:
    asked = {"since": since, "limit": MOST}
    found = [*map(_failed, reader.read(_FAILED, asked)), *map(_rejected, reader.read(_REJECTED, asked))]
    return tuple(sorted(found, key=lambda mishap: mishap.at, reverse=True)[:MOST])


def _failed(row: Row) -> Mishap:
    status, task_id, reason, body, at = row
    return Mishap(kind=status, task_id=TaskId(task_id), subject=_subject_of(body), reason=reason, at=moment(at))


def _rejected(row: Row) -> Mishap:
    landing_id, task_id, record, body, at = row
    landing, why = opened(record, _landing)
    return Mishap(
        kind="landing_rejected",
        task_id=TaskId(task_id),
        landing_id=LandingId(landing_id),
        subject=_subject_of(body),
        reason=why if landing is None else landing.reason,
        at=moment(at),
    )


def _spend(row: Row) -> Spend:
    attempts, cost, tokens, unpriced, uncounted = row
    return Spend(
        attempts=attempts,
        cost_usd=cost or 0.0,
        tokens=round(tokens or 0),
        unpriced=unpriced or 0,
        uncounted=uncounted or 0,
    )


def _refusals(rows: list[Row]) -> Refusals:
    ended = [record for record, ended_at in rows[:LOOKED_AT] if ended_at is not None]
    gates = [opened(record, _gated)[0] for record in ended]
    refused = [gate.gate_summary.denied + gate.gate_summary.errors for gate in gates if gate and gate.gate_summary]
    return Refusals(calls=sum(refused), attempts=sum(map(bool, refused)), partial=len(rows) > LOOKED_AT)


def _subject_of(body: str) -> str | None:
    found, _ = opened(body, _subject)
    return None if found is None else found.subject
