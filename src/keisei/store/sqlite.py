"""The SQLite driver: one connection that writes, one that reads, and whose turn it is.

Both are opened when first needed, and anew in the child of a fork. Nobody else may open the file: closing any
descriptor of it would drop this process's locks. Where nothing can be written, it is read; see `link.Still`.
"""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw

from keisei.records.error import KeiseiError, OperatorError, WorldFault
from keisei.store import migrate
from keisei.store.clock import Clock, microseconds
from keisei.store.link import Link, Still, check_library
from keisei.store.place import create, prepared
from keisei.store.turn import NoTurn, Turn

DEADLINE_S = 10.0
"""The longest wait for a turn to write."""
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table'"
RECORD = "INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)"

Row = tuple[Any, ...]
Params = Sequence[Any] | Mapping[str, Any]


def fetched(cursor: apsw.Cursor, sql: str, params: Params = ()) -> list[Row]:
    """The rows of one statement inside a transaction."""
    return cursor.execute(sql, params).fetchall()


class Sqlite:
    """One database file. Any number of threads may use it."""

    def __init__(self, path: Path, clock: Clock, *, deadline_s: float = DEADLINE_S) -> None:
        """Open it, made and brought up to date if need be. Raises OperatorError or WorldFault, in one sentence."""
        check_library()
        self.path = prepared(path)
        self.clock = clock
        self.deadline_s = deadline_s
        self._writer = Link(self.path, only_reads=False)
        self._lock = self.path.with_name(f"{self.path.name}.lock")
        self._turn: Turn | None = None
        self._begin()
        self._reader = self._new_reader()
        try:
            self._migrate()
        except KeiseiError:
            self.close()
            raise

    def now_us(self) -> int:
        """The clock's time, as the tables keep it."""
        return microseconds(self.clock.now())

    def write(self) -> "Transaction":
        """A transaction: committed at the end of the block, taken back if the block raises.

        Raises WorldFault where the turn does not come in time or the disk does not take it: then nothing was written.
        """
        return Transaction(self)

    def read(self, sql: str, params: Params = ()) -> list[Row]:
        """The rows of one statement, as of now. Waits for no writer."""
        self._same_process()
        with self._reading:
            try:
                return self._reader.read(sql, params)
            except apsw.Error as error:
                raise self._reader.failed(error) from error

    def close(self) -> None:
        """Give back connections and lock. Safe to say twice; whoever uses it after that opens it again."""
        self._same_process()
        with self._writing, self._reading:
            self._writer.close()
            self._reader.close()
            if self._turn is not None:
                self._turn.close()

    def begin(self) -> apsw.Cursor:
        """Wait for the turn and begin; `end` must follow."""
        self._take_turn()
        try:
            cursor = self._writer.opened()
            cursor.execute("BEGIN IMMEDIATE")
        except BaseException as error:
            self._give_turn()
            if isinstance(error, apsw.Error):
                raise self._writer.failed(error) from error
            raise
        return cursor

    def end(self, error: BaseException | None) -> None:
        """Commit, or take back what was written before the error. The library's errors leave as ours."""
        try:
            if error is None:
                self._writer.commit()
            elif isinstance(error, apsw.Error):
                raise error
        except apsw.Error as failure:
            raise self._writer.failed(failure) from failure
        finally:
            self._writer.take_back()
            self._give_turn()

    def _take_turn(self) -> None:
        """First among the threads, then among the processes; both waits together end at the deadline."""
        self._same_process()
        deadline = time.monotonic() + self.deadline_s
        if not self._writing.acquire(timeout=self.deadline_s):
            raise WorldFault(f"another thread holds the database {self.path}", retryable=True)
        try:
            if self._turn is None:
                self._turn = Turn(self._lock)  # the place may be writable by now; where it is not, this says so
            self._turn.take(deadline - time.monotonic())
        except BaseException:
            self._writing.release()
            raise

    def _give_turn(self) -> None:
        if self._turn is not None:
            self._turn.give()
        self._writing.release()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._writing, self._reading = threading.Lock(), threading.Lock()
        try:
            self._turn = Turn(self._lock)
        except NoTurn:
            if not self.path.exists():
                raise
            self._turn = None

    def _new_reader(self) -> Link:
        return Still(self.path) if self._turn is None else Link(self.path, only_reads=True)

    def _same_process(self) -> None:
        if self._pid != os.getpid():
            self._writer.leave_to_parent()
            self._reader.leave_to_parent()
            self._begin()

    def _migrate(self) -> None:
        """Most openings find everything done and wait for nobody; the others run what is missing, one at a time."""
        if self.path.exists() and self._is_current():
            return
        self._create()
        with self.write() as cursor:
            for step in migrate.missing("sqlite", self._applied()):
                cursor.execute(step.sql).fetchall()
                cursor.execute(RECORD, (step.version, step.name, step.checksum, self.now_us()))

    def _is_current(self) -> bool:
        try:
            return not migrate.missing("sqlite", self._applied())
        except WorldFault:  # somebody is making it just now
            return False

    def _create(self) -> None:
        """Make the file, and have it kept with a log, which is said once for all connections."""
        self._take_turn()
        try:
            create(self.path)
            self._writer.opened().execute("PRAGMA journal_mode = WAL").fetchall()
        except apsw.Error as error:
            raise self._writer.failed(error) from error
        finally:
            self._give_turn()

    def _applied(self) -> list[Row]:
        names = {name for (name,) in self.read(TABLES)}
        if names and migrate.TABLE not in names:
            raise OperatorError(f"{self.path} is a database of another program", "name a place for a new one")
        return self.read(migrate.APPLIED) if names else []


class Transaction:
    """One turn with one transaction in it. Not a generator, which would take as long as the turn itself."""

    __slots__ = ("_driver",)

    def __init__(self, driver: Sqlite) -> None:
        self._driver = driver

    def __enter__(self) -> apsw.Cursor:
        return self._driver.begin()

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._driver.end(error)
