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
from keisei.records.move import EntryQuery, LedgerCheckpoint, LedgerRestoration, LedgerRow, NewEntry, TreeNode
from keisei.rules.chain import doubles
from keisei.rules.ledger import GENESIS, LARGEST_NAME, StoredRow, chain_hash, content_of, entry_of, leaf_hash
from keisei.store.ask import LARGEST, SMALLEST, bounded, known, whole
from keisei.store.checkpoint import (
    CHECKPOINTS_SQLITE,
    KEPT_SQLITE,
    NEWEST_SQLITE,
    keep_sqlite,
    read_checkpoints,
    read_kept,
    read_leaves,
    read_newest,
    read_nodes,
    read_size,
)
from keisei.store.clock import moment
from keisei.store.ledger_restore import restore_sqlite
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
SELECT s.seq, k.content, k.leaf_hash FROM seals s JOIN ledger k ON k.entry_id = s.entry_id
WHERE s.seq < :before{rest} ORDER BY s.seq DESC LIMIT :limit
"""
NEWEST_OF_FEW = """
SELECT p.seq, l.content, l.leaf_hash
FROM (
    SELECT s.seq, s.entry_id FROM ledger k JOIN seals s ON s.entry_id = k.entry_id
    WHERE {lead} AND s.seq < :before{rest} ORDER BY s.seq DESC LIMIT :limit
) p JOIN ledger l ON l.entry_id = p.entry_id ORDER BY p.seq DESC
"""
COUNT_FEW = "SELECT count(*) FROM (SELECT 1 FROM ledger k WHERE {lead} LIMIT :few) c"
# Said so that no index answers: the walk is along the places.
NARROWED = {"kind": " AND k.kind || '' = :kind", "subject": " AND k.subject || '' = :subject"}
ENTRY = """
SELECT s.seq, l.content, l.leaf_hash FROM seals s JOIN ledger l ON l.entry_id = s.entry_id WHERE s.seq = :seq
"""
# Text as bytes: what was changed need not be text any more.
ROWS = """
SELECT s.seq, l.content, l.leaf_hash, s.leaf_hash, s.chain_hash, {kind}, {subject}, {number}
FROM seals s LEFT JOIN ledger l ON l.entry_id = s.entry_id
WHERE s.seq >= :first ORDER BY s.seq LIMIT :limit
"""
STRAYS = """
SELECT l.content, l.leaf_hash, {kind}, {subject} FROM ledger l
WHERE NOT EXISTS (SELECT 1 FROM seals s WHERE s.entry_id = l.entry_id) {besides} ORDER BY l.entry_id LIMIT 1
"""
SQLITE = {
    "kind": "CAST(l.kind AS BLOB)",
    "subject": "CAST(l.subject AS BLOB)",
    "besides": "",
    "about": "k.subject = :subject",
    "marked": " AND instr(k.content, :mark) > 0",
    # Places and ids are counted alike: whatever is taken back gives back both.
    "number": "s.entry_id",
    "counted": "SELECT seq FROM sqlite_sequence WHERE name = 'ledger'",
}
POSTGRES = {
    "kind": "convert_to(l.kind, 'UTF8')",
    "subject": "convert_to(l.subject, 'UTF8')",
    "besides": "AND NOT EXISTS (SELECT 1 FROM unsealed u WHERE u.entry_id = l.entry_id)",
    "about": "left(k.subject, 128) = left(:subject::text, 128) AND k.subject = :subject",
    "marked": " AND position(:mark::bytea IN k.content) > 0",
    "number": "NULL::bigint",
    "counted": "SELECT 0",
}
# What is about a subject and is not sealed yet stands behind every place too.
SINCE = """
SELECT 1 FROM ledger k LEFT JOIN seals s ON s.entry_id = k.entry_id
WHERE {about} AND (s.seq IS NULL OR s.seq > :seen) LIMIT 1
"""
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
    return insert_rows(cursor, [written(entry, now_us) for entry in entries]) if entries else 0


def insert_rows(cursor: apsw.Cursor, rows: Sequence[Written]) -> int:
    """The same, for rows that are made already: the turn to write is not the time for that."""
    found = fetched(cursor, HEAD)
    seq, previous = found[0] if found else (0, GENESIS)
    for row in rows:
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
        is_rare = reader.read(COUNT, {"kind": asked["kind"], "few": FEW})[0][0] < FEW
        statement = OF_RARE_KIND if is_rare else OF_COMMON_KIND
    return [stored_entry(row) for row in reader.read(statement, asked)]


def find_entries(reader: Reader, query: EntryQuery, words: Mapping[str, str]) -> list[LedgerEntry]:
    """Sealed rows, newest first. Raises OperatorError as `read_entries` does."""
    limit = bounded(query.limit)
    asked: dict[str, Any] = {"before": LARGEST if query.before is None else whole(query.before), "limit": limit}
    asked |= {name: _named(value) for name in NARROWED if (value := getattr(query, name)) is not None}
    if query.source is not None:
        asked["mark"] = f',"source":"{known(query.source)}","subject":"'.encode()
    statement = _statement(reader, words, asked)
    entries: list[LedgerEntry] = []
    while True:
        page = [stored_entry(row) for row in reader.read(statement, asked)]
        # a body may hold the mark too: it is rare, and only the row itself tells
        entries += [entry for entry in page if query.source in (None, entry.source)]
        if len(page) < limit or len(entries) >= limit:
            return entries[:limit]
        asked["before"] = page[-1].seq


def _named(value: str) -> str:
    """The name, or the empty one, which nothing has; a row's names may be longer than those of other tables."""
    return value if len(value) <= LARGEST_NAME and text(value) == value else ""


