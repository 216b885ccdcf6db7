"""Runners: who is there, and how long a lease holds.

On SQLite, which is one machine, a lease is counted by the clock that never jumps, within one start of the machine; on
PostgreSQL by the server's clock.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from keisei.records.beside import Beside
from keisei.records.error import IllegalMove
from keisei.records.id import RunnerId, TaskId
from keisei.records.runner import Beat, RunnerRecord
from keisei.store.ask import known
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.reader import Reader
from keisei.store.row import Row, name, text
from keisei.store.sqlite import Sqlite, fetched
from keisei.store.step import CLOCK, NOW, SERVER_US, Executor, chain
from keisei.store.work import Work, write_beside

_COLUMNS = "runner_id, host, boot_id, pid, born, version, slots, lease_us, state, started_at, ended_at, heartbeat_at"
_READ = f"SELECT {_COLUMNS} FROM runners %s ORDER BY started_at DESC, runner_id DESC"  # noqa: S608 - constants
_ALIVE, _ALL = _READ % "WHERE ended_at IS NULL", _READ % ""
_SAME = "SELECT host, pid, born FROM runners WHERE runner_id = :runner_id"

_REGISTER = f"""
INSERT INTO runners ({_COLUMNS}, beat_us, beat_boot_id)
VALUES (:runner_id, :host, :boot_id, :pid, :born, :version, :slots, :lease_us, :state, :started_at, :ended_at,
    %s, :beat_us, :beat_boot_id) ON CONFLICT DO NOTHING RETURNING 1
"""  # noqa: S608 - constants
_REGISTER_SQLITE, _REGISTER_POSTGRES = _REGISTER % ":heartbeat_at", _REGISTER % NOW

_PAUSED = "SELECT reason FROM pauses WHERE scope IN ('all', :runner_id) ORDER BY scope = 'all' DESC LIMIT 1"
_CANCELED = """
SELECT t.task_id FROM attempts a JOIN tasks t ON t.task_id = a.task_id
WHERE a.runner_id = :runner_id AND a.exit_status IS NULL AND t.cancel_at IS NOT NULL ORDER BY t.cancel_at, t.seq
"""
_BEAT_SQLITE = """
UPDATE runners SET heartbeat_at = :heartbeat_at, beat_us = :beat_us, beat_boot_id = :beat_boot_id
WHERE runner_id = :runner_id AND ended_at IS NULL RETURNING state
"""
_BEAT_POSTGRES = chain(
    CLOCK,
    """done AS (
    UPDATE runners SET heartbeat_at = clock.us FROM clock WHERE runner_id = :runner_id AND ended_at IS NULL
    RETURNING state
)""",
    result=f"SELECT state, ({_PAUSED}), ARRAY({_CANCELED}), {SERVER_US} FROM done",  # noqa: S608 - constants
)
_DRAIN = "UPDATE runners SET state = 'draining' WHERE runner_id = :runner_id AND state = 'active' RETURNING 1"
_LEAVE = "UPDATE runners SET state = 'stopped', ended_at = %s WHERE runner_id = :runner_id AND ended_at IS NULL"
_LEAVE_SQLITE, _LEAVE_POSTGRES = _LEAVE % ":ended_at", _LEAVE % NOW


class Heart(Protocol):
    """The PostgreSQL driver, as heartbeats see it."""

    def execute_beat(self, sql: str, params: Mapping[str, Any], /) -> list[Row]:
        """Run one statement on a connection that nothing else uses."""

    def hear(self, server_us: int) -> None:
        """The server's clock stood there a moment ago."""


def register_sqlite(db: Sqlite, runner: RunnerRecord) -> None:
    """A runner begins; its heartbeat starts now. Raises IllegalMove for an id that another runner has."""
    params = {**_params(runner), **_beat_params(db, runner.runner_id)}
    with db.write() as cursor:
        if not fetched(cursor, _REGISTER_SQLITE, params):
            _check_same(runner, fetched(cursor, _SAME, {"runner_id": runner.runner_id}))


