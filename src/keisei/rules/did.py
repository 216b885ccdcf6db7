"""Decentralized identifiers that need no registry: did:key of an Ed25519 key, and its document."""

from typing import Any, Final

from keisei.rules.wallet.base58 import text_of

ED25519: Final = b"\xed\x01"
"""The multicodec of an Ed25519 public key, as a varint."""
USES: Final = ("authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation")
CONTEXT: Final = ("https://www.w3.org/ns/did/v1", "https://w3id.org/security/multikey/v1")


def multikey(public: bytes) -> str:
    """An Ed25519 public key as Multikey writes it."""
    return f"z{text_of(ED25519 + public)}"


def did_key(public: bytes) -> str:
    """The identifier of an Ed25519 public key."""
    return f"did:key:{multikey(public)}"


def key_url(public: bytes) -> str:
    """The key itself inside of that identifier's document: what a signature names."""
    return f"{did_key(public)}#{multikey(public)}"


def key_document(public: bytes) -> dict[str, Any]:
    """The DID document that a did:key stands for. It tells of the key alone, as everybody who has only the key can."""
    did, url = did_key(public), key_url(public)
    method = {"id": url, "type": "Multikey", "controller": did, "publicKeyMultibase": multikey(public)}
    return {"@context": list(CONTEXT), "id": did, "verificationMethod": [method]} | {use: [url] for use in USES}