def _statement(reader: Reader, words: Mapping[str, str], asked: Mapping[str, Any]) -> str:
    """What is asked for, by the index of a subject or a kind that few rows have, else by walking along the places."""
    rest = {name: text for name, text in (*NARROWED.items(), ("mark", words["marked"])) if name in asked}
    for name, lead in (("subject", words["about"]), ("kind", "k.kind = :kind")):
        if name in asked and reader.read(COUNT_FEW.format(lead=lead), {name: asked[name], "few": FEW})[0][0] < FEW:
            others = "".join(text for other, text in rest.items() if other != name)
            return NEWEST_OF_FEW.format(lead=lead, rest=others)
    return NEWEST.format(rest="".join(rest.values()))


def read_entry(reader: Reader, seq: int) -> LedgerEntry | None:
    """One row. Raises OperatorError as `read_entries` does."""
    return next((stored_entry(row) for row in reader.read(ENTRY, {"seq": whole(seq)})), None)


def read_row(reader: Reader, words: Mapping[str, str], seq: int) -> LedgerRow | None:
    """One sealed row as it is stored."""
    found = reader.read(ROWS.format(**words), {"first": whole(seq), "limit": 1})
    return next((_row(row) for row in found if row[0] == seq), None)


def read_rows(reader: Reader, words: Mapping[str, str]) -> Iterator[LedgerRow]:
    """Every sealed row as it is stored, in order, a page at a time; then the first that neither has nor awaits a seal.

    Places begin with 1, but somebody may have written others: every place there can be is looked at. Where more rows
    were counted than there are, the end is one that has no place.
    """
    counted = [number for (number,) in reader.read(words["counted"], {}) if isinstance(number, int)]
    statement, first, size = ROWS.format(**words), SMALLEST, PAGE
    while size == PAGE and first <= LARGEST:
        page = reader.read(statement, {"first": first, "limit": PAGE})
        yield from map(_row, page)
        size = len(page)
        first = page[-1][0] + 1 if page else first
    for content, leaf, kind, subject in reader.read(STRAYS.format(**words), {}):
        yield _row((max(first, 1), content, leaf, leaf, None, kind, subject, None))
    if max(counted, default=0) >= max(first, 1):
        yield _row((min(max(counted) + 1, LARGEST), *[None] * 7))


