"""Store: rows, behind verbs. One set of ports, two drivers: SQLite for one machine, PostgreSQL for many.

Owns: state.db with the files beside it, or the tables of a PostgreSQL database; the doorbell's sockets. Touches: apsw,
psycopg, those files. Leaves to others: which move is right (rules), and what an order means (engine).
"""

from pathlib import Path

from keisei.engine.ports import Store
from keisei.records.error import OperatorError
from keisei.store.clock import Clock, SystemClock

SQLITE = "sqlite://"
POSTGRES = ("postgresql://", "postgres://")


def open_store(url: str, *, clock: Clock | None = None, bell_folder: Path | None = None) -> Store:
    """The store behind an address: `sqlite:///absolute/path/state.db`, taken letter by letter, or `postgresql://...`.

    It is made, or brought up to date, if need be. Each driver is imported only where it is asked for. Raises
    OperatorError or WorldFault, in one sentence.
    """
    if url.startswith(SQLITE):
        from keisei.store.sqlite_store import SqliteStore  # noqa: PLC0415 - see above

        return SqliteStore(Path(url.removeprefix(SQLITE)), clock or SystemClock(), bell_folder)
    if url.startswith(POSTGRES):
        from keisei.store.postgres_store import PostgresStore  # noqa: PLC0415 - see above

        return PostgresStore(url, clock)
    hint = "say sqlite:///absolute/path/state.db or postgresql://user@host/name"
    scheme, colon, _ = url.partition("://")
    told = f"an address that begins with `{scheme}`" if colon else "such an address"  # it may be a password
    raise OperatorError(f"no database has {told}", hint)
