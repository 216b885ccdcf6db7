"""The vault: everything that is authored, as tables to ask. Disposable, and never in the way.

It is kept in a file. Where none can be kept it is in memory, and says why. A file that is deleted or replaced is left
for the one that stands there now; a broken one, and one of another layout, is begun again; one that is another
program's is left alone for ever. Readers never wait for a writer; writers take turns.

What was known of a file that is gone is no longer true, so whoever had asked is told by `Begun`, and asks again. A file
that breaks twice is given up, so that is over soon.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from keisei.graph import vault_file, vault_write
from keisei.graph.vault_file import OPENING, Mark
from keisei.graph.vault_lock import WriterLock
from keisei.records.error import WorldFault
from keisei.records.problem import Problem
from keisei.records.sage import Leaf, NodeKind

if TYPE_CHECKING:
    import apsw

T = TypeVar("T")

FILE: Final = "graph.db"
"""What it is called in a project's state folder."""
PATIENCE_S: Final = 60.0
PAUSE_S: Final = 0.01
KNOWN: Final = "SELECT node, name, layer, stamp, files, problem FROM sources"
FACT: Final = "SELECT value FROM facts WHERE name = ?"
SET_FACT: Final = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = ?2"


class Known(NamedTuple):
    """What was read of one thing, and when."""

    path: str
    """Its file."""
    layer: str
    """Where that stands."""
    stamp: str | None
    """What its files looked like then; None: read it again."""
    files: tuple[str, ...]
    """Everything that was read for it."""
    problem: Problem | None
    """Why there is nothing to find; None where there is."""


Key = tuple[NodeKind, str]
"""What it is, and what it is called."""


class Entry(NamedTuple):
    """One thing, as it was read now."""

    known: Known
    """What to remember of its files."""
    leaf: Leaf | None
    """What it says; None where it has a problem."""


class Batch(NamedTuple):
    """What changed."""

    entries: dict[Key, Entry]
    """What is new or another."""
    gone: frozenset[Key]
    """What is no longer there."""
    pairs: Mapping[tuple[str, str], int] | None = None
    """In how many runs two atoms were used together, all there are, in any order; None: as they were."""


class Begun(WorldFault):
    """The index is another one than a moment ago, and may be empty. Whoever compares and applies again is well."""

    def __init__(self) -> None:
        super().__init__("the index was begun again meanwhile", "try again", retryable=True)


