"""The ledger's rows as they are read: in the order of their seals, by kind and subject, and as they are stored."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from keisei.records.error import OperatorError
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, LedgerRow
from keisei.rules.ledger import LARGEST_NAME, StoredRow, entry_of
from keisei.store.ask import LARGEST, SMALLEST, bounded, known, whole
from keisei.store.reader import Reader, Row
from keisei.store.row import text

PAGE = 500

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
    "note": "CAST(note AS BLOB)",
    # One statement, because others write: what was counted and what is there are of one moment.
    "behind": """
        SELECT CASE WHEN typeof(c.seq) = 'integer' AND c.seq > COALESCE(m.last, 0) THEN 'the row is missing'
        ELSE 'the table''s counter (sqlite_sequence) is not the number of its last row: it was changed' END
        FROM (SELECT max(entry_id) AS last FROM ledger) m LEFT JOIN sqlite_sequence c ON c.name = 'ledger'
        WHERE COALESCE(c.seq, 0) IS NOT COALESCE(m.last, 0) LIMIT 1
    """,
}
POSTGRES = {
    "kind": "convert_to(l.kind, 'UTF8')",
    "subject": "convert_to(l.subject, 'UTF8')",
    "besides": "AND NOT EXISTS (SELECT 1 FROM unsealed u WHERE u.entry_id = l.entry_id)",
    "about": "left(k.subject, 128) = left(:subject::text, 128) AND k.subject = :subject",
    "marked": " AND position(:mark::bytea IN k.content) > 0",
    "number": "NULL::bigint",
    "note": "convert_to(note, 'UTF8')",
    "behind": """
        SELECT 'the row''s content is missing: it was written, and taken away before it was sealed'
        FROM unsealed u WHERE NOT EXISTS (SELECT 1 FROM ledger l WHERE l.entry_id = u.entry_id) LIMIT 1
    """,
}
"""What the stores say in other words."""
# What is about a subject and is not sealed yet stands behind every place too.
SINCE = """
SELECT 1 FROM ledger k LEFT JOIN seals s ON s.entry_id = k.entry_id
WHERE {about} AND (s.seq IS NULL OR s.seq > :seen) LIMIT 1
"""


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

    Places begin with 1, but somebody may have written others: every place there can be is looked at. Where tables tell
    that a row was taken away behind the last one, the end is one that has nothing but the reason.
    """
    statement, first, size = ROWS.format(**words), SMALLEST, PAGE
    while size == PAGE and first <= LARGEST:
        page = reader.read(statement, {"first": first, "limit": PAGE})
        yield from map(_row, page)
        size = len(page)
        first = page[-1][0] + 1 if page else first
    for content, leaf, kind, subject in reader.read(STRAYS.format(**words), {}):
        yield _row((max(first, 1), content, leaf, leaf, None, kind, subject, None))
    for (why,) in reader.read(words["behind"], {}):
        yield replace(_row((max(first, 1), *[None] * 7)), why=why)


def stored_entry(row: Row) -> LedgerEntry:
    """The entry of a place, content and leaf hash. Raises OperatorError where they were changed beyond reading."""
    seq, content, leaf = row
    try:
        return entry_of(seq, _bytes(content), _bytes(leaf).hex())
    except ValueError as error:
        message = f"the ledger's row {seq} was changed: {error}"
        raise OperatorError(message, "`kei-ledger verify` tells the first row that does not hold") from error


def _row(row: Row) -> StoredRow:
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