def register_postgres(db: Executor, runner: RunnerRecord) -> None:
    """As `register_sqlite`."""
    params = {**_params(runner), "beat_us": 0, "beat_boot_id": runner.boot_id}
    if not db.execute(_REGISTER_POSTGRES, params):
        _check_same(runner, db.execute(_SAME, params))


def beat_sqlite(db: Sqlite, runner_id: RunnerId) -> Beat:
    """Renew the lease. A runner that is lost, stopped or unknown stays so."""
    params = {"runner_id": known(runner_id)}
    with db.write() as cursor:
        found = fetched(cursor, _BEAT_SQLITE, _beat_params(db, runner_id))
        paused = fetched(cursor, _PAUSED, params)
        canceled = fetched(cursor, _CANCELED, params)
    reason = paused[0][0] if paused else None
    return _beat(found[0][0], reason, [task_id for (task_id,) in canceled]) if found else Beat(alive=False)


def beat_postgres(db: Heart, runner_id: RunnerId) -> Beat:
    """As `beat_sqlite`; the answer tells the server's time too."""
    for state, paused, canceled, server_us in db.execute_beat(_BEAT_POSTGRES, {"runner_id": known(runner_id)}):
        db.hear(server_us)
        return _beat(state, paused, canceled)
    return Beat(alive=False)


def drain(work: Work, runner_id: RunnerId, beside: Beside) -> bool:
    """Tell a runner to take nothing new. False where it is not active, and nothing was written."""
    done = bool(work.run(_DRAIN, {"runner_id": known(runner_id)}))
    if done:
        write_beside(work, beside)
    return done


def leave_sqlite(db: Sqlite, runner_id: RunnerId) -> None:
    """A runner stops by itself."""
    with db.write() as cursor:
        cursor.execute(_LEAVE_SQLITE, {"runner_id": known(runner_id), "ended_at": db.now_us()})


def leave_postgres(db: Executor, runner_id: RunnerId) -> None:
    """As `leave_sqlite`."""
    db.execute(_LEAVE_POSTGRES, {"runner_id": known(runner_id)})


def runners(db: Reader, *, gone: bool) -> list[RunnerRecord]:
    """Runners that are active or draining; with `gone` the others too. Newest first."""
    return [_runner(row) for row in db.read(_ALL if gone else _ALIVE, {})]


def _beat(state: str, paused: str | None, canceled: list[str]) -> Beat:
    tasks = tuple(TaskId(task_id) for task_id in canceled)
    return Beat(alive=True, draining=state == "draining", paused=paused, canceled=tasks)


def _beat_params(db: Sqlite, runner_id: RunnerId) -> dict[str, Any]:
    return {
        "runner_id": known(runner_id),
        "heartbeat_at": db.now_us(),
        "beat_us": round(db.clock.boottime() * 1_000_000),
        "beat_boot_id": db.clock.boot_id,
    }


def _check_same(runner: RunnerRecord, found: list[Row]) -> None:
    """The answer to the first call may have been lost: the same process may say it again."""
    if found != [(text(runner.host), runner.pid, text(runner.born))]:
        raise IllegalMove(f"runner {runner.runner_id} is registered already, by another process")


def _params(runner: RunnerRecord) -> dict[str, Any]:
    return {
        "runner_id": name(runner.runner_id),
        "host": text(runner.host),
        "boot_id": text(runner.boot_id),
        "pid": runner.pid,
        "born": text(runner.born),
        "version": text(runner.version),
        "slots": runner.slots,
        "lease_us": round(runner.lease_s * 1_000_000),
        "state": runner.state,
        "started_at": microseconds(runner.started_at),
        "ended_at": maybe_microseconds(runner.ended_at),
    }


def _runner(row: Row) -> RunnerRecord:
    return RunnerRecord(
        runner_id=RunnerId(row[0]),
        host=row[1],
        boot_id=row[2],
        pid=row[3],
        born=row[4],
        version=row[5],
        slots=row[6],
        lease_s=row[7] / 1_000_000,
        state=row[8],
        started_at=moment(row[9]),
        ended_at=maybe_moment(row[10]),
        heartbeat_at=moment(row[11]),
    )