class Vault:
    """One index. Threads may share it; nobody takes `lock` while inside `reading`."""

    def __init__(self, path: Path | None, owner: int = 0) -> None:
        """Nothing is opened yet. Without a path it is in memory. `owner` is the number of the corpus, 31 bits of it."""
        self._owner = owner
        self.in_memory = path is None
        self.why: str | None = None
        """Why it is in memory, where a file was asked for."""
        self.path = path or Path(FILE)
        self._turn = threading.RLock()
        self._writer = threading.RLock()
        self._lock = WriterLock(self.path)
        self._depth = 0
        self._connection: apsw.Connection | None = None
        self._mark: Mark | None = None
        self._told: apsw.Connection | None = None
        """What `known` was answered from."""
        self._broken: Mark | None = None
        self._breaks = 0

    @property
    def db(self) -> "apsw.Connection":
        """For one statement; whoever asks several uses `reading`."""
        with self._turn, self._guarded():
            return self._made()

    def version(self) -> tuple[object, int]:
        """What is another when somebody else wrote to the file, or another file stands there."""
        with self._turn, self._guarded():
            db = self._made()
            return db, int(db.pragma("data_version"))

    @contextmanager
    def reading(self) -> Iterator["apsw.Connection"]:
        """One consistent state for several statements."""
        with self._turn, self._guarded():
            db = self._made()
            if db.in_transaction:
                yield db
                return
            db.execute("BEGIN")
            try:
                yield db
            finally:
                _ended(db)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Be the only writer. Raises WorldFault where somebody else is one for too long."""
        if not self._writer.acquire(timeout=PATIENCE_S):
            raise self._busy()
        try:
            self._depth += 1
            if self._depth == 1:
                self._take()
            yield
        finally:
            self._depth -= 1
            if not self._depth:
                with self._turn:
                    self._lock.release()
            self._writer.release()

    def known(self) -> dict[Key, Known]:
        """What was read of which files. Without a file nothing is, and none is made by asking."""
        with self._turn:
            self._told = None
            return self._asked(self._known) or {}

    def apply(self, batch: Batch) -> None:
        """Make it so, as a whole or not at all. Raises Begun where it is not the one that `known` told of."""
        self._written(lambda db: vault_write.apply(db, batch))

    def fact(self, name: str) -> str | None:
        """A small value that was kept under a name."""
        rows = self._asked(lambda db: db.execute(FACT, (name,)).fetchall())
        return str(rows[0][0]) if rows else None

    def set_fact(self, name: str, value: str) -> None:
        """Keep a small value. Raises Begun as `apply` does."""
        self._written(lambda db: db.execute(SET_FACT, (name, value)).fetchall())

    def close(self) -> None:
        """Give the file back. Safe to say twice; whoever uses it after that opens it again."""
        with self._turn:
            self._drop()
            self._told = None

    def _asked(self, question: "Callable[[apsw.Connection], T]") -> T | None:
        """The answer; None where there is no file of ours. What breaks is begun again, and asked again."""
        while True:
            with suppress(Begun), self._turn, self._guarded(all_ours=True):
                db = self._ready(make=False)
                return None if db is None else question(db)

    def _written(self, action: "Callable[[apsw.Connection], object]") -> None:
        with self.lock(), self._turn, self._guarded(all_ours=True):
            db = self._made()
            self._check_told(db)
            db.execute("BEGIN IMMEDIATE")
            try:
                action(db)
                db.execute("COMMIT")
            finally:
                _ended(db)

    def _known(self, db: "apsw.Connection") -> dict[Key, Known]:
        self._told = db
        rows: list[tuple[Any, ...]] = db.execute(KNOWN).fetchall()
        files = vault_write.unpacked([row[4] for row in rows])
        return {
            (node, name): Known(path, layer, stamp, tuple(rest), problem and vault_write.PROBLEM.decode(problem))
            for (node, name, layer, stamp, _, problem), (path, *rest) in zip(rows, files, strict=True)
        }

    def _check_told(self, db: "apsw.Connection") -> None:
        """What is known of one file is not written into another, nor asked of it. It is said once."""
        told, self._told = self._told, db
        if told is not None and told is not db:
            raise Begun

    @contextmanager
    def _guarded(self, *, all_ours: bool = False) -> Iterator[None]:
        """Whatever is wrong with the file becomes Begun, and the next use has another one."""
        try:
            yield
        except Exception as error:
            if not self._is_forsaken(error, all_ours=all_ours):
                raise
            raise Begun from error

    def _is_forsaken(self, error: Exception, *, all_ours: bool) -> bool:
        """Whether the error is the file's fault, which is left then: to be begun again, or for ever."""
        fault = None if self.in_memory else vault_file.fault(error, all_ours=all_ours)
        if fault is None:
            return False
        self._breaks += fault == "broken"
        self._broken = self._mark or vault_file.marked(self.path)
        self._drop()
        if fault != "broken" or self._breaks > 1:
            self._give_up(vault_file.cannot(self.path, error))
        return True

    def _give_up(self, why: str) -> None:
        self.in_memory, self.why = True, why

    def _made(self) -> "apsw.Connection":
        db = self._ready(make=True)
        assert db is not None  # noqa: S101 - it was to be made
        return db

    def _ready(self, *, make: bool) -> "apsw.Connection | None":
        """The connection to the file that stands there now; None where there is none and none is to be made."""
        if self._connection is not None and (self.in_memory or vault_file.marked(self.path) == self._mark):
            return self._connection
        self._drop()
        deadline = time.monotonic() + PATIENCE_S
        while not self._is_open():
            if not make:
                return None
            if not self._is_begun():
                if time.monotonic() >= deadline:
                    raise self._busy()
                time.sleep(PAUSE_S)
        return self._connection

    def _is_open(self) -> bool:
        """Whether there is a connection now."""
        if self.in_memory:
            self._connection = vault_file.unwritten()
            return True
        try:
            with OPENING:
                if self._state() == "ours" and (found := vault_file.opened(self.path, self._owner)):
                    self._connection, self._mark = found
        except Exception as error:
            if not self._is_forsaken(error, all_ours=True):
                raise
            return self._is_open()
        return self._connection is not None

    def _is_begun(self) -> bool:
        """Whether there is a file of ours now, by whomever. False: somebody else is at it."""
        is_ours = self._lock.is_held
        try:
            if not is_ours and not self._lock.taken():
                return False
            with OPENING:
                if self._state() != "ours":
                    vault_file.begun(self.path, self._owner)
                    self._broken = None
        except Exception as error:
            if not self._is_forsaken(error, all_ours=True):
                raise
        finally:
            if not is_ours:
                self._lock.release()
        return True

    def _state(self) -> vault_file.State:
        found = vault_file.state(self.path, self._owner)
        return "older" if found == "ours" and vault_file.marked(self.path) == self._broken else found

    def _take(self) -> None:
        """Take the lock, and have a file before anybody waits for long work on it."""
        deadline = time.monotonic() + PATIENCE_S
        try:
            while not self.in_memory and not self._lock.taken():
                if time.monotonic() >= deadline:
                    raise self._busy()
                time.sleep(PAUSE_S)
        except OSError as error:
            with self._turn:
                self._drop()
                self._give_up(vault_file.cannot(self.path, error))
        with self._turn:
            self._made()

    def _drop(self) -> None:
        connection, self._connection, self._mark = self._connection, None, None
        if connection is not None:
            vault_file.closed(connection)

    def _busy(self) -> WorldFault:
        message = f"the index `{self.path}` is being written by somebody else, for more than {PATIENCE_S:.0f} s"
        return WorldFault(message, "wait until that is done, or end it", retryable=True)


def _ended(db: "apsw.Connection") -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")
