"""The ledger: the bytes of a row, what they hash to, and the first place where a stored chain does not hold."""

import hashlib
import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from keisei.records.form import JsonObject
from keisei.records.ledger import LedgerEntry
from keisei.records.move import LedgerRow, NewEntry
from keisei.rules.canonical import LARGEST, canonical

GENESIS = bytes(32)
"""What the first row follows."""
LEAF, LINK = b"\x00", b"\x02"
"""RFC 6962 hashes leaves with 0 and the nodes of its tree with 1. 2 is ours: no hash of one sort passes for another."""
FIELDS = {"kind", "source", "actor", "subject", "body", "recorded_at"}
LARGEST_NAME, LARGEST_CONTENT = 1024, 1024 * 1024
"""In characters and in bytes. A row tells of things by id and hash; files belong into the evidence."""

STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
EVERYDAY = re.compile(
    rb"""(?:"[^"\\\xee-\xff]*+(?:\\.[^"\\\xee-\xff]*+)*+" | [][{},:] | true | false | null
    | -?[0-9]{1,9}+\.[0-9]{0,5}[1-9](?![0-9eE]) | -?[0-9]{1,15}+(?![0-9.eE]))*+""",
    re.VERBOSE,
)
"""JSON whose canonical bytes an encoder in C writes too, many times as fast: numbers of few digits, and text before
U+E000, where sorting by code points is sorting by UTF-16."""
LONG = re.compile(rb"[0-9]{16}")
"""What may be a number that no double counts; without one, what is read quickly is read rightly."""
_sorted = msgspec.json.Encoder(order="sorted").encode
_decoded = msgspec.json.Decoder().decode

Broken = tuple[int, str]


class StoredRow(LedgerRow, frozen=True, kw_only=True):
    """A row with the copies that a table keeps beside the content, for those who look for them."""

    kind: str
    """As stored; it must be the content's."""
    subject: str
    """Likewise."""
    number: int | None = None
    """What the table calls it, where a table counts its rows as the chain does; None where it counts otherwise."""
    why: str | None = None
    """What is wrong with the tables behind the last row; then this is no row, and has no content."""


class Chain:
    """A chain that is followed row by row."""

    def __init__(self) -> None:
        """No row was met yet."""
        self.place = 0
        """Of the last row that fits."""
        self.leaf, self.head = b"", GENESIS
        """Its leaf hash, and the chain up to it."""

    def fault(self, row: LedgerRow) -> "Broken | None":
        """Go on to the next row: None where it fits, else where the chain is broken and why, and it stays there."""
        place = self.place + 1
        if row.seq != place:
            return _misplaced(place, row.seq)
        if not row.content:
            return place, (row.why if isinstance(row, StoredRow) else None) or "the row's content is missing"
        if not row.chain_hash:
            return place, "the row has no seal: somebody else wrote it, or took its seal away"
        leaf = leaf_hash(row.content)
        head = chain_hash(self.head, place, leaf)
        why = _fault(row, leaf, follows=head.hex() == row.chain_hash)
        if why is not None:
            return place, why
        self.place, self.leaf, self.head = place, leaf, head
        return None


def content_of(entry: NewEntry, recorded_at: datetime) -> bytes:
    """The bytes that are stored and hashed: canonical JSON.

    Raises ValueError for what has no canonical form, a name that is empty, too long or has a zero byte, a time without
    a zone, and content over 1 MiB.
    """
    return content_and_body(entry, recorded_at)[0]


def content_and_body(entry: NewEntry, recorded_at: datetime) -> tuple[bytes, JsonObject | None]:
    """The same, and the body as these bytes tell it, where that is known already. Raises as `content_of` does."""
    _check_name("kind", entry.kind)
    _check_name("actor", entry.actor)
    _check_name("subject", entry.subject)
    if recorded_at.tzinfo is None:
        raise ValueError("recorded_at has no time zone")
    content, body = _encoded(
        {
            "kind": entry.kind,
            "source": entry.source,
            "actor": entry.actor,
            "subject": entry.subject,
            "body": entry.body,
            "recorded_at": recorded_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        }
    )
    if len(content) > LARGEST_CONTENT:
        raise ValueError(f"the row has {len(content)} bytes, more than {LARGEST_CONTENT}")
    return content, body


