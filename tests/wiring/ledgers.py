"""Ledgers for tests: a project's book with its key, and a copy of it in memory that any hand may change."""

from pathlib import Path

import apsw

from keisei.records.move import NewEntry
from keisei.store import open_store
from keisei.store.ledger import SqliteLedger, insert
from keisei.wiring.checkpoint import checkpoint
from keisei.wiring.ledger_verify import Asked, verify
from keisei.wiring.signing import origin, signer

ORIGIN = origin("shop")


class Book:
    """The ledger of the project `shop`."""

    def __init__(self, folder: Path, url: str | None = None, repository: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.state, self.repository = folder, repository
        self.path = folder / "state.db"
        self.store = open_store(url or f"sqlite://{self.path}")
        self.signer = signer(folder, "shop")

    def fill(self, number: int, **fields: object) -> None:
        """Write rows as the engine does, many in one transaction where there are many."""
        entries = [new(subject=f"t{n}", body={"n": n, "é": "x"}, **fields) for n in range(number)]
        if self.path.exists() and number > 50:
            driver = self.store._reader
            with driver.write() as cursor:
                insert(cursor, entries, driver.now_us())
            return
        for each in entries:
            self.store.append(each)

    def sign(self) -> str:
        """A checkpoint of what is there; its note."""
        made = checkpoint(self.store, self.signer, ORIGIN, self.repository, self.state)
        assert made is not None
        return made.note

    def verify(self, **asked: object):
        given = {"origin": ORIGIN, "state": self.state, "repository": self.repository}
        return verify(self.store, Asked(**given | asked))

    def change(self, *statements: str) -> None:
        """Write past all rules into the file."""
        self.store.close()
        connection = apsw.Connection(str(self.path))
        unlock(connection)
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.close()

    def copy(self) -> "Copy":
        return Copy(self.path)


class Copy:
    """A copy in memory, read through the store's own statements. Whatever is done to it can be taken back."""

    def __init__(self, path: Path) -> None:
        self.connection = apsw.Connection(":memory:")
        source = apsw.Connection(str(path))
        with self.connection.backup("main", source, "main") as backup:
            backup.step()
        source.close()
        unlock(self.connection)
        self.ledger = SqliteLedger(self)

    def read(self, sql, params=()):
        return self.connection.execute(sql, params).fetchall()

    def verify(self, **asked: object):
        return verify(self.ledger, Asked(**{"origin": ORIGIN} | asked))

    def after(self, *statements, look=None, **asked: object):
        """What is found after that; None where the database cannot hold it. Everything is as it was again."""
        self.read("SAVEPOINT whole")
        try:
            for sql, *params in statements:
                self.read(sql, params)
            return self.verify(**asked) if look is None else look()
        except apsw.ConstraintError:
            return None
        finally:
            self.read("ROLLBACK TO whole")
            self.read("RELEASE whole")


def unlock(connection: apsw.Connection) -> None:
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f'DROP TRIGGER "{name}"')


def new(**fields: object) -> NewEntry:
    return NewEntry(**{"kind": "k", "actor": "a", "subject": "s", "body": {}} | fields)


def flips(value, is_text):
    """Every value that differs in one bit, as a column takes it: a number has 64 of them."""
    if isinstance(value, int):
        for bit in range(64):
            changed = (value & (2**64 - 1)) ^ (1 << bit)
            yield changed - 2**64 if changed >= 2**63 else changed
        return
    raw = value.encode() if is_text else value
    for place in range(len(raw)):
        for bit in range(8):
            yield raw[:place] + bytes([raw[place] ^ (1 << bit)]) + raw[place + 1 :]