class SqliteLedger:
    """The Ledger port on SQLite."""

    def __init__(self, driver: Sqlite) -> None:
        self._driver = driver

    def append(self, entry: NewEntry) -> LedgerEntry:
        """Write one row and seal it."""
        now_us = self._driver.now_us()
        row = written(entry, now_us)
        with self._driver.write() as cursor:
            seq = insert_rows(cursor, [row])
        return entry_of(seq, row.content, row.leaf_hash.hex())

    def append_if(self, entry: NewEntry, seen: int) -> LedgerEntry | None:
        """Write one row and seal it, where no row about its subject stands behind the place. Who writes is alone."""
        now_us = self._driver.now_us()
        row = written(entry, now_us)
        with self._driver.write() as cursor:
            if fetched(cursor, SINCE.format(**SQLITE), {"subject": row.subject, "seen": whole(seen)}):
                return None
            seq = insert_rows(cursor, [row])
        return entry_of(seq, row.content, row.leaf_hash.hex())

    def entries(self, after: int = 0, limit: int = 100, kind: str | None = None) -> list[LedgerEntry]:
        """Sealed rows after a place, in order."""
        return read_entries(self._driver, after, limit, kind)

    def find_entries(self, query: EntryQuery) -> list[LedgerEntry]:
        """Sealed rows, newest first."""
        return find_entries(self._driver, query, SQLITE)

    def entry(self, seq: int) -> LedgerEntry | None:
        """One row."""
        return read_entry(self._driver, seq)

    def rows(self) -> Iterator[LedgerRow]:
        """Every sealed row as it is stored, in order."""
        return read_rows(self._driver, SQLITE)

    def restore_rows(self, order: LedgerRestoration) -> bool:
        """Take in rows that were sealed elsewhere, in one transaction."""
        with self._driver.write() as cursor:
            return restore_sqlite(cursor, order)

    def unsealed(self) -> int:
        """None, unless somebody else wrote into the table."""
        return int(self._driver.read(UNSEALED)[0][0])

    def row(self, seq: int) -> LedgerRow | None:
        """One sealed row as it is stored."""
        return read_row(self._driver, SQLITE, seq)

    def size(self) -> int:
        """How many rows are sealed."""
        return read_size(self._driver)

    def leaves(self, first: int, limit: int) -> list[bytes]:
        """Leaf hashes from a place on, in order."""
        return read_leaves(self._driver, first, limit)

    def checkpoints(self, after: int = 0, limit: int = 100) -> list[LedgerCheckpoint]:
        """Kept checkpoints of more rows than that, in order."""
        return read_checkpoints(self._driver, CHECKPOINTS_SQLITE, after, limit)

    def newest_checkpoint(self) -> LedgerCheckpoint | None:
        """The one of most rows."""
        return read_newest(self._driver, NEWEST_SQLITE)

    def keep_checkpoint(self, checkpoint: LedgerCheckpoint, nodes: Sequence[TreeNode]) -> bool:
        """Keep one with its nodes. False where one of as many rows or more is kept."""
        with self._driver.write() as cursor:
            return keep_sqlite(cursor, checkpoint, nodes)

    def tree_nodes(self, level: int, first: int, limit: int) -> list[TreeNode]:
        """Kept nodes of a level from an index on, in order."""
        return read_nodes(self._driver, level, first, limit)

    def kept(self) -> tuple[list[LedgerCheckpoint], list[TreeNode]]:
        """Every checkpoint and every node, as of one moment."""
        return read_kept(self._driver, KEPT_SQLITE)


def stored_entry(row: Row) -> LedgerEntry:
    """The entry of a place, content and leaf hash. Raises OperatorError where they were changed beyond reading."""
    seq, content, leaf = row
    try:
        return entry_of(seq, _bytes(content), _bytes(leaf).hex())
    except ValueError as error:
        message = f"the ledger's row {seq} was changed: {error}"
        raise OperatorError(message, "`kei-ledger verify` tells the first row that does not hold") from error


def _row(row: Row) -> LedgerRow:
    seq, content, leaf, sealed_leaf, chain, kind, subject, number = row
    return StoredRow(
        seq=seq,
        content=_bytes(content),
        # two copies are stored; where they differ both are told, and neither fits
        leaf_hash=_bytes(leaf).hex() if leaf == sealed_leaf else f"{_bytes(leaf).hex()}/{_bytes(sealed_leaf).hex()}",
        chain_hash=_bytes(chain).hex(),
        kind=_bytes(kind).decode("utf-8", "surrogateescape"),
        subject=_bytes(subject).decode("utf-8", "surrogateescape"),
        number=number,
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
