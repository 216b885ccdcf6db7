"""Landings: verified candidates on their way to main. A settlement offers them, moves lead them on; none is removed."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from keisei.records.beside import NOTHING, Beside
from keisei.records.error import IllegalMove
from keisei.records.finding import FindingRecord
from keisei.records.id import LandingId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import LandingMove, LandingQuery, Settlement
from keisei.rules.approval import decided
from keisei.rules.landing import MOVES
from keisei.store.approval import Run, close, open_under
from keisei.store.ask import bounded, known
from keisei.store.clock import microseconds, moment
from keisei.store.document import document, opened, required
from keisei.store.order import actor_of
from keisei.store.reader import Reader
from keisei.store.row import Row, json, name, text
from keisei.store.work import Work, write_beside

COLUMNS = {
    "landing_id": "text",
    "task_id": "text",
    "attempt_id": "text",
    "status": "text",
    "created_at": "bigint",
    "updated_at": "bigint",
    "record": "text",
}
"""What is written of a landing, and PostgreSQL's types for it."""
OPEN: Final[frozenset[LandingStatus]] = frozenset({"queued", "landing", "held"})
FIRST: Final[frozenset[LandingStatus]] = frozenset({"queued", "held"})
"""How a landing begins."""

_names = ", ".join(COLUMNS)
_values = ", ".join(f":{column}" for column in COLUMNS)
_lists = ", ".join(f":l_{column}::{kind}[]" for column, kind in COLUMNS.items())
_INSERT = f"INSERT INTO landings ({_names}) VALUES ({_values}) ON CONFLICT DO NOTHING"  # noqa: S608 - constants
OFFERED = f"""offered AS (
    INSERT INTO landings ({_names})
    SELECT {_names} FROM done, unnest({_lists}) WITH ORDINALITY AS l ({_names}, n) ORDER BY n ON CONFLICT DO NOTHING
)"""  # noqa: S608 - constants
"""The step of PostgreSQL that writes landings."""
# A landing stays with its attempt. IS TRUE keeps a plan from reading all open rows to find one.
_MOVE = """
UPDATE landings SET status = :status, updated_at = :updated_at, record = :record
WHERE landing_id = :landing_id AND task_id = :task_id AND attempt_id = :attempt_id AND (status = :was) IS TRUE
RETURNING 1
"""
_FINDING = """
INSERT INTO findings (finding_id, attempt_id, record) VALUES (:finding_id, :attempt_id, :record) ON CONFLICT DO NOTHING
"""
_ONE = "SELECT record FROM landings WHERE landing_id = :landing_id"
# Said in the text: only then the index of open ones is used. The plus keeps the planner from walking through the rest.
_IS_OPEN = "status IN ('queued', 'landing', 'held')"
_OPEN = f"SELECT landing_id, record FROM landings WHERE {_IS_OPEN} ORDER BY +seq DESC LIMIT :limit"  # noqa: S608

UNASKED = "NOT EXISTS (SELECT 1 FROM approvals a WHERE a.status = 'open' AND a.key = 'landing:' || landing_id)"
"""No question about it is open."""

_decode = msgspec.json.Decoder(LandingRecord).decode


def check_offered(settlement: Settlement) -> None:
    """Raises IllegalMove for a landing that is not the attempt's own, or has begun."""
    task_id, attempt_id = settlement.task.task_id, settlement.attempt.attempt_id
    for landing in settlement.landings:
        if (landing.task_id, landing.attempt_id) != (task_id, attempt_id):
            raise IllegalMove(f"landing {landing.landing_id} is not of attempt {attempt_id}, which offers it")
        if landing.status not in FIRST:
            raise IllegalMove(f"landing {landing.landing_id} begins as held or queued, not as {landing.status}")


def offer(run: Run, landings: Sequence[LandingRecord]) -> None:
    """Write the landings of a settlement; a known id writes nothing."""
    for landing in landings:
        run(_INSERT, dict(zip(COLUMNS, row_of(landing), strict=True)))


def offered_params(landings: Sequence[LandingRecord]) -> dict[str, Any]:
    """What `OFFERED` writes."""
    rows = [row_of(landing) for landing in landings]
    return {f"l_{column}": [row[index] for row in rows] for index, column in enumerate(COLUMNS)}


