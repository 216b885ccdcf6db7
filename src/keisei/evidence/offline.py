"""Check a keisei ledger, a proof or an attestation on any machine, without keisei.

This is one file, it needs Python 3.9 or newer and nothing else, and it shares no code with the program whose work it
checks. Copy it to where you trust the machine and run it there:

    python3 -I offline.py ledger EXPORT.jsonl --key VKEY      what `keisei ledger export` wrote
    python3 -I offline.py proof PROOF.json --key VKEY         what `keisei ledger prove` wrote
    python3 -I offline.py attestation DIR --key VKEY --repository REPO    what `keisei evidence export` wrote

VKEY is the verifier key of the one you expect to have signed, told to you by other means than these files: whoever
wrote the files could have written any key into them. Without it the files are held against the keys they name
themselves, and the answer says so.

Exit status: 0 everything holds, 1 the input cannot be read, 2 something does not hold, 3 nothing is wrong but something
that matters could not be checked. Everything read here may be hostile; what is quoted from it is escaped.
"""
# ruff: noqa: PTH102, PTH117, PTH118, PTH120, PTH123, PTH208, TRY004, TRY301
# Descriptors and plain names; and whatever bad input does, it is one sort of error.

from __future__ import annotations

import argparse
import base64
import binascii
import functools
import hashlib
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, NamedTuple, NoReturn

HELD, BROKEN, UNCHECKED = "held", "does not hold", "not checked"
DONE, UNREADABLE, FAILED, INCOMPLETE, BUG, INTERRUPTED = 0, 1, 2, 3, 70, 130
LONGEST_LINE = 8 << 20
"""Bytes of one line of an export: a row has at most 1 MiB, and JSON may write a byte as six."""
LARGEST_FILE = 64 << 20
"""Bytes of a file that is read whole."""
LARGEST_HASHED = 1 << 30
"""Bytes of a file of which only the digest is asked; keisei itself attests none that is larger."""
LARGEST_NOTE = 1_000_000
MOST_SIGNATURES = 100
MOST_KEYS = 1000
MOST_TOLD = 20
"""Faults of one sort that are told one by one; the others are counted."""
LONGEST_QUOTE = 200
LARGEST_NUMBER = 2**63 - 1
DIGITS = 20


class Unreadable(Exception):
    """The input is not what it should be, in one line."""


# Text ----------------------------------------------------------------------------------------------------------------


def shown(text: object) -> str:
    """Anything as one short line of ASCII: no control character and no foreign script of a file reaches a terminal."""
    told = ascii(text)[1:-1] if isinstance(text, str) else ascii(text)
    return told if len(told) <= LONGEST_QUOTE else told[:LONGEST_QUOTE] + "..."


class Claim(NamedTuple):
    """One thing that was looked at."""

    name: str
    """What is claimed."""
    state: str
    """Held, does not hold, not checked."""
    why: str
    """What it was held against, or what is wrong."""
    essential: bool
    """Whether nobody should lean on the whole while this is not checked."""


class Report:
    """All claims, in the order in which they were looked at."""

    def __init__(self, command: str) -> None:
        """Nothing was looked at yet."""
        self.command = command
        self.claims: list[Claim] = []
        self.facts: dict[str, Any] = {}

    def held(self, name: str, why: str = "") -> None:
        """The claim follows from what was read."""
        self.claims.append(Claim(name, HELD, why, essential=True))

    def broken(self, name: str, why: str) -> None:
        """The claim contradicts what was read."""
        self.claims.append(Claim(name, BROKEN, why, essential=True))

    def unchecked(self, name: str, why: str, *, essential: bool = True) -> None:
        """Nothing was there to hold the claim against."""
        self.claims.append(Claim(name, UNCHECKED, why, essential=essential))

    def check(self, name: str, fits: object, otherwise: str, why: str = "") -> bool:
        """The claim holds where `fits` says so. Whether it does."""
        if fits:
            self.held(name, why)
        else:
            self.broken(name, otherwise)
        return bool(fits)

    def count(self, state: str) -> int:
        """How many claims are in this state."""
        return sum(each.state == state for each in self.claims)

    def status(self) -> int:
        """The exit status. A report without a held claim has shown nothing."""
        if self.count(BROKEN):
            return FAILED
        missing = any(each.state == UNCHECKED and each.essential for each in self.claims)
        return INCOMPLETE if missing or not self.count(HELD) else DONE

    def text(self) -> str:
        """For a person."""
        lines = [f"{each.state:<14} {each.name}" + (f": {each.why}" if each.why else "") for each in self.claims]
        counts = f"{self.count(HELD)} held, {self.count(BROKEN)} broken, {self.count(UNCHECKED)} not checked"
        endings = {DONE: "everything that matters holds", FAILED: "DOES NOT HOLD", INCOMPLETE: "NOT WHOLLY CHECKED"}
        return "\n".join([*lines, f"{endings[self.status()]} ({counts})"]) + "\n"

    def data(self) -> dict[str, Any]:
        """For a program."""
        words = {DONE: "held", FAILED: "broken", INCOMPLETE: "incomplete"}
        claims = [{"claim": each.name, "state": each.state, "why": each.why} for each in self.claims]
        return {"command": self.command, "verdict": words[self.status()], **self.facts, "claims": claims}


# JSON, strictly ------------------------------------------------------------------------------------------------------


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _whole(text: str) -> int:
    if len(text) > DIGITS:
        raise ValueError("a number has too many digits")
    return int(text)


def _broken(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise ValueError("a number is too large")
    return value


def _constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_decode = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_whole, parse_float=_broken, parse_constant=_constant
).decode


def parsed(raw: bytes) -> Any:  # noqa: ANN401 - any JSON
    """JSON, each key once, numbers that any reader takes for the same, and no half characters. Raises ValueError."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    try:
        return _decode(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON: {shown(error.msg)} at character {error.pos + 1}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def bytes_of(text: str) -> bytes:
    """UTF-8. Raises ValueError for half of a surrogate pair."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("it has half a character") from None


def base64_of(text: object) -> bytes:
    """The bytes of base64 in its one form (RFC 4648, section 4). Raises ValueError."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True) if isinstance(text, str) else None
    except (UnicodeEncodeError, binascii.Error):
        raw = None
    if raw is None or base64.b64encode(raw).decode("ascii") != text:
        raise ValueError("it is not base64 in its usual form")
    return raw


def hash_of(text: object) -> bytes:
    """The bytes of a SHA-256 in small hexadecimal digits. Raises ValueError."""
    if not isinstance(text, str) or re.fullmatch("[0-9a-f]{64}", text) is None:
        raise ValueError("a hash is not 64 hexadecimal digits")
    return bytes.fromhex(text)


def whole_of(value: object) -> int:
    """A number of things. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST_NUMBER:
        raise ValueError("a number is not a whole one that can count rows")
    return value


def fields_of(value: object, names: Iterable[str]) -> dict[str, Any]:
    """An object with exactly these keys. Raises ValueError."""
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    wanted = set(names)
    for name in sorted(wanted - value.keys()):
        raise ValueError(f"`{name}` is missing")
    for name in sorted(value.keys() - wanted):
        raise ValueError(f"`{shown(name)}` is not known here")
    return value


def opened(path: str) -> IO[bytes]:
    """A file that the auditor named. Raises Unreadable."""
    try:
        return open(path, "rb")
    except (OSError, ValueError) as error:
        raise Unreadable(f"{shown(path)} cannot be read: {_reason(error)}") from None


def contents(path: str, most: int = LARGEST_FILE) -> bytes:
    """All of a file that the auditor named. Raises Unreadable."""
    with opened(path) as file:
        try:
            raw = file.read(most + 1)
        except OSError as error:
            raise Unreadable(f"{shown(path)} cannot be read: {_reason(error)}") from None
    if len(raw) > most:
        raise Unreadable(f"{shown(path)} is larger than {most} bytes")
    return raw


def _reason(error: Exception) -> str:
    return shown((error.strerror if isinstance(error, OSError) else None) or str(error))


# Hashes: the chain, and the tree of RFC 6962 -------------------------------------------------------------------------

GENESIS = bytes(32)
HASH = 32


def sha256(*parts: bytes) -> bytes:
    """Of the parts one after the other."""
    return hashlib.sha256(b"".join(parts)).digest()


def leaf_hash(content: bytes) -> bytes:
    """RFC 6962, section 2.1: a leaf."""
    return sha256(b"\x00", content)


def node_hash(left: bytes, right: bytes) -> bytes:
    """RFC 6962, section 2.1: two neighbours."""
    return sha256(b"\x01", left, right)


def chain_hash(previous: bytes, seq: int, leaf: bytes) -> bytes:
    """A ledger's chain up to this row: everything before it, its place, its leaf."""
    return sha256(b"\x02", previous, seq.to_bytes(8, "big"), leaf)


class Tree:
    """Roots at any size of a ledger that is read once. Of its rows only hashes are kept, 64 bytes for each."""

    def __init__(self) -> None:
        """A tree without leaves."""
        self._levels = [bytearray()]

    @property
    def size(self) -> int:
        """How many leaves there are."""
        return len(self._levels[0]) // HASH

    def push(self, node: bytes) -> None:
        """Add a leaf hash, and every node that it completes."""
        for nodes in self._levels:
            nodes.extend(node)
            if len(nodes) // HASH & 1:
                return
            node = node_hash(bytes(nodes[-2 * HASH : -HASH]), node)
        self._levels.append(bytearray(node))

    def root(self, size: int) -> bytes:
        """The root of the first so many leaves, of which there are enough."""
        found = b""
        for level, nodes in enumerate(self._levels):
            if size >> level & 1:
                end = (size >> level) * HASH
                node = bytes(nodes[end - HASH : end])
                found = node_hash(node, found) if found else node
        return found or sha256()


def _split(count: int) -> int:
    """The largest power of two below the count."""
    return 1 << ((count - 1).bit_length() - 1)


