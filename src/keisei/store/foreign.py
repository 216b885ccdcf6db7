"""Foreign: the original's database, read and never written. Rows come back as plain values, whatever stands in them."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote

import apsw

from keisei.records.error import OperatorError

TABLES: Final[dict[str, tuple[str, ...]]] = {
    "tasks": (
        *("task_id", "kind", "source", "subject", "description", "priority", "payload_json", "requested_profile"),
        *("requested_adapter", "status", "created_at", "updated_at", "attempt_count", "max_attempts", "available_at"),
        *("started_at", "finished_at", "outcome_json", "last_error"),
    ),
    "workflows": (
        *("id", "template", "instance_key", "current_state", "context_json", "created_at", "updated_at"),
        "completed_at",
    ),
    "schedules": (
        *("schedule_id", "name", "enabled", "interval_seconds", "next_run_at", "last_run_at", "task_json"),
        *("created_at", "updated_at"),
    ),
    "sensor_events": (
        *("sensor_event_id", "sensor_id", "event_id", "observed_at", "source_ref", "dedupe_key", "payload_json"),
        *("task_id", "workflow_id", "created_at"),
    ),
}
"""Tables that are read, with their columns."""
AGENTS: Final = (
    *("id", "branch", "parent_branch", "spec_sha", "status", "started_ts", "finished_ts", "summary", "worktree_path"),
    *("dna", "creator_id", "fork_parent_id", "cost_cents", "provider", "model", "cost_micro_cents", "tokens_in"),
    *("tokens_out", "stubs_count", "outcome", "escalation_depth"),
)
"""Columns of the agents in its ledger; the first versions had only some of them."""
COUNTED: Final = ("task_attempts", "bundles", "run_events")
"""Tables whose rows are only counted."""
YOUNGER: Final = frozenset({"subject", "description"})
"""Columns of tasks that older databases do not have."""
WAL_MODE: Final = 2
WAL_PLACE: Final = 18
"""Where in its header a database says whether it is written through a log of its own."""
HEADER: Final = b"SQLite format 3\x00"
HINT: Final = "name the runtime.db of the original; its dbPath says where it is"
AGENTS_HINT: Final = "name the ledger.sqlite of the original, or a file that `keisei ledger export` wrote"

Row = dict[str, Any]
T = TypeVar("T")


class Foreign(NamedTuple):
    """What stands in such a database."""

    path: Path
    rows: dict[str, list[Row]]
    """Each table that is read; a column that it does not have is None."""
    counts: dict[str, int]
    """How many rows the other tables have."""


def read_foreign(path: Path) -> Foreign:
    """All rows, as of one moment. Raises OperatorError, in one sentence, for a file that cannot be read whole."""
    return _looked_into(path, _read, HINT)


def read_agents(path: Path) -> list[Row]:
    """The agents of the original's ledger.sqlite, in the order in which they were written. Raises likewise."""
    return _looked_into(path, _read_agents, AGENTS_HINT)


def _looked_into(path: Path, read: Callable[[apsw.Connection, Path], T], hint: str) -> T:
    wal = _checked(path, hint)
    # A log of its own that is empty, or not there, leaves nothing out; and opened so, not even a lock is written.
    address = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if wal else ''}"
    try:
        connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    except apsw.Error as error:
        raise OperatorError(f"`{path}` cannot be opened: {_said(error)}", hint) from error
    try:
        return read(connection, path)
    except apsw.BusyError as error:
        raise OperatorError(
            f"`{path}` is locked: somebody writes to it", "stop the original, then try again"
        ) from error
    except apsw.Error as error:
        raise OperatorError(f"`{path}` cannot be read whole: {_said(error)}", "restore it from a backup") from error
    finally:
        connection.close(force=True)


def _said(error: apsw.Error) -> str:
    return str(error).removeprefix(f"{type(error).__name__}: ").splitlines()[0] if str(error) else type(error).__name__


