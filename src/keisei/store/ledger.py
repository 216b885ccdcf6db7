"""The ledger's rows: written once, in the transaction they tell of, and read in the order of their seals.

SQLite seals a row in that transaction. PostgreSQL's writers only insert, so that none waits for another; see `seal`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import apsw
import msgspec
from msgspec.structs import replace

from keisei.records.error import ContractViolation, OperatorError
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, LedgerRow, NewEntry
from keisei.rules.chain import doubles
from keisei.rules.ledger import GENESIS, LARGEST_NAME, StoredRow, chain_hash, content_of, entry_of, leaf_hash
from keisei.store.ask import LARGEST, SMALLEST, bounded, known, whole
from keisei.store.clock import moment
from keisei.store.reader import Reader, Row
from keisei.store.row import json, text
from keisei.store.sqlite import Sqlite, fetched

PAGE = 500

HEAD = "SELECT seq, chain_hash FROM seals ORDER BY seq DESC LIMIT 1"
WRITE = "INSERT INTO ledger (kind, subject, content, leaf_hash) VALUES (?, ?, ?, ?)"
SEAL = "INSERT INTO seals (seq, entry_id, leaf_hash, chain_hash) VALUES (?, ?, ?, ?)"

ENTRIES = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq > :after ORDER BY s.seq LIMIT :limit
"""
# A rare kind is found by its index and sorted; a common one by walking along the places, where it is met soon.
FEW = 5000
COUNT = "SELECT count(*) FROM (SELECT 1 FROM ledger WHERE kind = :kind LIMIT :few) k"
OF_COMMON_KIND = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq > :after AND l.kind || '' = :kind ORDER BY s.seq LIMIT :limit
"""
OF_RARE_KIND = """
SELECT p.seq, l.content, l.leaf_hash
FROM (
    SELECT s.seq, s.entry_id FROM ledger k JOIN seals s ON s.entry_id = k.entry_id
    WHERE k.kind = :kind AND s.seq > :after ORDER BY s.seq LIMIT :limit
) p JOIN ledger l ON l.entry_id = p.entry_id ORDER BY p.seq
"""
NEWEST = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq < :before ORDER BY s.seq DESC LIMIT :limit
"""
NEWEST_OF_COMMON_KIND = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq < :before AND l.kind || '' = :kind ORDER BY s.seq DESC LIMIT :limit
"""
NEWEST_OF_RARE_KIND = """
SELECT p.seq, l.content, l.leaf_hash
FROM (
    SELECT s.seq, s.entry_id FROM ledger k JOIN seals s ON s.entry_id = k.entry_id
    WHERE k.kind = :kind AND s.seq < :before ORDER BY s.seq DESC LIMIT :limit
) p JOIN ledger l ON l.entry_id = p.entry_id ORDER BY p.seq DESC
"""
ENTRY = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id WHERE s.seq = :seq
"""
# Text as bytes: what was changed need not be text any more.
ROWS = """
SELECT s.seq, l.content, l.leaf_hash, s.leaf_hash, s.chain_hash, {kind}, {subject}
FROM seals s LEFT JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq >= :first ORDER BY s.seq LIMIT :limit
"""
STRAYS = """
SELECT l.content, l.leaf_hash, {kind}, {subject} FROM ledger l
WHERE NOT EXISTS (SELECT 1 FROM seals s WHERE s.entry_id = l.entry_id) {besides} ORDER BY l.entry_id LIMIT 1
"""
SQLITE = {"kind": "CAST(l.kind AS BLOB)", "subject": "CAST(l.subject AS BLOB)", "besides": ""}
POSTGRES = {
    "kind": "convert_to(l.kind, 'UTF8')",
    "subject": "convert_to(l.subject, 'UTF8')",
    "besides": "AND NOT EXISTS (SELECT 1 FROM unsealed u WHERE u.entry_id = l.entry_id)",
}
# Here places follow ids, so that what has no seal stands behind the last that has one.
UNSEALED = "SELECT count(*) FROM ledger WHERE entry_id > (SELECT COALESCE(max(entry_id), 0) FROM seals)"


class Written(NamedTuple):
    """A row as it is stored, before it has a place."""

    kind: str
    """As in the content, for those who ask for a kind."""
    subject: str
    """As in the content."""
    content: bytes
    """What is hashed."""
    leaf_hash: bytes
    """Its hash."""


def written(entry: NewEntry, now_us: int) -> Written:
    """A row as it is stored. Raises ContractViolation for what cannot be one.

    What the engine tells is never refused for text or numbers that an agent chose, or a task could not be settled: they
    are mended as they are in the other tables. What a person tells is.
    """
    recorded_at = moment(now_us)
    try:
        content = content_of(entry, recorded_at)
    except ValueError as error:
        if entry.source == "manual":
            raise ContractViolation("ledger.entry", [str(error)]) from error
        entry, content = _mended(entry, recorded_at)
    return Written(entry.kind, entry.subject, content, leaf_hash(content))


def insert(cursor: apsw.Cursor, entries: Sequence[NewEntry], now_us: int) -> int:
    """SQLite: write and seal rows inside the caller's transaction. The place of the last one, 0 where there are none.

    Raises ContractViolation for what cannot be a row.
    """
    if not entries:
        return 0
    found = fetched(cursor, HEAD)
    seq, previous = found[0] if found else (0, GENESIS)
    for row in [written(entry, now_us) for entry in entries]:
        cursor.execute(WRITE, row)
        seq, previous = seq + 1, chain_hash(previous, seq + 1, row.leaf_hash)
        cursor.execute(SEAL, (seq, cursor.connection.last_insert_rowid(), row.leaf_hash, previous))
    return int(seq)


