"""Decentralized identifiers that need no registry: did:key of an Ed25519 key, and its document."""

from collections.abc import Sequence
from typing import Any, Final

ED25519: Final = b"\xed\x01"
"""The multicodec of an Ed25519 public key, as a varint."""
LETTERS: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
USES: Final = ("authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation")
CONTEXT: Final = ("https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")


def base58(raw: bytes) -> str:
    """Bytes in base58, Bitcoin's letters."""
    number, text = int.from_bytes(raw, "big"), ""
    while number:
        number, rest = divmod(number, len(LETTERS))
        text = LETTERS[rest] + text
    return LETTERS[0] * (len(raw) - len(raw.lstrip(b"\0"))) + text


def multikey(public: bytes) -> str:
    """An Ed25519 public key as Multikey writes it."""
    return f"z{base58(ED25519 + public)}"


def did_key(public: bytes) -> str:
    """The identifier of an Ed25519 public key."""
    return f"did:key:{multikey(public)}"


def key_url(public: bytes) -> str:
    """The key itself inside of that identifier's document: what a signature names."""
    return f"{did_key(public)}#{multikey(public)}"


def key_document(public: bytes, also: Sequence[str] = ()) -> dict[str, Any]:
    """The DID document that a did:key stands for; `also` are other names of the same subject."""
    did, url = did_key(public), key_url(public)
    method = {"id": url, "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(public)}
    known = {"alsoKnownAs": list(also)} if also else {}
    return {"@context": list(CONTEXT), "id": did, **known, "verificationMethod": [method]} | {
        use: [url] for use in USES
    }