def root_by_inclusion(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes:
    """RFC 6962, section 2.1.1, read backwards: the root this audit path leads to. Raises ValueError."""
    if not 0 <= index < size:
        raise ValueError(f"a tree of {size} leaves has no leaf {index}")
    if size == 1:
        if path:
            raise ValueError("the path is longer than it must be")
        return leaf
    if not path:
        raise ValueError("the path is shorter than it must be")
    half = _split(size)
    if index < half:
        return node_hash(root_by_inclusion(leaf, index, half, path[:-1]), path[-1])
    return node_hash(path[-1], root_by_inclusion(leaf, index - half, size - half, path[:-1]))


def roots_by_consistency(old: int, new: int, old_root: bytes, path: Sequence[bytes]) -> tuple[bytes, bytes]:
    """RFC 6962, section 2.1.2, read backwards: the old and the new root this path leads to. Raises ValueError."""
    if not 0 < old <= new:
        raise ValueError(f"a tree of {old} leaves has no path to one of {new}")
    return _subproof(old, new, path, old_root)


def _subproof(old: int, new: int, path: Sequence[bytes], known: bytes | None) -> tuple[bytes, bytes]:
    if old == new:
        if len(path) != (known is None):
            raise ValueError("the path is longer or shorter than it must be")
        only = path[0] if known is None else known
        return only, only
    if not path:
        raise ValueError("the path is shorter than it must be")
    half = _split(new)
    if old <= half:
        was, now = _subproof(old, half, path[:-1], known)
        return was, node_hash(now, path[-1])
    was, now = _subproof(old - half, new - half, path[:-1], None)
    return node_hash(path[-1], was), node_hash(path[-1], now)


# Ed25519 (RFC 8032) --------------------------------------------------------------------------------------------------

PRIME = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE_D = -121665 * pow(121666, -1, PRIME) % PRIME
ROOT_OF_MINUS_ONE = pow(2, (PRIME - 1) // 4, PRIME)
WINDOW = 4
Point = tuple[int, int, int, int]  # extended coordinates x, y, z, t: x/z and y/z are the affine ones, and x*y = z*t
NEUTRAL: Point = (0, 1, 1, 0)


def _added(one: Point, two: Point) -> Point:
    """The sum; the formulas are complete, so that it also doubles and takes the neutral point."""
    a = (one[1] - one[0]) * (two[1] - two[0]) % PRIME
    b = (one[1] + one[0]) * (two[1] + two[0]) % PRIME
    c = 2 * CURVE_D * one[3] * two[3] % PRIME
    d = 2 * one[2] * two[2] % PRIME
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % PRIME, g * h % PRIME, f * g % PRIME, e * h % PRIME)


def _point(raw: bytes) -> Point | None:
    """The point that 32 bytes say, in their one form; None for bytes that say none."""
    number = int.from_bytes(raw, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    if y >= PRIME:
        return None
    square = (y * y - 1) * pow(CURVE_D * y * y + 1, -1, PRIME) % PRIME
    x = pow(square, (PRIME + 3) // 8, PRIME)
    if x * x % PRIME != square:
        x = x * ROOT_OF_MINUS_ONE % PRIME
    if x * x % PRIME != square or (x == 0 and odd):
        return None
    x = PRIME - x if x & 1 != odd else x
    return (x, y, 1, x * y % PRIME)


def _bytes(point: Point) -> bytes:
    inverse = pow(point[2], -1, PRIME)
    x, y = point[0] * inverse % PRIME, point[1] * inverse % PRIME
    return (y | (x & 1) << 255).to_bytes(32, "little")


@functools.lru_cache(maxsize=8)
def _multiples(point: Point) -> list[list[Point]]:
    """For each four bits of a number, the fifteen multiples they may ask for: a ledger has many notes by one key."""
    table = []
    for _ in range(0, 256, WINDOW):
        row = [NEUTRAL]
        for _ in range((1 << WINDOW) - 1):
            row.append(_added(row[-1], point))
        table.append(row)
        point = _added(row[-1], point)
    return table


def _times(number: int, point: Point) -> Point:
    found = NEUTRAL
    for row in _multiples(point):
        found = _added(found, row[number & ((1 << WINDOW) - 1)])
        number >>= WINDOW
    return found


GENERATOR = _point((4 * pow(5, -1, PRIME) % PRIME).to_bytes(32, "little"))


def ed25519_holds(public: bytes, message: bytes, signature: bytes) -> bool:
    """RFC 8032, section 5.1.7, as strictly as may be. Never raises.

    Refused besides signatures that do not fit: S that is not below the order, R and keys that are not written in their
    one form, and keys of small order, under which a signature says nothing about who made it.
    """
    if len(public) != HASH or len(signature) != 2 * HASH:
        return False
    key, number = _point(public), int.from_bytes(signature[HASH:], "little")
    if key is None or GENERATOR is None or number >= ORDER:
        return False
    eightfold = key
    for _ in range(3):
        eightfold = _added(eightfold, eightfold)
    if _bytes(eightfold) == _bytes(NEUTRAL):
        return False
    digest = hashlib.sha512(signature[:HASH] + public + message).digest()
    challenge = int.from_bytes(digest, "little") % ORDER
    opposite = (PRIME - key[0], key[1], 1, PRIME - key[3])
    return _bytes(_added(_times(number, GENERATOR), _times(challenge, opposite))) == signature[:HASH]


# Signed notes and checkpoints (c2sp.org/signed-note, c2sp.org/tlog-checkpoint) --------------------------------------

DASH = "\u2014 "


class Key(NamedTuple):
    """A verifier key."""

    name: str
    """Whose."""
    key_id: bytes
    """Four bytes of the hash of name and key."""
    public: bytes
    """The Ed25519 key."""


class Checkpoint(NamedTuple):
    """What somebody signed of a ledger."""

    origin: str
    """Which ledger."""
    size: int
    """How many rows it had."""
    root: bytes
    """Their root."""


def is_key_name(name: str) -> bool:
    """Whether it may name a key: something, without spaces, control characters and plus."""
    return bool(name) and not any(each.isspace() or each == "+" or each < " " or each == "\x7f" for each in name)


def key_of(text: object) -> Key:
    """The key of `NAME+ID+KEY`. Raises ValueError."""
    parts = text.split("+", 2) if isinstance(text, str) else []
    if len(parts) != 3 or not is_key_name(parts[0]):  # noqa: PLR2004 - name, id, key
        raise ValueError("a verifier key is NAME+ID+KEY")
    name, raw = parts[0], base64_of(parts[2])
    if raw[:1] != b"\x01" or len(raw) != 1 + HASH:
        raise ValueError("the verifier key is not an Ed25519 one")
    key_id = sha256(bytes_of(name), b"\n", raw)[:4]
    if key_id.hex() != parts[1]:
        raise ValueError("the verifier key does not have its id: it was cut or mistyped")
    return Key(name, key_id, raw[1:])


def split_note(note: object) -> tuple[bytes, list[tuple[str, bytes, bytes]]]:
    """What is signed, and the signatures: name, key id, signature. Raises ValueError."""
    if not isinstance(note, str) or len(note) > LARGEST_NOTE:
        raise ValueError("the note is no text, or too long")
    if any(each < " " and each != "\n" for each in note):
        raise ValueError("the note has control characters")
    text, blank, below = note.rpartition("\n\n")
    if not text or not blank or not below.endswith("\n"):
        raise ValueError("the note has no signature, or is cut")
    lines = below[:-1].split("\n")
    if len(lines) > MOST_SIGNATURES:
        raise ValueError("the note has too many signatures")
    return bytes_of(text + "\n"), [_signature_line(line) for line in lines]


def _signature_line(line: str) -> tuple[str, bytes, bytes]:
    name, space, rest = line[len(DASH) :].partition(" ")
    if not line.startswith(DASH) or not space or not is_key_name(name):
        raise ValueError("a line under the note is not a signature")
    raw = base64_of(rest)
    if len(raw) <= 4:  # noqa: PLR2004 - the id alone
        raise ValueError("a signature under the note is cut")
    return name, raw[:4], raw[4:]


def signers_of(note: object, keys: Iterable[Key]) -> list[Key]:
    """Which of the keys signed the note. Raises ValueError, also where one of them did not sign what it should have."""
    text, signatures = split_note(note)
    known, found = {(key.name, key.key_id): key for key in keys}, []
    for name, key_id, signature in signatures:
        key = known.get((name, key_id))
        if key is None:
            continue
        if not ed25519_holds(key.public, text, signature):
            raise ValueError(f"the signature of {shown(name)} does not hold")
        found.append(key)
    return found


def checkpoint_of(note: object) -> Checkpoint:
    """What a note says as a checkpoint. Raises ValueError."""
    lines = split_note(note)[0].decode("utf-8").split("\n")[:-1]
    if len(lines) < 3 or not all(lines):  # noqa: PLR2004 - origin, size, root
        raise ValueError("a checkpoint has three lines: origin, size and root")
    if re.fullmatch("0|[1-9][0-9]{0,18}", lines[1], re.ASCII) is None:
        raise ValueError("the size of the checkpoint is not a number")
    root = base64_of(lines[2])
    if len(root) != HASH:
        raise ValueError("the root of the checkpoint does not have 32 bytes")
    return Checkpoint(lines[0], whole_of(int(lines[1])), root)


def keys_given(words: Sequence[str]) -> list[Key]:
    """The keys of the command line. Raises Unreadable."""
    try:
        return [key_of(word.strip()) for word in words]
    except ValueError as error:
        raise Unreadable(f"--key: {error}; `keisei ledger key` prints it") from None


def names_of(keys: Iterable[Key]) -> str:
    """Keys for a person."""
    return ", ".join(f"{shown(key.name)}+{key.key_id.hex()}" for key in keys)


# The ledger ----------------------------------------------------------------------------------------------------------

LEDGER, PROOF, CONSISTENCY = "keisei-ledger/v1", "keisei-proof/v1", "keisei-consistency/v1"
HEADER = ("format", "origin", "size", "root", "head", "keys")
ROW = ("seq", "leaf_hash", "chain_hash")


class Fault(Exception):
    """The first row that does not hold, and why."""

    def __init__(self, seq: int, why: str) -> None:
        """Name the row."""
        super().__init__(why)
        self.seq, self.why = seq, why


class Ledger:
    """An export, row by row."""

    def __init__(self, header: dict[str, Any]) -> None:
        """What its first line says. Raises ValueError."""
        fields_of(header, HEADER)
        if header["format"] != LEDGER:
            raise ValueError(f"the format is {shown(header['format'])}, not {LEDGER}")
        if not isinstance(header["origin"], str) or not isinstance(header["keys"], list):
            raise ValueError("`origin` is not text, or `keys` is not a list")
        self.origin = header["origin"]
        self.size, self.root, self.head = whole_of(header["size"]), hash_of(header["root"]), hash_of(header["head"])
        self.keys = header["keys"]
        self.tree, self.chain = Tree(), GENESIS
        self.introduced: dict[str, int] = {}
        """Verifier keys, as rows write them, and the first row that does."""
        self.notes = 0

    def row(self, value: dict[str, Any]) -> None:
        """Take the next row. Raises Fault where it does not follow, ValueError where it is none."""
        place = self.tree.size + 1
        content = content_of(value, ROW)
        if whole_of(value["seq"]) != place:
            raise Fault(place, f"the row is missing, or rows were added or exchanged: row {value['seq']} is here")
        leaf = leaf_hash(content)
        chain = chain_hash(self.chain, place, leaf)
        if value["leaf_hash"] != leaf.hex():
            follows = value["chain_hash"] == chain.hex()
            raise Fault(place, "its leaf hash was changed" if follows else "its content was changed")
        if value["chain_hash"] != chain.hex():
            raise Fault(place, "it does not follow the one before: its chain hash was changed, or rows were exchanged")
        self.chain = chain
        self.tree.push(leaf)
        if b"key_introduced" in content:
            self._introduce(content, place)
            if len(self.introduced) > MOST_KEYS:
                raise ValueError(f"the rows introduce more than {MOST_KEYS} keys")

    def _introduce(self, content: bytes, place: int) -> None:
        """A key that the engine introduces counts from that row on; anybody else's word for one does not."""
        try:
            row = parsed(content)
            if row["kind"] == "key_introduced" and row["source"] == "engine":
                key = row["body"]["vkey"]
                if isinstance(key, str):
                    self.introduced.setdefault(key, place)
        except (ValueError, TypeError, KeyError):
            return


def content_of(value: object, others: Iterable[str]) -> bytes:
    """The stored bytes of a row that has these other fields. Raises ValueError."""
    coded = isinstance(value, dict) and "content_base64" in value
    name = "content_base64" if coded else "content"
    told = fields_of(value, [*others, name])[name]
    if coded:
        return base64_of(told)
    if not isinstance(told, str):
        raise ValueError("`content` is not text")
    return bytes_of(told)


def lines_of(file: IO[bytes], name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The JSON objects of JSON Lines, with their numbers. Raises Unreadable."""
    number = 0
    while True:
        number += 1
        try:
            line = file.readline(LONGEST_LINE + 1)
        except OSError as error:
            raise Unreadable(f"{shown(name)} cannot be read: {_reason(error)}") from None
        if not line:
            return
        try:
            if len(line) > LONGEST_LINE:
                raise ValueError(f"it is longer than {LONGEST_LINE} bytes")
            value = parsed(line)
            if not isinstance(value, dict):
                raise ValueError("it is not a JSON object")
        except ValueError as error:
            raise Unreadable(f"{shown(name)}, line {number}: {error}") from None
        yield number, value


def read_ledger(path: str, met: Callable[[bytes], None], noted: Callable[[Ledger, str, object], None]) -> Ledger:
    """An export whose rows all hold; told are each chain hash, and each checkpoint when all rows are known.

    Raises Fault and Unreadable.
    """
    ledger = None
    with opened(path) as file:
        for number, value in lines_of(file, path):
            try:
                if ledger is None:
                    ledger = Ledger(value)
                elif "checkpoint" in value:
                    ledger.notes += 1
                    noted(ledger, f"checkpoint {ledger.notes}", fields_of(value, ["checkpoint"])["checkpoint"])
                elif ledger.notes:
                    raise ValueError("a row stands behind the checkpoints")
                else:
                    ledger.row(value)
                    met(ledger.chain)
            except ValueError as error:
                raise Unreadable(f"{shown(path)}, line {number}: {error}") from None
    if ledger is None:
        raise Unreadable(f"{shown(path)} is empty")
    return ledger


class Notes:
    """The checkpoints of a ledger, looked at one by one."""

    def __init__(self, given: list[Key]) -> None:
        """Those keys count; where there are none, the ones that rows introduce."""
        self.given = given
        self.count = self.newest = 0
        self.faults: list[tuple[str, str]] = []
        self.signers: set[Key] = set()

    def take(self, ledger: Ledger, name: str, note: object) -> None:
        """Look at one, when all rows are known."""
        self.count += 1
        try:
            checkpoint, signers = _fitting(ledger, note, self.given)
        except ValueError as error:
            self.faults.append((name, str(error) if len(self.faults) < MOST_TOLD else ""))
            return
        self.newest = max(self.newest, checkpoint.size)
        self.signers.update(signers)

    def tell(self, report: Report, size: int) -> None:
        """What came of it, for a ledger of this size."""
        good = self.count - len(self.faults)
        report.facts["checkpoints"] = {"checked": self.count, "signed": good, "newest": self.newest}
        for name, why in self.faults[:MOST_TOLD]:
            report.broken(name, why)
        if len(self.faults) > MOST_TOLD:
            report.broken("further checkpoints", f"{len(self.faults) - MOST_TOLD} more do not hold")
        if good:
            names = names_of(sorted(self.signers))
            report.held("checkpoints", f"{good}, each with the root of its size and signed by {names}")
        elif self.given:
            report.broken("checkpoints", f"none is signed by {names_of(self.given)}")
        if not self.given:
            why = (
                "no --key was given: the keys are the ledger's own word, and whoever wrote it anew could have made them"
            )
            report.unchecked("who signed", why if good else "there is no signed checkpoint", essential=False)
        if self.newest < size:
            why = (
                f"no signature covers the {size - self.newest} rows after row {self.newest}; more may have been cut off"
            )
            report.unchecked("the newest rows", why, essential=False)


def check_ledger(arguments: argparse.Namespace) -> Report:
    """The command `ledger`. Raises Unreadable."""
    report, notes = Report("ledger"), Notes(keys_given(arguments.key))
    kept = [(path, contents(path, LARGEST_NOTE).decode("utf-8", "replace")) for path in arguments.checkpoint]
    head = _head(arguments.head)
    heads: list[bytes] = []
    try:
        ledger = read_ledger(arguments.file, lambda chain: heads.append(chain) if chain == head else None, notes.take)
    except Fault as fault:
        report.facts["row"] = fault.seq
        report.broken(f"row {fault.seq}", fault.why)
        return report
    size, root = ledger.tree.size, ledger.tree.root(ledger.tree.size)
    report.facts.update(rows=size, head=ledger.chain.hex(), root=root.hex())
    report.held("rows", f"{size} rows, each hashes to its leaf and follows the one before")
    report.check("size", ledger.size == size, f"the first line says {ledger.size} rows, there are {size}")
    report.check("head", ledger.head == ledger.chain, "the first line names another chain hash than the last row has")
    report.check("root", ledger.root == root, "the first line names another root than the rows have")
    otherwise = f"the first line names {shown(ledger.keys)}, the rows introduce {shown(list(ledger.introduced))}"
    report.check("keys", ledger.keys == list(ledger.introduced), otherwise)
    if head is not None:
        report.check("head kept elsewhere", heads, "no row has this chain hash: rows were changed or cut off")
    for path, note in kept:
        notes.take(ledger, f"checkpoint of {shown(path)}", note)
    notes.tell(report, size)
    return report


def _head(text: str | None) -> bytes | None:
    try:
        return None if text is None else hash_of(text.strip().lower())
    except ValueError as error:
        raise Unreadable(f"--head: {error}") from None


def _fitting(ledger: Ledger, note: object, given: list[Key]) -> tuple[Checkpoint, list[Key]]:
    """A checkpoint that is one of this ledger, and who signed it. Raises ValueError."""
    checkpoint = checkpoint_of(note)
    where = f"of {checkpoint.size} rows"
    if checkpoint.origin != ledger.origin:
        raise ValueError(f"{where}: it is one of {shown(checkpoint.origin)}, not of {shown(ledger.origin)}")
    if checkpoint.size > ledger.tree.size:
        raise ValueError(f"{where}: the ledger has only {ledger.tree.size}: rows were cut off")
    if checkpoint.root != ledger.tree.root(checkpoint.size):
        raise ValueError(f"{where}: the rows have another root: some of the first {checkpoint.size} were changed")
    try:
        keys = given or [key_of(key) for key, seq in ledger.introduced.items() if seq <= checkpoint.size]
        signers = signers_of(note, keys)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None
    if not signers:
        raise ValueError(f"{where}: no key that was {'given' if given else 'introduced before it'} signed it")
    return checkpoint, signers


# Proofs --------------------------------------------------------------------------------------------------------------

INCLUDED = ("format", "origin", "seq", "leaf_hash", "index", "size", "root", "path", "checkpoint")
CONSISTENT = ("format", "origin", "old_size", "old_root", "new_size", "new_root", "path", "checkpoint")
LONGEST_PATH = 64


class Proved(NamedTuple):
    """A row that is in a tree."""

    seq: int
    """Its place."""
    content: bytes
    """Its bytes."""
    origin: str
    """Of which ledger."""
    size: int
    """Of how many rows."""
    root: bytes
    """Their root."""
    note: str | None
    """The checkpoint that says the root."""


def path_of(value: object) -> list[bytes]:
    """The hashes of a path. Raises ValueError."""
    if not isinstance(value, list) or len(value) > 2 * LONGEST_PATH:
        raise ValueError("`path` is not a list of hashes, or too long")
    return [hash_of(each) for each in value]


def proved(value: object) -> Proved:
    """The row of a proof that leads to its root. Raises ValueError."""
    content = content_of(value, INCLUDED)
    data: dict[str, Any] = value  # type: ignore[assignment]  # content_of has looked
    seq, index, size = whole_of(data["seq"]), whole_of(data["index"]), whole_of(data["size"])
    leaf, root = leaf_hash(content), hash_of(data["root"])
    if data["format"] != PROOF or not isinstance(data["origin"], str):
        raise ValueError(f"the format is not {PROOF}, or `origin` is not text")
    if hash_of(data["leaf_hash"]) != leaf:
        raise ValueError(f"row {seq}: the content does not hash to its leaf: it was changed")
    if index != seq - 1:
        raise ValueError(f"row {seq}: index {index} is another row's")
    if root_by_inclusion(leaf, index, size, path_of(data["path"])) != root:
        raise ValueError(f"row {seq}: the path does not lead to the root")
    return Proved(seq, content, data["origin"], size, root, _optional_text(data["checkpoint"]))


def _optional_text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError("`checkpoint` is neither text nor null")
    return value


def check_proof(arguments: argparse.Namespace) -> Report:
    """The command `proof`. Raises Unreadable."""
    report, given = Report("proof"), keys_given(arguments.key)
    try:
        value = parsed(contents(arguments.file))
        sort = value.get("format") if isinstance(value, dict) else None
        if sort not in (PROOF, CONSISTENCY):
            raise ValueError(f"the format is neither {PROOF} nor {CONSISTENCY}")
        names = value.keys() - {"content", "content_base64"}
        fields_of(dict.fromkeys(names), INCLUDED if sort == PROOF else CONSISTENT)
    except ValueError as error:
        raise Unreadable(f"{shown(arguments.file)}: {error}") from None
    try:
        origin, size, root, note = _included(report, value) if sort == PROOF else _consistent(report, value)
    except ValueError as error:
        report.broken("proof", str(error))
        return report
    _check_root(report, (origin, size, root), note, given)
    return report


def _included(report: Report, value: dict[str, Any]) -> tuple[str, int, bytes, str | None]:
    row = proved(value)
    report.facts.update(seq=row.seq, size=row.size, root=row.root.hex())
    report.held("inclusion", f"row {row.seq} is one of the {row.size} rows with the root {row.root.hex()}")
    return row.origin, row.size, row.root, row.note


def _consistent(report: Report, value: dict[str, Any]) -> tuple[str, int, bytes, str | None]:
    fields_of(value, CONSISTENT)
    old, new = whole_of(value["old_size"]), whole_of(value["new_size"])
    old_root, new_root, path = hash_of(value["old_root"]), hash_of(value["new_root"]), path_of(value["path"])
    if not isinstance(value["origin"], str):
        raise ValueError("`origin` is not text")
    if old == 0:
        fits = not path and old_root == sha256() and (new > 0 or new_root == old_root)
    else:
        fits = roots_by_consistency(old, new, old_root, path) == (old_root, new_root)
    if not fits:
        raise ValueError(f"the path does not show that the {old} rows are the first of the {new}")
    report.facts.update(old_size=old, old_root=old_root.hex(), size=new, root=new_root.hex())
    report.held("consistency", f"the {old} rows with the root {old_root.hex()} are the first of the {new}")
    return value["origin"], new, new_root, _optional_text(value["checkpoint"])


def _check_root(report: Report, told: tuple[str, int, bytes], note: str | None, given: list[Key]) -> None:
    """Whether somebody signed the root that a proof leads to."""
    if note is None:
        if given:
            report.broken("root", f"the proof has no checkpoint: {names_of(given)} did not sign this root here")
        else:
            report.unchecked("root", "the proof has no checkpoint: the root is its own word", essential=False)
        return
    try:
        if checkpoint_of(note) != told:
            raise ValueError("it is one of another ledger, size or root")
        signers = signers_of(note, given)
    except ValueError as error:
        report.broken("checkpoint", str(error))
        return
    report.held("checkpoint", "it says this root")
    if given:
        report.check("signature", signers, f"not signed by {names_of(given)}", f"by {names_of(signers)}")
    else:
        report.unchecked("signature", "no --key was given: the root is the proof's own word", essential=False)


# A folder that somebody sent ------------------------------------------------------------------------------------------

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
PIECE = 1 << 20
IN_FOLDER = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


class Folder:
    """An export. No link in it is followed, and nothing but regular files is read."""

    def __init__(self, path: str) -> None:
        """Open it; the folder itself is the auditor's word. Raises Unreadable."""
        self.path = path
        try:
            self._root = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except (OSError, ValueError) as error:
            raise Unreadable(f"{shown(path)} cannot be read: {_reason(error)}") from None

    def __enter__(self) -> Folder:  # noqa: PYI034 - Self came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._root)

    def open(self, *parts: str) -> IO[bytes]:
        """A regular file below it. Raises ValueError."""
        if not parts or any(each in ("", ".", "..") or "/" in each or "\0" in each for each in parts):
            raise ValueError("its name leads out of the export")
        where, opened_here = self._root, []
        try:
            for each in parts:
                where = os.open(each, IN_FOLDER, dir_fd=where)
                opened_here.append(where)
            if not stat.S_ISREG(os.fstat(where).st_mode):
                raise ValueError("it is not a regular file")
            return os.fdopen(opened_here.pop(), "rb")
        except FileNotFoundError:
            raise ValueError("it is missing") from None
        except OSError as error:
            raise ValueError(f"it cannot be read, or is a link: {_reason(error)}") from None
        except UnicodeError:
            raise ValueError("its name is not text") from None
        finally:
            for descriptor in opened_here:
                os.close(descriptor)

    def read(self, *parts: str) -> bytes:
        """All of a file of ordinary size. Raises ValueError."""
        with self.open(*parts) as file:
            raw = file.read(LARGEST_FILE + 1)
        if len(raw) > LARGEST_FILE:
            raise ValueError(f"it is larger than {LARGEST_FILE} bytes")
        return raw

    def digest(self, *parts: str) -> str:
        """The SHA-256 of a file. Raises ValueError where it is too large, also where it becomes so meanwhile."""
        found, left = hashlib.sha256(), LARGEST_HASHED
        with self.open(*parts) as file:
            if os.fstat(file.fileno()).st_size <= left:
                while left >= 0 and (piece := file.read(PIECE)):
                    found.update(piece)
                    left -= len(piece)
                if left >= 0:
                    return found.hexdigest()
        raise ValueError(f"it is larger than {LARGEST_HASHED} bytes")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """The objects of JSON Lines of the export. Raises Unreadable."""
        try:
            raw = self.read(name)
        except (ValueError, OSError) as error:
            raise Unreadable(f"{name}: {_reason(error)}; a folder that was exported has it") from None
        return [value for _, value in lines_of(io.BytesIO(raw), name)]

    def names(self, *parts: str) -> list[str]:
        """What stands in it or in a folder of it; nothing where that is no folder."""
        try:
            where = os.open(parts[0], IN_FOLDER, dir_fd=self._root) if parts else os.dup(self._root)
        except OSError:
            return []
        try:
            return sorted(os.listdir(where))
        except OSError:
            return []
        finally:
            os.close(where)


# Statements in envelopes (in-toto Statement v1, DSSE) ----------------------------------------------------------------

IN_TOTO = "application/vnd.in-toto+json"
STATEMENT = "https://in-toto.io/Statement/v1"
VERDICT = "https://in-toto.io/attestation/svr/v0.2"
TESTS = "https://in-toto.io/attestation/test-result/v0.1"
PROVENANCE = "https://slsa.dev/provenance/v1"
SHORT = {VERDICT: "verdict", TESTS: "test result", PROVENANCE: "provenance"}


class Envelope(NamedTuple):
    """A statement and who signed it."""

    statement: dict[str, Any]
    """What is stated."""
    signers: list[Key]
    """Those of the keys that were looked for, whose signatures hold."""


def envelope_of(line: dict[str, Any], keys: Iterable[Key]) -> Envelope:
    """A statement out of its envelope. Raises ValueError, also where a looked-for key's signature does not hold."""
    fields_of(line, ["payload", "payloadType", "signatures"])
    if line["payloadType"] != IN_TOTO or not isinstance(line["signatures"], list):
        raise ValueError("the payload is no in-toto statement, or `signatures` is not a list")
    if len(line["signatures"]) > MOST_SIGNATURES:
        raise ValueError("there are too many signatures")
    raw = base64_of(line["payload"])
    message = b"DSSEv1 %d %s %d %s" % (len(IN_TOTO), IN_TOTO.encode(), len(raw), raw)
    known, signers = {f"{key.name}+{key.key_id.hex()}": key for key in keys}, []
    for each in line["signatures"]:
        fields_of(each, ["keyid", "sig"])
        if not isinstance(each["keyid"], str) or not isinstance(each["sig"], str):
            raise ValueError("a signature is not text")
        key = known.get(each["keyid"])
        if key is None:
            continue
        if not ed25519_holds(key.public, message, base64_of(each["sig"])):
            raise ValueError(f"the signature of {shown(each['keyid'])} does not hold")
        signers.append(key)
    statement = fields_of(parsed(raw), ["_type", "subject", "predicateType", "predicate"])
    return Envelope(statement, signers)


def canonical(value: object) -> str:
    """RFC 8785. Raises ValueError for what has no such form."""
    if isinstance(value, dict):
        members = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(each)}" for key, each in members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, str):
        bytes_of(value)
        return json.dumps(value, ensure_ascii=False)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (int, float)):
        return _canonical_number(float(value))
    raise ValueError("it is not JSON")


def _canonical_number(value: float) -> str:
    """As ECMAScript writes a number: the shortest digits, and an exponent only far from the point."""
    sign, digits, point = "-" if value < 0 else "", *_digits(abs(value))
    count = len(digits)
    if value == 0:
        return "0"
    if count <= point <= 21:  # noqa: PLR2004 - ECMA-262, Number::toString
        return sign + digits + "0" * (point - count)
    if 0 < point <= 21:  # noqa: PLR2004 - likewise
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:  # noqa: PLR2004 - likewise
        return f"{sign}0.{'0' * -point}{digits}"
    return f"{sign}{digits[0]}{'.' if count > 1 else ''}{digits[1:]}e{point - 1:+d}"


def _digits(value: float) -> tuple[str, int]:
    """The shortest digits that are this number, and where its point stands behind the first of them."""
    mantissa, _, exponent = f"{value!r}".partition("e")
    whole, _, part = mantissa.partition(".")
    raw = whole + ("" if part == "0" else part)
    digits = raw.lstrip("0")
    point = len(whole) - (len(raw) - len(digits)) + int(exponent or 0)
    return digits.rstrip("0") or "0", point


# What the rows and the evidence of an attempt give ------------------------------------------------------------------

KINDS = (
    "agent_forked", "gate_refused", "bypass_used", "attempt_settled", "landing_held", "landing_queued", "landing_made",
    "landing_rejected", "landing_reverted",
)  # fmt: skip
FINE = ("held", "not-applicable")
MOST_PARTS = 8


def is_evidence_name(name: str) -> bool:
    """Whether a row may name a file of the evidence so."""
    parts = name.split("/")
    return len(parts) <= MOST_PARTS and all(NAME.fullmatch(each) for each in parts)


class Row(NamedTuple):
    """A row of the ledger."""

    seq: int
    """Its place."""
    content: bytes
    """Its bytes."""
    kind: str
    """What happened."""
    source: str
    """Who says so."""
    subject: str
    """To what."""
    body: dict[str, Any]
    """The rest."""
    recorded_at: str
    """When it was written."""


def row_of(seq: int, content: bytes) -> Row:
    """What the bytes of a row tell. Raises ValueError."""
    data = fields_of(parsed(content), ["kind", "source", "actor", "subject", "body", "recorded_at"])
    texts = [data[name] for name in ("kind", "source", "subject", "recorded_at")]
    if not all(isinstance(each, str) for each in texts) or not isinstance(data["body"], dict):
        raise ValueError(f"row {seq} is not a row of a ledger")
    return Row(seq, content, data["kind"], data["source"], data["subject"], data["body"], data["recorded_at"])


def at(value: object, *names: str) -> Any:  # noqa: ANN401 - any JSON
    """The member that the names lead to; None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def digest(name: str, algorithm: str, value: object) -> dict[str, Any]:
    """A descriptor of in-toto: a name and a digest."""
    return {"name": name, "digest": {algorithm: value}}


def without_null(**members: object) -> dict[str, Any]:
    """Those that have a value."""
    return {name: value for name, value in members.items() if value is not None}


class Attempt:
    """Everything an export holds about one attempt, and what follows from it."""

    def __init__(self, attempt: str, rows: Iterable[Row], folder: Folder, report: Report) -> None:
        """Read the rows and the evidence they name. Raises ValueError where nothing can follow."""
        self.attempt, self.folder, self.report = attempt, folder, report
        self.rows = sorted({row.seq: row for row in rows if self._is_about(row)}.values())
        settled = self._last("attempt_settled")
        if settled is None or settled.subject != attempt:
            raise ValueError(f"no row tells that the attempt {shown(attempt)} was settled")
        self.settled = settled
        self.forked = self._last("agent_forked")
        self.made = self._last("landing_made")
        landings = [row for row in self.rows if row.kind.startswith("landing_") and row.kind != "landing_reverted"]
        self.landing = landings[-1] if landings else None
        self.spoken_of = self.made or self.landing
        self.evidence = self._evidence()
        self._check_files()
        self.bundle, self.result, self.returned = (
            self._json(f"{each}.json") for each in ("bundle", "result", "returned")
        )
        self.findings = self._findings()
        self._cross_check()

    def _is_about(self, row: Row) -> bool:
        about = self.attempt in (row.subject, row.body.get("attempt_id"))
        return row.source == "engine" and row.kind in KINDS and about

    def _last(self, kind: str) -> Row | None:
        return next((row for row in reversed(self.rows) if row.kind == kind), None)

    def _evidence(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for row in self.rows:
            tells = row.kind.startswith("landing_") or row.kind == "attempt_settled"
            for name, sha in ((tells and row.body.get("evidence")) or {}).items():
                hash_of(sha)
                if not is_evidence_name(name):
                    raise ValueError(f"row {row.seq} names evidence {shown(name)}, which is no name of a file")
                if found.setdefault(name, sha) != sha:
                    raise ValueError(f"evidence {shown(name)} has two digests")
        if "bundle.json" not in found:
            raise ValueError("no row names the evidence bundle.json")
        return found

    def _check_files(self) -> None:
        for name, sha in sorted(self.evidence.items()):
            check_file(self.report, self.folder, ("evidence", *name.split("/")), sha)

    def _json(self, name: str) -> Any:  # noqa: ANN401 - any JSON
        """A file of the evidence as JSON, where a row names it. Raises ValueError."""
        if name not in self.evidence:
            return None
        try:
            return parsed(self.folder.read("evidence", *name.split("/")))
        except ValueError as error:
            raise ValueError(f"evidence/{name}: {error}") from None

    def _findings_name(self) -> str:
        """An attempt that was judged a second time has a second file."""
        second = f"findings-{self.settled.body.get('fence')}.json"
        return second if second in self.evidence else "findings.json"

    def _findings(self) -> list[dict[str, Any]]:
        found = list(self._json(self._findings_name()) or [])
        if self.spoken_of is not None:
            form = re.compile(rf"landing-{re.escape(self.spoken_of.subject)}-([0-9]{{1,9}})\.json")
            matches = filter(None, map(form.fullmatch, self.evidence))
            for match in sorted(matches, key=lambda each: int(each[1])):
                found += at(self._json(match[0]), "findings") or []
        if not all(isinstance(each, dict) for each in found):
            raise ValueError("a finding is not a JSON object")
        return found

    def _cross_check(self) -> None:
        check, body = self.report.check, self.settled.body
        check("bundle.json is this attempt's", at(self.bundle, "attempt_id") == self.attempt, "it is another's")
        name = self._findings_name()
        if name in self.evidence:
            told = [(at(each, "capability"), at(each, "status")) for each in body.get("findings") or []]
            found = [(at(each, "capability"), at(each, "status")) for each in self._json(name) or []]
            check(f"findings of row {self.settled.seq}", told == found, f"{shown(name)} has others")
        if "prompt.md" in self.evidence:
            fits = at(self.bundle, "prompt", "sha256") == self.evidence["prompt.md"]
            check("prompt.md is the bundle's", fits, "the bundle names another prompt")
        gives = {
            "bundle_hash": ("bundle.json", self.bundle_hash()),
            "base": ("bundle.json", at(self.bundle, "workspace", "commit")),
            "spec_sha256": ("task.json", self.evidence.get("task.json")),
        }
        row = self.forked.body if self.forked else {}
        for name, (file, value) in gives.items():
            if name in row:
                otherwise = f"it says {shown(row[name])}, {file} gives {shown(value)}"
                check(f"{name} of agent_forked", row[name] == value, otherwise)

    def bundle_hash(self) -> str:
        """The hash of the bundle, its random id left out."""
        without = {name: each for name, each in self.bundle.items() if name != "bundle_id"}
        return sha256(bytes_of(canonical(without))).hex()

    # Verdict

    @property
    def tree(self) -> Any:  # noqa: ANN401 - any JSON
        """The merged tree that was judged."""
        if self.spoken_of is not None:
            return at(self.spoken_of.body, "tree")
        merges = [each for each in self.findings if each.get("capability") == "engine::merge"]
        return merges[-1].get("tree") if merges else None

    def about(self) -> list[dict[str, Any]]:
        """The findings about the work itself and about the merged tree that counts."""
        return [each for each in self.findings if each.get("run_from") == "worktree" or each.get("tree") == self.tree]

    def spoken(self) -> list[dict[str, Any]]:
        """Of each predicate the last word, at the place of its first."""
        found: dict[tuple[Any, Any], dict[str, Any]] = {}
        for each in self.about():
            found[(each.get("capability"), each.get("run_from"))] = each
        return list(found.values())

    def rejecting(self) -> list[dict[str, Any]]:
        """The findings that stop a task."""
        return [each for each in self.spoken() if each.get("severity") == "block" and each.get("status") not in FINE]

    def _stands(self) -> bool:
        """Whether it landed, or is verified and may still land."""
        open_still = self.landing is None or self.landing.kind in ("landing_held", "landing_queued")
        return self.made is not None or (self._is_completed() and open_still)

    def _is_completed(self) -> bool:
        return bool(self.settled.body.get("status") == "completed")

    # Statements

    def statements(self, artifacts: Iterable[str]) -> list[dict[str, Any]]:
        """All that is to be stated, in its order."""
        subject = self.subject(artifacts)
        predicates = {VERDICT: self._verdict(), TESTS: self._tests(), PROVENANCE: self._provenance()}
        return [
            {"_type": STATEMENT, "subject": subject, "predicateType": sort, "predicate": each}
            for sort, each in predicates.items()
            if each is not None
        ]

    def commit(self) -> Any:  # noqa: ANN401 - any JSON
        """The commit that is spoken of: landed, or else the candidate."""
        if self.made is not None:
            return at(self.made.body, "after")
        if self.landing is not None:
            return at(self.landing.body, "candidate")
        return at(self.returned, "staged", "commit") if at(self.returned, "staged", "changes") else None

    def subject(self, artifacts: Iterable[str]) -> list[dict[str, Any]]:
        """What is spoken of, with those artifacts that are there."""
        found, commit = [], self.commit()
        if self.made is not None or commit:
            found.append(digest("git:commit", "gitCommit", commit))
            if self.made is not None or self.tree:
                found.append(digest("git:tree", "gitTree", self.tree))
        made = self.settled.body.get("artifacts") or {}
        found += [digest(path, "sha256", made[path]) for path in sorted(set(artifacts) & made.keys())]
        name = "result.json" if "result.json" in self.evidence else "bundle.json"
        return found or [digest(f"evidence/{name}", "sha256", self.evidence[name])]

    def _policies(self) -> list[dict[str, Any]]:
        plan = at(self.spoken_of.body, "plan") if self.spoken_of else None
        policy = digest("keisei:policy", "sha256", at(self.bundle, "role", "policy_digest"))
        return [policy, digest("keisei:plan", "sha256", plan)] if plan else [policy]

    def _tests(self) -> dict[str, Any]:
        spoken, rejecting = self.spoken(), self.rejecting()
        failing = [each for each in spoken if each.get("status") not in FINE]
        failed = not self._is_completed() or rejecting
        bundle = digest("evidence/bundle.json", "sha256", self.evidence["bundle.json"])
        return {
            "result": "FAILED" if failed else "WARNED" if failing else "PASSED",
            "configuration": [bundle, *self._policies()],
            "passedTests": [_test(each) for each in spoken if each.get("status") == "held"],
            "warnedTests": [f"{_test(each)}: {each.get('status')}" for each in failing if each not in rejecting],
            "failedTests": [f"{_test(each)}: {each.get('status')}" for each in rejecting],
        }

    def _verdict(self) -> dict[str, Any] | None:
        """Capabilities that were asked on the merged tree, and of which every last word is that they held, if any."""
        merged = [each for each in self.about() if each.get("run_from") == "merged"]
        bad = {str(each.get("capability")) for each in self.spoken() if each.get("status") != "held"}
        good = {str(each.get("capability")) for each in merged} - bad
        if not good or not self._stands() or self.rejecting():
            return None
        capabilities = at(self.bundle, "role", "capabilities") or []
        policies = [digest(at(each, "name"), "sha256", at(each, "files_sha256")) for each in capabilities]
        return {
            "verifier": {"id": "urn:keisei:verifier:merged-tree:v1", "policies": [*self._policies(), *policies]},
            "timeCreated": merged[-1].get("created_at"),
            "properties": sorted(f"keisei:held:{each}" for each in good),
        }

    def _provenance(self) -> dict[str, Any]:
        version = at(self.forked.body, "keisei") if self.forked else None
        return {
            "buildDefinition": {
                "buildType": "urn:keisei:buildtype:attempt:v1",
                "externalParameters": self._external(),
                "internalParameters": self._internal(),
                "resolvedDependencies": self._dependencies(),
            },
            "runDetails": {
                "builder": without_null(
                    id="urn:keisei:builder:runner:v1", version={"keisei": version} if version else None
                ),
                "metadata": without_null(
                    invocationId=self.attempt,
                    startedOn=at(self.bundle, "created_at"),
                    finishedOn=self.settled.recorded_at,
                ),
                "byproducts": self._byproducts(),
            },
        }

    def _external(self) -> dict[str, Any]:
        task = self.evidence.get("task.json")
        return without_null(
            task=digest("evidence/task.json", "sha256", task) if task else None,
            taskId=self.settled.body.get("task_id"),
            taskType=at(self.bundle, "task", "task_type"),
            role=at(self.bundle, "role", "name"),
            profile=at(self.bundle, "profile", "profile_id"),
            agent=at(self.bundle, "agent", "agent_id"),
        )

    def _internal(self) -> dict[str, Any]:
        return without_null(
            adapter=at(self.bundle, "adapter", "adapter_id"),
            adapterKind=at(self.bundle, "adapter", "kind"),
            model=at(self.bundle, "model"),
            reportedModel=at(self.result, "report", "model"),
            isolation=at(self.returned, "isolation") or None,
            bypasses=self._bypasses() or None,
            bundleHash=self.bundle_hash(),
            inputsHash=at(self.forked.body, "inputs_hash") if self.forked else None,
            policyDigest=at(self.bundle, "role", "policy_digest"),
            replayGrade=at(self.bundle, "replay_grade"),
        )

    def _bypasses(self) -> list[dict[str, Any]]:
        """What did not hold for the attempt, because a person said so."""
        names, rows = ("elevated", "isolation", "sandbox"), [row for row in self.rows if row.kind == "bypass_used"]
        return [{name: row.body[name] for name in names if row.body.get(name)} for row in rows]

    def _dependencies(self) -> list[dict[str, Any]]:
        landing = self.spoken_of.body if self.spoken_of else {}
        constitution = at(self.bundle, "agent", "constitution") or {}
        commits = (
            ("base", at(self.bundle, "workspace", "commit")),
            ("before", landing.get("before")),
            ("candidate", landing.get("candidate")),
        )
        files = [("evidence/prompt.md", at(self.bundle, "prompt", "sha256"))]
        files += [(f"skill/{at(each, 'skill_id')}", at(each, "hash")) for each in at(self.bundle, "skills") or []]
        files += [("SOUL.md", constitution.get("soul_hash")), ("PURPOSE.md", constitution.get("purpose_hash"))]
        found = [digest(name, "gitCommit", value) for name, value in commits if value]
        return found + [digest(name, "sha256", value) for name, value in files if value]

    def _byproducts(self) -> list[dict[str, Any]]:
        found = [digest(f"evidence/{name}", "sha256", sha) for name, sha in sorted(self.evidence.items())]
        for row in self.rows:
            annotations = {"kind": row.kind, "leafHash": leaf_hash(row.content).hex()}
            found.append(
                {**digest(f"ledger/{row.seq}", "sha256", sha256(row.content).hex()), "annotations": annotations}
            )
        return found


def _test(finding: dict[str, Any]) -> str:
    return f"{finding.get('capability')} ({finding.get('run_from')})"


def check_file(report: Report, folder: Folder, parts: Sequence[str], sha: object) -> None:
    """Whether a file of the export has the digest that is claimed."""
    name = shown("/".join(parts))
    try:
        found = folder.digest(*parts)
    except (ValueError, OSError) as error:
        report.broken(name, _reason(error))
        return
    report.check(name, found == sha, f"its SHA-256 is {found}, not {shown(sha)}", f"SHA-256 {found}")


# The attestation -----------------------------------------------------------------------------------------------------

MOST_CLAIMS = 10_000
FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
"""What hostile JSON of another shape can lead to."""


def check_attestation(arguments: argparse.Namespace) -> Report:
    """The command `attestation`. Raises Unreadable."""
    report, given = Report("attestation"), keys_given(arguments.key)
    with Folder(arguments.dir) as folder:
        lines = folder.lines("attestation.intoto.jsonl")
        keys = given or [_own_key(folder)]
        _check_key(report, folder, given)
        envelopes = _envelopes(report, lines, keys)
        proofs = _proofs(report, folder, keys)
        attempt = _followed(report, folder, envelopes, proofs) if envelopes else None
    if attempt is not None:
        _check_git(report, arguments.repository, attempt, lines)
    return report


def _followed(report: Report, folder: Folder, envelopes: list[Envelope], proofs: list[Proved]) -> Attempt | None:
    """The attempt, when every statement was held against its rows and evidence; None where none can be made of them."""
    said = [each.statement for each in envelopes]
    try:
        attempt = _attempt(report, folder, said, [row_of(each.seq, each.content) for each in proofs])
        artifacts = _artifacts(said, attempt)
        _compare(report, said, attempt.statements(artifacts))
        for path in artifacts:
            check_file(report, folder, ("artifacts", *path.split("/")), attempt.settled.body["artifacts"][path])
        _check_others(report, folder, attempt, proofs, artifacts)
    except FAULTS as error:
        report.broken("evidence", f"the statements do not follow from it: {shown(str(error) or type(error).__name__)}")
        return None
    return attempt


def _own_key(folder: Folder) -> Key:
    try:
        text = folder.read("key.txt").decode("utf-8")
        return key_of(text.removesuffix("\n"))
    except ValueError as error:
        raise Unreadable(f"key.txt: {shown(str(error))}") from None


def _check_key(report: Report, folder: Folder, given: list[Key]) -> None:
    key = _own_key(folder)
    if given:
        report.check("key.txt", key in given, f"it names {names_of([key])}, not a key that was given")
    else:
        report.unchecked("who signed", f"no --key was given: {names_of([key])} is the export's own word")


def _envelopes(report: Report, lines: list[dict[str, Any]], keys: list[Key]) -> list[Envelope] | None:
    """The statements; None where one of them is not signed as it should be."""
    found: list[Envelope] = []
    for number, line in enumerate(lines, start=1):
        name = f"signature of statement {number}"
        try:
            envelope = envelope_of(line, keys)
        except (ValueError, RecursionError) as error:
            report.broken(name, shown(str(error)))
            continue
        if report.check(name, envelope.signers, f"not by {names_of(keys)}", f"by {names_of(envelope.signers)}"):
            found.append(envelope)
    if not lines:
        report.broken("statements", "there are none")
    return found if found and len(found) == len(lines) else None


def _proofs(report: Report, folder: Folder, keys: list[Key]) -> list[Proved]:
    """The rows whose proofs hold; each is told."""
    found: list[Proved] = []
    roots: dict[tuple[str, int, bytes, str | None], None] = {}
    for number, value in enumerate(folder.lines("proofs.jsonl"), start=1):
        try:
            row = proved(value)
            if found and row.seq <= found[-1].seq:
                raise ValueError(f"row {row.seq} does not stand behind row {found[-1].seq}")
            _check_introduced(row_of(row.seq, row.content), keys)
        except (ValueError, RecursionError) as error:
            report.broken(f"proof {number}", shown(str(error)))
            continue
        found.append(row)
        roots[(row.origin, row.size, row.root, row.note)] = None
        report.held(f"row {row.seq}", f"it is one of {row.size} with the root {row.root.hex()}")
    if len(roots) > 1:
        report.broken("proofs", "they are of more than one ledger, size or checkpoint")
    for origin, size, root, note in roots:
        if note is None:
            why = "no checkpoint covers the rows yet: they are as good as the statements that name their digests"
            report.unchecked("root", why, essential=False)
        else:
            _check_root(report, (origin, size, root), note, keys)
    return found


def _check_introduced(row: Row, keys: list[Key]) -> None:
    if row.kind == "key_introduced" and (row.source != "engine" or key_of(row.body.get("vkey")) not in keys):
        raise ValueError(f"row {row.seq} introduces another key")


def _attempt(report: Report, folder: Folder, said: list[dict[str, Any]], rows: list[Row]) -> Attempt:
    provenance = [each for each in said if each["predicateType"] == PROVENANCE]
    if len(provenance) != 1:
        raise ValueError(f"there are {len(provenance)} provenance statements, not one")
    name = at(provenance[0], "predicate", "runDetails", "metadata", "invocationId")
    if not isinstance(name, str):
        raise TypeError("the provenance does not name the attempt")
    report.facts["attempt"] = shown(name)
    return Attempt(name, rows, folder, report)


def _artifacts(said: list[dict[str, Any]], attempt: Attempt) -> list[str]:
    """Those artifacts of the attempt that the provenance speaks of; the others' bytes were gone when it was made."""
    named = [at(each, "name") for each in said[-1]["subject"] if at(each, "digest", "sha256") is not None]
    made = attempt.settled.body.get("artifacts") or {}
    return sorted(each for each in named if isinstance(each, str) and each in made)


def _compare(report: Report, said: list[dict[str, Any]], gives: list[dict[str, Any]]) -> None:
    """Every member of every statement, against what rows and evidence give."""
    sorts = [SHORT.get(each["predicateType"], "unknown") for each in said if isinstance(each["predicateType"], str)]
    expected = [SHORT[each["predicateType"]] for each in gives]
    if not report.check("statements", sorts == expected, f"there are {sorts}, the evidence gives {expected}"):
        return
    for sort, one, other in zip(sorts, said, gives):  # noqa: B905 - of one length, and Python 3.9 knows no strict
        for count, (path, left, right) in enumerate(_leaves("", one, other)):
            if count > MOST_CLAIMS:
                report.broken(sort, f"it makes more than {MOST_CLAIMS} claims")
                break
            claim = f"{sort}: {path}"
            same = type(left) is type(right) and left == right
            report.check(claim, same, f"says {_told(left)}, rows and evidence give {_told(right)}", _told(left))


MISSING = object()


def _told(value: object) -> str:
    if value is MISSING:
        return "nothing"
    return shown(json.dumps(value, default=str))


def _leaves(path: str, left: object, right: object) -> Iterator[tuple[str, object, object]]:
    """Pairs of what is said and what is given, wherever there is nothing below."""
    if isinstance(left, dict) and isinstance(right, dict) and (left or right):
        for name in [*left, *(each for each in right if each not in left)]:
            yield from _leaves(f"{path}.{shown(name)}", left.get(name, MISSING), right.get(name, MISSING))
    elif isinstance(left, list) and isinstance(right, list) and (left or right):
        for index in range(max(len(left), len(right))):
            pair = [each[index] if index < len(each) else MISSING for each in (left, right)]
            yield from _leaves(f"{path}[{index}]", *pair)
    else:
        yield path.lstrip("."), left, right


def _check_others(report: Report, folder: Folder, attempt: Attempt, proofs: list[Proved], artifacts: list[str]) -> None:
    """What is in the export and no statement speaks of; and what no export can show."""
    known = {"attestation.intoto.jsonl", "evidence", "artifacts", "proofs.jsonl", "key.txt"}
    others = [name for name in folder.names() if name not in known]
    for place, named_there in (("evidence", attempt.evidence), ("artifacts", artifacts)):
        firsts = {name.split("/")[0] for name in named_there}
        others += [f"{place}/{name}" for name in folder.names(place) if name not in firsts]
    for name in others[:MOST_TOLD]:
        report.unchecked(shown(name), "no statement speaks of it", essential=False)
    named = {row.seq for row in attempt.rows}
    for row in proofs:
        if row.seq not in named and row_of(row.seq, row.content).kind != "key_introduced":
            report.unchecked(f"row {row.seq}", "no statement speaks of it", essential=False)
    why = "only the whole ledger shows it: check an export of it with `ledger`"
    report.unchecked("no other row is about the attempt", why, essential=False)


# The repository: hostile, and asked with everything switched off that could run ---------------------------------------

PATIENCE_S = 300.0
LARGEST_OBJECT = 16 << 20
MOST_FOLDERS = 5
"""Notes stand below folders of two digits each, the more notes the deeper."""
NOTES = "refs/notes/keisei"
OBJECT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
NOBODY = "offline <offline@localhost> 0 +0000"
QUIET = {
    "HOME": "/nonexistent",
    "XDG_CONFIG_HOME": "/nonexistent",
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": "/nonexistent",
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ASKPASS": "false",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "false",
}
SWITCHED_OFF = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "core.attributesFile": os.devnull,
    "core.alternateRefsCommand": "true",
    "core.commitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.directory": "*",
    "merge.directoryRenames": "false",
    "merge.renames": "true",
    "merge.renameLimit": "1000",
}


class Absent(Exception):
    """What the repository does not have, or does not tell."""


class Repository:
    """A git repository. Its references are asked of it; its objects are read through a folder of our own.

    That folder has no configuration, attribute or hook of the repository, so that a merge runs no program it names.
    The bytes of an object are hashed here again, so that the name of a commit says what is in it, whatever git says.
    """

    def __init__(self, path: str, scratch: str) -> None:
        """Find it. Raises Unreadable."""
        program_path = os.pathsep.join(
            p for p in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(p)
        )
        git = shutil.which("git", path=program_path)
        if git is None:
            raise Unreadable("--repository needs the program git, and it is not on the PATH")
        self._git, self._path = git, program_path
        place = os.path.realpath(path)
        try:
            above = {"GIT_CEILING_DIRECTORIES": os.path.dirname(place)}
            found = self._run(["rev-parse", "--git-common-dir"], above, place).decode("utf-8").rstrip("\n")
            self._own = os.path.join(place, found)
            self._format = self._run(["rev-parse", "--show-object-format"], self._here(), place).decode("ascii").strip()
            self._private = self._prepared(scratch)
        except (Absent, OSError, ValueError) as error:
            raise Unreadable(f"--repository {shown(path)}: {_reason(error)}") from None

    def reference(self, name: str) -> str | None:
        """The object a reference names; None where there is no such one."""
        try:
            told = self._run(["for-each-ref", "--format=%(objectname) %(refname)", name], self._here(), self._own)
        except Absent:
            return None
        lines = [line.split(" ", 1) for line in told.decode("utf-8", "replace").splitlines()]
        return next((line[0] for line in lines if line[1:] == [name]), None)

    def commit(self, name: object) -> tuple[str, list[str], list[bytes]]:
        """Tree, parents and the lines of the message. Raises Absent."""
        head, _, message = self.read(name, "commit").partition(b"\n\n")
        lines = [line.split(b" ", 1) for line in head.split(b"\n")]
        trees = [line[1].decode("ascii", "replace") for line in lines if line[0] == b"tree" and line[1:]]
        parents = [line[1].decode("ascii", "replace") for line in lines if line[0] == b"parent" and line[1:]]
        if len(trees) != 1:
            raise Absent(f"{shown(name)} is not a commit of one tree")
        return trees[0], parents, message.split(b"\n")

    def read(self, name: object, sort: str) -> bytes:
        """The bytes of an object, which hash to its name. Raises Absent."""
        if not isinstance(name, str) or OBJECT.fullmatch(name) is None:
            raise Absent(f"{shown(name)} is not the name of an object")
        told = self._run(["cat-file", "--batch-check"], self._private, self._own, given=name.encode() + b"\n").split()
        if len(told) != 3 or told[1] != sort.encode():  # noqa: PLR2004 - name, sort, size
            raise Absent(f"the repository has no {sort} {name}")
        if int(told[2]) > LARGEST_OBJECT:
            raise Absent(f"the {sort} {name} is too large")
        raw = self._run(["cat-file", sort, name], self._private, self._own)
        head = b"%s %d\0" % (sort.encode(), len(raw))
        if len(name) == 2 * HASH:
            found = hashlib.sha256(head + raw).hexdigest()
        else:
            found = hashlib.sha1(head + raw, usedforsecurity=False).hexdigest()
        if found != name:
            raise Absent(f"the {sort} {name} of the repository is a forgery: its bytes hash to {found}")
        return raw

    def is_ancestor(self, old: str, new: str) -> bool:
        """Whether a commit is in the history of another. Raises Absent."""
        words = ["rev-list", "--max-count=1", "--ancestry-path", f"{old}..{new}", "--"]
        return old == new or bool(self._run(words, self._private, self._own).strip())

    def merged(self, base: str, ours: str, theirs: str) -> str | None:
        """The tree of a merge with a named base; None where there are conflicts. Raises Absent."""
        trees = [self.commit(each)[0] for each in (base, ours, theirs)]
        root = self._make(trees[0])
        sides = [self._make(tree, root) for tree in trees[1:]]
        told = self._run(["merge-tree", "--write-tree", *sides], self._private, self._own, fine=(0, 1)).split(b"\n")
        tree = told[0].decode("ascii", "replace")
        return tree if len(told) <= 2 and OBJECT.fullmatch(tree) else None  # noqa: PLR2004 - nothing behind it

    def note(self, commit: str) -> list[bytes] | None:
        """The lines of the note on a commit; None where there is none. Raises Absent."""
        tip = self.reference(NOTES)
        if tip is None:
            return None
        for depth in range(MOST_FOLDERS):
            folders = "".join(f"{commit[2 * i : 2 * i + 2]}/" for i in range(depth))
            asked = f"{tip}:{folders}{commit[2 * depth :]}\n".encode()
            told = self._run(["cat-file", "--batch-check"], self._private, self._own, given=asked).split()
            if len(told) == 3 and told[1] == b"blob":  # noqa: PLR2004 - name, sort, size
                return self.read(told[0].decode("ascii"), "blob").split(b"\n")
        return None

    def _make(self, tree: str, *parents: str) -> str:
        """A commit of ours: which base is taken is then a matter of its parent, and no history is needed."""
        lines = [
            f"tree {tree}",
            *(f"parent {each}" for each in parents),
            f"author {NOBODY}",
            f"committer {NOBODY}",
            "",
            "",
        ]
        words = ["hash-object", "-t", "commit", "-w", "--stdin"]
        return self._run(words, self._private, self._own, given="\n".join(lines).encode()).decode("ascii").strip()

    def _here(self) -> dict[str, str]:
        return {"GIT_DIR": self._own}

    def _prepared(self, scratch: str) -> dict[str, str]:
        if self._format not in ("sha1", "sha256"):
            raise ValueError("it names its objects in an unknown way")
        for name in ("objects", "refs"):
            os.mkdir(os.path.join(scratch, name))
        settings = (
            f"[core]\n\trepositoryFormatVersion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = {self._format}\n"
        )
        for name, text in (("HEAD", "ref: refs/heads/none\n"), ("config", settings)):
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as file:
                file.write(text)
        # In quotes a path may hold the colon that parts paths here.
        objects = os.path.join(self._own, "objects").replace("\\", "\\\\").replace('"', '\\"')
        return {"GIT_DIR": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{objects}"'}

    def _run(
        self, words: list[str], more: dict[str, str], where: str, *, given: bytes = b"", fine: Sequence[int] = (0,)
    ) -> bytes:
        """What git says. Raises Absent where it fails."""
        settings = {"GIT_CONFIG_COUNT": str(len(SWITCHED_OFF))}
        for number, (key, value) in enumerate(SWITCHED_OFF.items()):
            settings.update({f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value})
        env = {"PATH": self._path, **QUIET, **settings, **more}
        try:
            done = subprocess.run(  # noqa: S603 - git, with words of ours and checked names
                [self._git, *words],
                env=env,
                cwd=where,
                input=given,
                capture_output=True,
                timeout=PATIENCE_S,
                check=False,
            )
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            raise Absent(f"git {words[0]} could not be asked: {shown(type(error).__name__)}") from None
        if done.returncode not in fine:
            told = done.stderr.decode("utf-8", "replace").strip().split("\n")[0]
            raise Absent(f"git {words[0]} failed: {shown(told)}")
        return done.stdout


def _check_git(report: Report, path: str | None, attempt: Attempt, lines: list[dict[str, Any]]) -> None:
    """What the statements say of the repository."""
    commit = attempt.commit()
    if commit is None:
        return
    if not isinstance(commit, str) or OBJECT.fullmatch(commit) is None:
        report.broken("repository", f"{shown(commit)} is not the name of a commit")
        return
    if path is None:
        report.unchecked("repository", "no --repository was given: commit, tree, parent and note are not looked at")
        return
    with tempfile.TemporaryDirectory(prefix="offline-") as scratch:
        repository = Repository(path, scratch)
        if attempt.made is None:
            _check_candidate(report, repository, commit)
        else:
            _check_landed(report, repository, attempt, attempt.made, commit)
            _check_note(report, repository, commit, lines)
        _check_base(report, repository, attempt, commit)
        _check_merge(report, repository, attempt)


def _check_candidate(report: Report, repository: Repository, commit: str) -> None:
    try:
        repository.commit(commit)
    except Absent as error:
        report.unchecked("repository: candidate", str(error))
    else:
        report.held("repository: candidate", f"{commit} is a commit")


def _check_landed(report: Report, repository: Repository, attempt: Attempt, made: Row, commit: str) -> None:
    try:
        tree, parents, message = repository.commit(commit)
    except Absent as error:
        report.broken("repository: commit", str(error))
        return
    report.held("repository: commit", f"{commit} is a commit")
    told, before = made.body.get("tree"), made.body.get("before")
    report.check("repository: tree", tree == told, f"the commit has the tree {shown(tree)}, not {shown(told)}", tree)
    otherwise = f"the commit has the parents {shown(parents)}, not only {shown(before)}"
    report.check("repository: parent", parents == [before], otherwise, shown(before))
    ends = (("Attempt", attempt.attempt), ("Task", attempt.settled.body.get("task_id")), ("Landing", made.subject))
    for name, value in ends:
        line = f"Keisei-{name}: {value}"
        there = line.encode("utf-8", "replace") in message
        report.check(f"repository: {shown(line)}", there, "the commit's message does not say it", "in the message")
    branch = made.body.get("branch")
    tip = repository.reference(f"refs/heads/{branch}") if isinstance(branch, str) and branch else None
    name = f"repository: branch {shown(branch)}"
    _check_history(report, repository, name, (commit, tip), "the commit is not on it now: a branch may be rewritten")


def _check_history(report: Report, repository: Repository, name: str, ends: tuple[str, str | None], why: str) -> None:
    """Whether one commit leads to another: told, and never a reason to doubt the rest."""
    old, new = ends
    try:
        if new is not None and repository.is_ancestor(old, new):
            report.held(name, f"{old} leads to {new}")
            return
    except Absent as error:
        why = str(error)
    report.unchecked(name, why, essential=False)


def _check_base(report: Report, repository: Repository, attempt: Attempt, commit: str) -> None:
    base = at(attempt.bundle, "workspace", "commit")
    if isinstance(base, str) and OBJECT.fullmatch(base):
        otherwise = "the base is not in the history of the commit: main was rewritten meanwhile, or history is cut off"
        _check_history(report, repository, "repository: base", (base, commit), otherwise)


def _check_merge(report: Report, repository: Repository, attempt: Attempt) -> None:
    """Whether the tree that was judged is main with the candidate merged."""
    landing, name = attempt.spoken_of, "repository: merge"
    if landing is None or not attempt.tree:
        return
    told = (at(attempt.returned, "staged", "base"), landing.body.get("before"), landing.body.get("candidate"))
    base, before, candidate = (each if isinstance(each, str) else "" for each in told)
    try:
        found = repository.merged(base, before, candidate)
    except Absent as error:
        report.unchecked(name, str(error), essential=False)
        return
    otherwise = f"{before} merged with {candidate} gives {found or 'conflicts'}, not {shown(attempt.tree)}"
    report.check(name, found == attempt.tree, otherwise, "before and candidate give the tree")


def _check_note(report: Report, repository: Repository, commit: str, lines: list[dict[str, Any]]) -> None:
    """Whether the statements stand on the commit. A clone does not bring notes along, so that it is only told."""
    fetch = f"git fetch REMOTE {NOTES}:{NOTES}"
    try:
        note = repository.note(commit)
    except Absent as error:
        report.unchecked("repository: note", str(error), essential=False)
        return
    if note is None:
        report.unchecked(
            "repository: note", f"there is none on the commit here; to bring notes: {fetch}", essential=False
        )
        return
    found = []
    for each in note:
        try:
            found.append(parsed(each))
        except ValueError:
            continue
    missing = sum(line not in found for line in lines)
    if missing:
        why = f"the note on the commit lacks {missing} of {len(lines)} statements: rows came later, or it is another's"
        report.unchecked("repository: note", why, essential=False)
    else:
        report.held("repository: note", f"the note on the commit has all {len(lines)} statements")


# The command line -----------------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Usage that is wrong is input that cannot be read."""

    def error(self, message: str) -> NoReturn:
        raise Unreadable(f"{shown(message)}; see --help")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="offline.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    ledger = commands.add_parser("ledger", help="an export of a whole ledger")
    ledger.add_argument("file", metavar="FILE")
    ledger.add_argument("--checkpoint", metavar="FILE", action="append", default=[], help="one kept elsewhere")
    ledger.add_argument("--head", metavar="HEX", help="a chain hash kept elsewhere")
    proof = commands.add_parser("proof", help="that a row is in a ledger, or that a ledger has only grown")
    proof.add_argument("file", metavar="FILE")
    attestation = commands.add_parser("attestation", help="the exported evidence of an attempt")
    attestation.add_argument("dir", metavar="DIR")
    attestation.add_argument("--repository", metavar="REPO", help="the git repository it speaks of")
    for each, check in ((ledger, check_ledger), (proof, check_proof), (attestation, check_attestation)):
        each.add_argument("--key", metavar="VKEY", action="append", default=[], help="whom you trust; may be repeated")
        each.add_argument("--json", action="store_true", help="print a report for a program")
        each.set_defaults(check=check)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Run one command. The exit status."""
    words = sys.argv[1:] if words is None else words
    try:
        arguments = _parser().parse_args(words)
        report = arguments.check(arguments)
    except Unreadable as error:
        return _failed(UNREADABLE, str(error), as_json="--json" in words)
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - hostile input must not reach a terminal as a traceback
        told = f"the verifier itself failed, and nothing is shown: {type(error).__name__}: {shown(str(error))}"
        return _failed(BUG, told, as_json="--json" in words)
    text = json.dumps(report.data(), indent=1) + "\n" if arguments.json else report.text()
    return _say(text, report.status())


def _failed(status: int, why: str, *, as_json: bool) -> int:
    sys.stderr.write(f"offline.py: {why}\n")
    return _say(json.dumps({"verdict": "unreadable", "error": why}) + "\n", status) if as_json else status


def _say(text: str, status: int) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the reader went away; Python must not complain at its end
        return status or UNREADABLE
    return status


if __name__ == "__main__":
    sys.exit(main())