def leaf_hash(content: bytes) -> bytes:
    """RFC 6962's hash of a leaf."""
    return hashlib.sha256(LEAF + content).digest()


def chain_hash(previous: bytes, seq: int, leaf: bytes) -> bytes:
    """The chain up to and with this row: it covers every row before, its place and its content."""
    return hashlib.sha256(LINK + previous + seq.to_bytes(8, "big") + leaf).digest()


def entry_of(seq: int, content: bytes, leaf: str) -> LedgerEntry:
    """The row that stored bytes tell of. Raises ValueError where they are not the bytes of a row."""
    return _entry(_read(content, quickly=LONG.search(content) is None), seq, leaf)


def first_broken(rows: Iterable[LedgerRow]) -> Broken | None:
    """The first row that does not fit, by its `seq`, and why; None for a whole chain.

    The stored bytes are the truth: content must be canonical JSON to the byte, and every copy of a part of it the same.
    Rows cut off the end leave a whole chain; they are seen by whoever kept a later `chain_hash`.
    """
    chain = Chain()
    return next((broken for row in rows if (broken := chain.fault(row)) is not None), None)


def _misplaced(place: int, seq: int) -> Broken:
    if seq > place:
        return place, "the row is missing"
    return seq, "the row stands in a place that is not its own: rows were added, or are in another order"


def _fault(row: LedgerRow, leaf: bytes, *, follows: bool) -> str | None:
    if leaf.hex() != row.leaf_hash:
        return "the row's leaf hash was changed" if follows else "the row's content was changed"
    if not follows:
        return "the row does not follow the one before: its chain hash was changed, or the row was exchanged"
    return _copies(row)


def _copies(row: LedgerRow) -> str | None:
    try:
        everyday, data = _parsed(row.content)
        entry = _entry(data, row.seq, row.leaf_hash)
        quickly = everyday and _sorted(data) == row.content
        if not STAMP.fullmatch(data["recorded_at"]) or not (quickly or canonical(data) == row.content):
            return "the row's content is not canonical JSON"
    except ValueError:
        return "the row's content is not that of a ledger row"
    if isinstance(row, StoredRow) and (row.kind, row.subject) != (entry.kind, entry.subject):
        return "the row's kind or subject is not the one in its content: the column was changed"
    if isinstance(row, StoredRow) and row.number not in (None, row.seq):
        return "the row has another number than place: rows before it were cut off, or numbers were changed"
    return None


def _entry(data: dict[str, Any], seq: int, leaf: str) -> LedgerEntry:
    return msgspec.convert({**data, "seq": seq, "leaf_hash": leaf}, LedgerEntry)


def _encoded(value: dict[str, Any]) -> tuple[bytes, JsonObject | None]:
    """The canonical bytes, and the body as they tell it where it was looked at. Raises ValueError as `canonical`."""
    try:
        found = _sorted(value)
        # what C writes for a moment or a NaN does not come back as the same
        if EVERYDAY.fullmatch(found) and (told := _decoded(found)) == value:
            return found, told["body"]
    except (TypeError, ValueError, RecursionError):
        pass  # said rightly by `canonical`
    return canonical(value), None


def _parsed(content: bytes) -> tuple[bool, dict[str, Any]]:
    """Whether the bytes are everyday ones, and what they say. Raises ValueError where that is not a row."""
    everyday = EVERYDAY.fullmatch(content) is not None
    return everyday, _read(content, quickly=everyday)


def _read(content: bytes, *, quickly: bool) -> dict[str, Any]:
    try:
        data = _decoded(content) if quickly else json.loads(content.decode("utf-8"), parse_int=_number)
    except RecursionError as error:
        raise ValueError("nested too deeply for a ledger row") from error
    if not isinstance(data, dict) or data.keys() != FIELDS:
        raise ValueError("the content does not have the fields of a ledger row")
    return data


def _number(text: str) -> int | float:
    """Canonical JSON has only doubles: an integer that none can count was one that is not whole."""
    value = int(text)
    return value if abs(value) <= LARGEST else float(text)


def _check_name(field: str, value: str) -> None:
    if not value:
        raise ValueError(f"{field} is empty")
    if len(value) > LARGEST_NAME:
        raise ValueError(f"{field} has {len(value)} characters, more than {LARGEST_NAME}")
    if "\0" in value:
        raise ValueError(f"{field} has a zero byte")