def _checked(path: Path, hint: str) -> bool:
    """Whether it is written through a log of its own. Raises for what is no database, or would be read in part."""
    try:
        if not path.is_file():
            raise OperatorError(f"`{path}` is not a file", hint)
        with path.open("rb") as file:
            head = file.read(WAL_PLACE + 1)
        left = [f"{path.name}{end}" for end in ("-wal", "-journal") if _size(Path(f"{path}{end}"))]
    except (OSError, ValueError) as error:
        why = (error.strerror or "").lower() if isinstance(error, OSError) else "it has a zero byte"
        raise OperatorError(f"`{path}` cannot be read: {why}", hint) from error
    if len(head) <= WAL_PLACE or not head.startswith(HEADER):
        raise OperatorError(f"`{path}` is no SQLite database", hint)
    if left:
        message = f"`{left[0]}` beside `{path}` holds changes that are not in the database yet"
        stop = f"stop the original, then: sqlite3 {path.name} 'PRAGMA wal_checkpoint(TRUNCATE)'"
        raise OperatorError(message, stop)
    return head[WAL_PLACE] == WAL_MODE


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _begun(connection: apsw.Connection, path: Path) -> tuple[apsw.Cursor, set[str]]:
    """A moment of a database that is whole, and its tables."""
    cursor = connection.cursor()
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
        cursor.execute(f"PRAGMA {pragma}").fetchall()
    cursor.execute("BEGIN").fetchall()
    fault = cursor.execute("PRAGMA quick_check(1)").fetchall()[0][0]
    if fault != "ok":
        raise OperatorError(f"`{path}` is damaged: {str(fault).splitlines()[-1]}", "restore it from a backup")
    return cursor, {str(name) for (name,) in cursor.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def _read(connection: apsw.Connection, path: Path) -> Foreign:
    cursor, tables = _begun(connection, path)
    _check_tasks(cursor, tables, path)
    rows = {name: list(_rows(cursor, name, TABLES[name])) if name in tables else [] for name in TABLES}
    counts = {name: _count(cursor, name) if name in tables else 0 for name in COUNTED}
    return Foreign(path, rows, counts)


def _read_agents(connection: apsw.Connection, path: Path) -> list[Row]:
    cursor, tables = _begun(connection, path)
    if "agents" not in tables or not {"id", "status"} <= _columns(cursor, "agents"):
        raise OperatorError(f"`{path}` is no ledger of the original: it has no table `agents`", AGENTS_HINT)
    return list(_rows(cursor, "agents", AGENTS))


def _check_tasks(cursor: apsw.Cursor, tables: set[str], path: Path) -> None:
    """Raises where the table that the original cannot be without is not there, or is another one."""
    missing = set(TABLES["tasks"]) - YOUNGER - (_columns(cursor, "tasks") if "tasks" in tables else set())
    if missing:
        what = "it has no table `tasks`" if "tasks" not in tables else f"its `tasks` have no `{min(missing)}`"
        raise OperatorError(f"`{path}` is no database of the original: {what}", HINT)


def _columns(cursor: apsw.Cursor, table: str) -> set[str]:
    return {str(row[1]) for row in cursor.execute(f"PRAGMA table_info({table})")}


def _rows(cursor: apsw.Cursor, table: str, columns: Sequence[str]) -> Iterator[Row]:
    """Rows in the order in which they were written. Text comes as bytes, so that no row spoils its neighbours."""
    there = _columns(cursor, table)
    known = [name for name in columns if name in there]
    parts = ", ".join(f"CASE typeof({each}) WHEN 'text' THEN CAST({each} AS BLOB) ELSE {each} END" for each in known)
    empty = dict.fromkeys(columns)
    for row in cursor.execute(f"SELECT {parts} FROM {table} ORDER BY rowid"):  # noqa: S608 - names of our own
        yield empty | dict(zip(known, map(_value, row), strict=True))


def _value(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _count(cursor: apsw.Cursor, table: str) -> int:
    ((number,),) = cursor.execute(f"SELECT count(*) FROM {table}").fetchall()  # noqa: S608 - a name of our own
    return number if isinstance(number, int) else 0
