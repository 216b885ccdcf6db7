"""DSSE: signed envelopes (secure-systems-lab/dsse, version 1), one JSON object each. What is signed is the bytes."""

import base64
import binascii
from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from keisei.rules import ed25519
from keisei.rules.note import VerifierKey

PREAMBLE: Final = b"DSSEv1"
IN_TOTO: Final = "application/vnd.in-toto+json"
LARGEST: Final = 16 * 1024 * 1024
"""Bytes of an envelope that is still looked at."""
MOST: Final = 16
"""Signatures of one envelope that are still looked at."""


class _Signature(Struct, frozen=True, kw_only=True):
    sig: str
    keyid: str = ""


class _Form(Struct, frozen=True, kw_only=True):
    payload: str
    payload_type: str = msgspec.field(name="payloadType")
    signatures: tuple[_Signature, ...]


class Envelope(NamedTuple):
    """An envelope, read."""

    payload: bytes
    """What was signed, as it is."""
    payload_type: str
    """How to read it; signed too."""
    signatures: tuple[tuple[str, bytes], ...]
    """The id of a key, which is only a hint, and what was made with it."""


def pae(payload_type: str, payload: bytes) -> bytes:
    """What is signed: the type and the payload, each with its length, so that nothing passes for something else."""
    kind = payload_type.encode("utf-8")
    return b"%s %d %s %d %s" % (PREAMBLE, len(kind), kind, len(payload), payload)


def keyid(name: str, key_id: bytes) -> str:
    """How our signatures name their key: the first two parts of its verifier key."""
    return f"{name}+{key_id.hex()}"


def enveloped(payload: bytes, payload_type: str, signed_by: str, signature: bytes) -> bytes:
    """An envelope with one signature over `pae`, as one line without its end. Said again it is the same bytes."""
    form = _Form(
        payload=_written(payload),
        payload_type=payload_type,
        signatures=(_Signature(keyid=signed_by, sig=_written(signature)),),
    )
    return msgspec.json.encode(form, order="sorted")


def parse_envelope(line: bytes) -> Envelope:
    """The envelope that one JSON object says. Raises ValueError."""
    if len(line) > LARGEST:
        raise ValueError("the envelope is too large")
    try:
        form = msgspec.json.decode(line, type=_Form)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError("it is no DSSE envelope") from error
    if len(form.signatures) > MOST:
        raise ValueError("the envelope has too many signatures")
    signatures = tuple((each.keyid, _read(each.sig)) for each in form.signatures)
    return Envelope(_read(form.payload), form.payload_type, signatures)


def signers_of(envelope: Envelope, keys: Iterable[VerifierKey]) -> tuple[VerifierKey, ...]:
    """Which of these keys have signed it. The ids beside the signatures are hints and prove nothing."""
    message = pae(envelope.payload_type, envelope.payload)
    told = [signature for _, signature in envelope.signatures]
    return tuple(key for key in keys if any(ed25519.verify(key.public, message, each) for each in told))


def _written(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _read(text: str) -> bytes:
    """Standard base64 or the one for addresses: DSSE has readers take both."""
    try:
        return base64.b64decode(text.encode("ascii").translate(bytes.maketrans(b"-_", b"+/")), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ValueError("what should be base64 in the envelope is not") from error
