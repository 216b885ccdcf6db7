"""Pipe runs: what a pipe has done so far. Whoever took a run over last writes to it; others only tell their calls."""

from datetime import datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from keisei.records.error import IllegalMove, OperatorError
from keisei.records.move import NewEntry
from keisei.records.pipe_run import PipeMember, PipeMove, PipeRun
from keisei.store.ask import bounded, known, whole
from keisei.store.clock import microseconds, moment
from keisei.store.document import document, number, required
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_text, name
from keisei.store.work import Work

PAGE_BYTES = 8 * 1024 * 1024
"""A page of members ends behind the one that fills this, so that large outputs are never in memory together."""

_BEGIN = """
INSERT INTO pipe_runs (run_id, status, fence, error, created_at, updated_at, record)
VALUES (:run_id, :status, :fence, :error, :created_at, :updated_at, :record) ON CONFLICT DO NOTHING RETURNING 1
"""
_TAKE = """
UPDATE pipe_runs SET status = CASE status WHEN 'undoing' THEN 'undoing' ELSE 'running' END, fence = fence + 1,
    error = NULL, updated_at = :now, record = :record
WHERE run_id = :run_id AND fence = :fence RETURNING status
"""
# Both wait for whoever takes the run over, and see the fence as that one leaves it.
_STAY = "UPDATE pipe_runs SET updated_at = :now WHERE run_id = :run_id AND fence = :fence RETURNING 1"
_MOVE = """
UPDATE pipe_runs SET status = :status, error = :error, updated_at = :now
WHERE run_id = :run_id AND fence = :fence RETURNING 1
"""
_MEMBER = """
INSERT INTO pipe_members (run_id, step, place, state, record) VALUES (:run_id, :step, :place, :state, :record)
ON CONFLICT (run_id, step, place) DO UPDATE SET state = excluded.state, record = excluded.record
"""
_RUN = "SELECT status, fence, error, updated_at, record FROM pipe_runs"
_ONE = f"{_RUN} WHERE run_id = :run_id"
_BEGINS = "substr(run_id, 1, CAST(:length AS integer)) = :begins"
_BEFORE = "seq < (SELECT b.seq FROM pipe_runs b WHERE b.run_id = :before)"
_SIZES = "SELECT length(record) FROM pipe_members WHERE {where} ORDER BY step, place LIMIT :limit"
_MEMBERS = "SELECT record FROM pipe_members WHERE {where} ORDER BY step, place LIMIT :limit"
_ALL = "run_id = :run_id"
_BEHIND = "run_id = :run_id AND step = :step AND place > :after"
_OVER = "updated_at < :before"  # one that was killed says for ever that it runs
_OLD = f"""
SELECT count(*), coalesce(sum(length(record)), 0) + coalesce(sum((
    SELECT sum(length(member.record)) FROM pipe_members AS member WHERE member.run_id = pipe_runs.run_id
)), 0) FROM pipe_runs WHERE {_OVER}
"""  # noqa: S608 - constants
# Whoever takes one of them over meanwhile waits here, and finds it gone; or is first, and keeps it.
_CLOSE = f"""
UPDATE pipe_runs SET fence = fence + 1
WHERE seq IN (SELECT seq FROM pipe_runs WHERE {_OVER} ORDER BY seq LIMIT :limit) AND {_OVER} RETURNING run_id
"""  # noqa: S608 - constants
_FORGET = ("DELETE FROM pipe_members WHERE run_id = :run_id", "DELETE FROM pipe_runs WHERE run_id = :run_id")
_COUNTS = "SELECT step, state, count(*) FROM pipe_members WHERE run_id = :run_id GROUP BY step, state"

_run = msgspec.json.Decoder(PipeRun).decode
_member = msgspec.json.Decoder(PipeMember).decode


def begin_run(work: Work, run: PipeRun) -> None:
    """Keep a new run with its ledger row. Raises IllegalMove for a known id, or one that has begun."""
    if run.status != "running" or run.fence != 1:
        raise IllegalMove(f"pipe run {run.run_id} begins as running with fence 1")
    row = {
        "run_id": name(run.run_id),
        "status": run.status,
        "fence": run.fence,
        "error": maybe_text(run.error),
        "created_at": microseconds(run.created_at),
        "updated_at": microseconds(run.updated_at),
        "record": document("pipe_run.record", run, _run).encode(),
    }
    if not work.run(_BEGIN, row):
        raise IllegalMove(f"there is a pipe run {run.run_id} already")
    body = {"name": run.name, "source": run.source, "definition_sha": run.definition_sha}
    work.add_ledger([NewEntry(kind="pipe_begun", actor=run.actor, subject=run.run_id, body=body)])