def move_landing(work: Work, move: LandingMove) -> bool:
    """Move a landing with everything that follows. False: it has another status, or is not there.

    Raises IllegalMove for a move that is none, before anything is written.
    """
    _check(move)
    row = dict(zip(COLUMNS, row_of(move.landing), strict=True))
    if not work.run(_MOVE, {**row, "was": move.was}):
        return False
    _write_findings(work, move.findings)
    closed = _resolve(work, move)
    beside = Beside(
        tasks=move.tasks,
        events=(*move.events, *closed.events),
        ledger=(*move.ledger, *closed.ledger),
        outbox=move.outbox,
        approvals=move.approvals,
    )
    write_beside(work, beside)
    return True


def read_landing(reader: Reader, landing_id: LandingId) -> LandingRecord | None:
    """One landing. Raises OperatorError for a row that cannot be read."""
    found = reader.read(_ONE, {"landing_id": known(landing_id)})
    return next((required(f"landing {landing_id}", record, _decode) for (record,) in found), None)


def read_landings(reader: Reader, query: LandingQuery) -> list[LandingRecord]:
    """Landings, oldest or newest first; a row that cannot be read is left out."""
    conditions, params = _conditions(query)
    place = "+seq" if _IS_OPEN in conditions else "seq"
    if query.before is not None:
        beyond = ">" if query.oldest else "<"
        conditions.append(f"{place} {beyond} (SELECT b.seq FROM landings b WHERE b.landing_id = :before)")  # noqa: S608
        params["before"] = known(query.before)
    order = place if query.oldest else f"{place} DESC"
    where = " AND ".join(conditions) or "1 = 1"
    statement = f"SELECT record FROM landings WHERE {where} ORDER BY {order} LIMIT :limit"  # noqa: S608 - our texts
    rows = reader.read(statement, {**params, "limit": bounded(query.limit)})
    return [found for (record,) in rows if (found := opened(record, _decode)[0]) is not None]


def read_unreadable(reader: Reader, limit: int) -> list[str]:
    """Names of open ones that cannot be read."""
    rows = reader.read(_OPEN, {"limit": bounded(limit)})
    return [f"landing {landing_id}" for landing_id, record in rows if opened(record, _decode)[0] is None]


def _check(move: LandingMove) -> None:
    landing = move.landing
    if landing.status not in MOVES[move.was]:
        raise IllegalMove(f"landing {landing.landing_id} is {move.was}: it cannot become {landing.status}")
    if move.resolves == "open":
        raise IllegalMove(f"landing {landing.landing_id}: what is decided is not open", "say how it was decided")
    if any(finding.attempt_id != landing.attempt_id for finding in move.findings):
        raise IllegalMove(f"landing {landing.landing_id}: a finding judges another attempt than its own")


def _write_findings(work: Work, findings: Sequence[FindingRecord]) -> None:
    for finding in findings:
        row = {"finding_id": finding.finding_id, "attempt_id": finding.attempt_id, "record": json(finding)}
        work.run(_FINDING, row)


def _resolve(work: Work, move: LandingMove) -> Beside:
    """Close what a person was asked, where that is open; what tells of it."""
    waiting = open_under(work.run, f"landing:{move.landing.landing_id}") if move.resolves else None
    if waiting is None or move.resolves is None:
        return NOTHING
    said, actor = move.said or move.landing.reason or "", actor_of(move.ledger)
    after, told = decided(waiting, move.resolves, said, actor, moment(work.now_us))
    return told if close(work.run, after) else NOTHING


def row_of(landing: LandingRecord) -> Row:
    """What is written, in the order of `COLUMNS`. Raises ContractViolation for what could not be read again."""
    return (
        name(landing.landing_id),
        name(landing.task_id),
        name(landing.attempt_id),
        landing.status,
        microseconds(landing.created_at),
        microseconds(landing.updated_at),
        document("landing.record", landing, _decode),
    )


def _conditions(query: LandingQuery) -> tuple[list[str], dict[str, Any]]:
    params: dict[str, Any] = {f"status_{number}": status for number, status in enumerate(dict.fromkeys(query.statuses))}
    conditions = [f"status IN ({', '.join(f':{one}' for one in params)})"] if params else []
    if params and OPEN.issuperset(query.statuses):
        conditions.append(_IS_OPEN)
    if query.task_id is not None:
        conditions.append("task_id = :task_id")
        params["task_id"] = known(query.task_id)
    if query.attempt_id is not None:
        conditions.append("attempt_id = :attempt_id")
        params["attempt_id"] = known(query.attempt_id)
    if query.begins is not None:
        conditions.append("substr(landing_id, 1, length(:begins)) = :begins")
        params["begins"] = text(query.begins)
    if query.unasked:
        conditions.append(UNASKED)
    return conditions, params