def ledger_values(entries: Sequence[NewEntry], now_us: int) -> tuple[list[str], list[str], list[bytes], list[bytes]]:
    """PostgreSQL: the columns of rows, each a list: kind, subject, content, leaf_hash. Raises ContractViolation."""
    rows = [written(entry, now_us) for entry in entries]
    return (
        [row.kind for row in rows],
        [row.subject for row in rows],
        [row.content for row in rows],
        [row.leaf_hash for row in rows],
    )


def read_entries(reader: Reader, after: int, limit: int, kind: str | None) -> list[LedgerEntry]:
    """Sealed rows after a place, in order. Raises OperatorError where one was changed so that nothing can be read."""
    asked: dict[str, Any] = {"after": whole(after), "limit": bounded(limit)}
    statement = ENTRIES
    if kind is not None:
        asked["kind"] = known(kind)
        statement = OF_RARE_KIND if _is_rare(reader, asked["kind"]) else OF_COMMON_KIND
    return [_entry(row) for row in reader.read(statement, asked)]


def find_entries(reader: Reader, query: EntryQuery) -> list[LedgerEntry]:
    """Sealed rows, newest first. Raises OperatorError as `read_entries` does."""
    before = LARGEST if query.before is None else whole(query.before)
    asked: dict[str, Any] = {"before": before, "limit": bounded(query.limit)}
    statement = NEWEST
    if query.kind is not None:
        asked["kind"] = known(query.kind)
        statement = NEWEST_OF_RARE_KIND if _is_rare(reader, asked["kind"]) else NEWEST_OF_COMMON_KIND
    return [_entry(row) for row in reader.read(statement, asked)]


def read_entry(reader: Reader, seq: int) -> LedgerEntry | None:
    """One row. Raises OperatorError as `read_entries` does."""
    return next((_entry(row) for row in reader.read(ENTRY, {"seq": whole(seq)})), None)


def read_rows(reader: Reader, words: Mapping[str, str]) -> Iterator[LedgerRow]:
    """Every sealed row as it is stored, in order, a page at a time; then the first that neither has nor awaits a seal.

    Places begin with 1, but somebody may have written others: every place there can be is looked at.
    """
    statement, first, size = ROWS.format(**words), SMALLEST, PAGE
    while size == PAGE and first <= LARGEST:
        page = reader.read(statement, {"first": first, "limit": PAGE})
        yield from map(_row, page)
        size = len(page)
        first = page[-1][0] + 1 if page else first
    for content, leaf, kind, subject in reader.read(STRAYS.format(**words), {}):
        yield _row((max(first, 1), content, leaf, leaf, None, kind, subject))


class SqliteLedger:
    """The Ledger port on SQLite."""

    def __init__(self, driver: Sqlite) -> None:
        self._driver = driver

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it."""
        now_us = self._driver.now_us()
        row = written(entry, now_us)
        with self._driver.write() as cursor:
            seq = insert(cursor, [entry], now_us)
        return entry_of(seq, row.content, row.leaf_hash.hex())

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed rows after a place, in order."""
        return read_entries(self._driver, after, limit, kind)

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed rows, newest first."""
        return find_entries(self._driver, query)

    def entry(self, seq: int) -> LedgerEntry | None:
        """One row."""
        return read_entry(self._driver, seq)

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed row as it is stored, in order."""
        return read_rows(self._driver, SQLITE)

    def unsealed(self) -> int:
        """None, unless somebody else wrote into the table."""
        return int(self._driver.read(UNSEALED)[0][0])


def _is_rare(reader: Reader, kind: str) -> bool:
    return bool(reader.read(COUNT, {"kind": kind, "few": FEW})[0][0] < FEW)


def _entry(row: Row) -> LedgerEntry:
    seq, content, leaf = row
    try:
        return entry_of(seq, _bytes(content), _bytes(leaf).hex())
    except ValueError as error:
        message = f"the ledger's row {seq} was changed: {error}"
        raise OperatorError(message, "`kei-ledger verify` tells the first row that does not hold") from error


def _row(row: Row) -> LedgerRow:
    seq, content, leaf, sealed_leaf, chain, kind, subject = row
    return StoredRow(
        seq=seq,
        content=_bytes(content),
        # two copies are stored; where they differ both are told, and neither fits
        leaf_hash=_bytes(leaf).hex() if leaf == sealed_leaf else f"{_bytes(leaf).hex()}/{_bytes(sealed_leaf).hex()}",
        chain_hash=_bytes(chain).hex(),
        kind=_bytes(kind).decode("utf-8", "surrogateescape"),
        subject=_bytes(subject).decode("utf-8", "surrogateescape"),
    )


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else b""


def _mended(entry: NewEntry, recorded_at: datetime) -> tuple[NewEntry, bytes]:
    try:
        mended = replace(
            entry,
            kind=text(entry.kind)[:LARGEST_NAME],
            actor=text(entry.actor)[:LARGEST_NAME],
            subject=text(entry.subject)[:LARGEST_NAME],
            body=msgspec.json.decode(json(doubles(entry.body))),
        )
        return mended, content_of(mended, recorded_at)
    except (ValueError, TypeError, RecursionError) as error:
        raise ContractViolation("ledger.entry", [str(error)]) from error