def take_run(work: Work, run: PipeRun) -> PipeRun:
    """Take a run over. Raises IllegalMove where the stored fence is another by now."""
    taken = replace(run, fence=number("pipe_run.fence", run.fence) + 1, error=None, updated_at=moment(work.now_us))
    record = document("pipe_run.record", taken, _run).encode()
    asked = {"run_id": known(run.run_id), "fence": run.fence, "now": work.now_us, "record": record}
    found = work.run(_TAKE, asked)
    if not found:
        raise IllegalMove(f"pipe run {run.run_id} was taken over by somebody else", "look again with `pipe show`")
    return replace(taken, status=found[0][0])


def move_run(work: Work, move: PipeMove) -> bool:
    """Write members, status and ledger rows.

    False: the fence is an older one, or nobody knows the run; then only the ledger rows of calls were written.
    """
    asked: dict[str, Any] = {"run_id": known(move.run_id), "fence": whole(move.fence), "now": work.now_us}
    if move.status is None:
        found = work.run(_STAY, asked)
    else:
        found = work.run(_MOVE, {**asked, "status": move.status, "error": maybe_text(move.error)})
    if not found:
        work.add_ledger([each for each in move.entries if each.kind == "atom_invoked"])  # they took place all the same
        return False
    for member in move.members:
        work.run(_MEMBER, _member_row(move.run_id, member))
    work.add_ledger(move.entries)
    return True


def forget_runs(work: Work, before: datetime, limit: int) -> int:
    """Remove runs that did not move since, the oldest first, with their members. How many it were."""
    found = work.run(_CLOSE, {"before": microseconds(before), "limit": bounded(limit)})
    for (run_id,) in found:
        for sql in _FORGET:
            work.run(sql, {"run_id": run_id})
    return len(found)


def read_old_runs(reader: Reader, before: datetime) -> tuple[int, int]:
    """How many runs did not move since, and how many bytes they take."""
    ((count, size),) = reader.read(_OLD, {"before": microseconds(before)})
    return int(count), int(size)


def read_run(reader: Reader, run_id: str) -> PipeRun | None:
    """One run. Raises OperatorError for a row that cannot be read."""
    return next((_run_of(row, run_id) for row in reader.read(_ONE, {"run_id": known(run_id)})), None)


def read_runs(reader: Reader, limit: int, begins: str, before: str | None = None) -> list[PipeRun]:
    """Runs whose ids begin so, newest first, those older than one of them; a row that cannot be read is left out.

    Older than a run that is not there: none.
    """
    found = []
    asked = {"limit": bounded(limit), "begins": known(begins), "length": len(begins)}
    narrow = _BEGINS
    if before is not None:
        narrow = f"{_BEGINS} AND {_BEFORE}"
        asked["before"] = known(before)
    for row in reader.read(f"{_RUN} WHERE {narrow} ORDER BY seq DESC LIMIT :limit", asked):
        try:
            found.append(_run_of(row, ""))
        except OperatorError:
            continue
    return found


def read_members(reader: Reader, run_id: str, step: str | None, after: int, limit: int) -> list[PipeMember]:
    """Members by (step, index). Fewer than asked for where they are large: only an empty page is the last.

    Raises OperatorError for a row that cannot be read.
    """
    asked: dict[str, Any] = {"run_id": known(run_id), "limit": bounded(limit)}
    where = _ALL if step is None else _BEHIND
    if step is not None:
        asked |= {"step": known(step), "after": whole(after)}
    if asked["limit"] > 1:
        asked["limit"] = _fitting(reader.read(_SIZES.format(where=where), asked))
    rows = reader.read(_MEMBERS.format(where=where), asked)
    return [required(f"member of pipe run {run_id}", record, _member) for (record,) in rows]


def read_member_counts(reader: Reader, run_id: str) -> dict[tuple[str, str], int]:
    """How many members each step has in each state."""
    return {(step, state): count for step, state, count in reader.read(_COUNTS, {"run_id": known(run_id)})}


def _fitting(sizes: list[Row]) -> int:
    """How many rows a page holds."""
    total = 0
    for count, (size,) in enumerate(sizes, start=1):
        total += size
        if total >= PAGE_BYTES:
            return count
    return len(sizes)


def _member_row(run_id: str, member: PipeMember) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "step": name(member.step),
        "place": number("pipe_member.index", member.index),
        "state": member.state,
        # not read again first, as `document` can: outputs are large, and were JSON a moment ago
        "record": document("pipe_member.record", member, len).encode(),
    }


def _run_of(row: Row, run_id: str) -> PipeRun:
    status, fence, error, updated_at, record = row
    run = required(f"pipe run {run_id}".rstrip(), record, _run)
    return replace(run, status=status, fence=fence, error=error, updated_at=moment(updated_at))
