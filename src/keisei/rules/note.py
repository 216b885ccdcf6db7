"""Signed notes and checkpoints in the forms of C2SP: text that says how far a ledger has come, and who says so."""

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from keisei.rules import ed25519

ALGORITHM: Final = b"\x01"
"""Ed25519, in verifier keys and in the ids of keys."""
ID: Final = 4
DASH: Final = "\u2014 "
LARGEST: Final = 1_000_000
MOST: Final = 16
"""Bytes of a note, and signatures under it, that are still looked at."""
KEY_NAME: Final = re.compile(r"[^\s+\x00-\x20\x7f]+")
SIZE: Final = re.compile(r"0|[1-9][0-9]{0,18}")
ROOT: Final = 32


class VerifierKey(NamedTuple):
    """A public key with its name."""

    name: str
    """Whose; for a ledger its origin."""
    key_id: bytes
    """Four bytes that tell keys of one name apart."""
    public: bytes
    """The key itself."""


class NoteSignature(NamedTuple):
    """One line under a note."""

    name: str
    """Who is said to have signed."""
    key_id: bytes
    """With which key."""
    signature: bytes
    """What must hold."""


class CheckpointBody(NamedTuple):
    """What a checkpoint says."""

    origin: str
    """Of which ledger."""
    size: int
    """How many rows it had."""
    root: bytes
    """Their root."""


def key_id(name: str, public: bytes) -> bytes:
    """The id of an Ed25519 key."""
    return hashlib.sha256(name.encode() + b"\n" + ALGORITHM + public).digest()[:ID]


def vkey(name: str, public: bytes) -> str:
    """The verifier key: one word that says name, id and key. Raises ValueError for what cannot be a name or a key."""
    if KEY_NAME.fullmatch(name) is None:
        raise ValueError("the name of a key is empty, or has spaces or a plus")
    if len(public) != ed25519.PUBLIC:
        raise ValueError(f"an Ed25519 key has {ed25519.PUBLIC} bytes, not {len(public)}")
    return f"{name}+{key_id(name, public).hex()}+{_written(ALGORITHM + public)}"


def parse_vkey(text: str) -> VerifierKey:
    """The key that a word says. Raises ValueError."""
    parts = text.strip().split("+", 2)
    if len(parts) != 3 or KEY_NAME.fullmatch(parts[0]) is None:  # noqa: PLR2004 - name, id, key
        raise ValueError("a verifier key is `NAME+ID+KEY`")
    name, told, raw = parts[0], parts[1], _read(parts[2])
    public = raw[1:]
    if raw[:1] != ALGORITHM or len(public) != ed25519.PUBLIC:
        raise ValueError("the verifier key is not one of Ed25519")
    if key_id(name, public).hex() != told:
        raise ValueError("the verifier key does not have its id: it was cut or mistyped")
    return VerifierKey(name, key_id(name, public), public)


def signed_note(text: str, name: str, public: bytes, signature: bytes) -> str:
    """The text with one signature under it. Raises ValueError for text that cannot be a note's."""
    _check_text(text)
    return f"{text}\n{DASH}{name} {_written(key_id(name, public) + signature)}\n"


def split_note(note: str) -> tuple[str, tuple[NoteSignature, ...]]:
    """The text of a note, which is what is signed, and the signatures under it. Raises ValueError."""
    if len(note) > LARGEST:
        raise ValueError("the note is too long")
    text, blank, below = note.rpartition("\n\n")
    if not blank or not below.endswith("\n"):
        raise ValueError("the note has no signature, or is cut")
    text += "\n"
    _check_text(text)
    lines = below[:-1].split("\n")
    if len(lines) > MOST:
        raise ValueError("the note has too many signatures")
    return text, tuple(map(_signature, lines))


def signers_of(note: str, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Whose signatures under it hold, of these keys. Raises ValueError for what is no note.

    As C2SP asks: a signature of a known key that does not hold spoils the whole note; unknown keys are passed over.
    """
    text, signatures = split_note(note)
    known = {(each.name, each.key_id): each for each in keys}
    found: dict[VerifierKey, None] = {}
    for each in signatures:
        key = known.get((each.name, each.key_id))
        if key is None:
            continue
        if not ed25519.verify(key.public, text.encode(), each.signature):
            raise ValueError(f"the signature of `{each.name}` does not hold")
        found[key] = None
    return tuple(found)


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """What is signed: three lines."""
    return f"{origin}\n{size}\n{_written(root)}\n"


def parse_checkpoint(text: str) -> CheckpointBody:
    """What the text of a note says as a checkpoint; further lines are somebody's additions. Raises ValueError."""
    lines = text.split("\n")
    if len(lines) < 4 or lines[-1] or not all(lines[:-1]):  # noqa: PLR2004 - three lines and their end
        raise ValueError("a checkpoint has three lines: origin, size, root")
    origin, size, root = lines[:3]
    if SIZE.fullmatch(size) is None:
        raise ValueError("the second line of a checkpoint is the number of rows")
    raw = _read(root)
    if len(raw) != ROOT:
        raise ValueError("the third line of a checkpoint is the root, 32 bytes in base64")
    return CheckpointBody(origin, int(size), raw)


def _signature(line: str) -> NoteSignature:
    name, space, raw = line.removeprefix(DASH).partition(" ")
    if not line.startswith(DASH) or not space or KEY_NAME.fullmatch(name) is None:
        raise ValueError("a signature under a note is `\u2014 NAME BASE64`")
    read = _read(raw)
    if len(read) <= ID:
        raise ValueError("a signature under the note is cut")
    return NoteSignature(name, read[:ID], read[ID:])


def _check_text(text: str) -> None:
    if not text.endswith("\n") or any(ord(each) < ord(" ") and each != "\n" for each in text):
        raise ValueError("the text of a note ends with a newline and has no other control characters")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError("the text of a note is UTF-8") from error


def _written(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _read(text: str) -> bytes:
    """Base64 in its one form: what decodes to the same bytes and is written otherwise is refused."""
    try:
        raw = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError("what should be base64 is not") from error
    if _written(raw) != text:
        raise ValueError("base64 is written in another form than usual: bits were changed")
    return raw
