"""BIP-322, the simple form: a witness in base64 that would spend a coin nobody has, whose script holds the message.

For p2wpkh, p2wpkh inside p2sh, and p2tr spent by its key. Scripts (p2wsh, p2tr by script) and the full form need an
interpreter of scripts and are refused. What the standard requires is required: SIGHASH_ALL, strict DER, a low `s`.
"""

import hashlib
from typing import Final

from keisei.rules.wallet.address import Address, pays_to
from keisei.rules.wallet.curve import HALF, compressed, ecdsa_verify, parse_public, schnorr_verify, tagged
from keisei.rules.wallet.der import parse_der
from keisei.rules.wallet.ripemd import hash160, sha256d
from keisei.rules.wallet.signature import Verdict, from_base64

SCHEME: Final = "bip322"
PREFIXES: Final = ("smp", "ful", "pof")
"""How a signature may say its form: simple, full, proof of funds. Without one it is taken for simple."""
ALL: Final = 1
"""SIGHASH_ALL."""
ZERO: Final = bytes(4)
NOTHING: Final = bytes(8) + b"\x01\x6a"
"""The only output: no coins, OP_RETURN."""
MOST: Final = 4
"""Items of a witness that are read; one or two are understood."""


def verify(address: Address, message: bytes, signature: str) -> Verdict:
    """Whether the signature holds. Raises ValueError for one that cannot be read or does not fit the address."""
    if address.kind not in ("p2wpkh", "p2sh", "p2tr"):
        raise ValueError(f"the simple form of BIP-322 is verified for p2wpkh, p2sh and p2tr, not for {address.kind}")
    items = witness(signature)
    return _by_key(address, message, items) if address.kind == "p2tr" else _by_hash(address, message, items)


def witness(signature: str) -> list[bytes]:
    """The items of a simple signature. Raises ValueError."""
    plain = signature.strip()
    if plain.startswith(PREFIXES[1:]):
        raise ValueError(f"the signature says it is of the form `{plain[:3]}`; only the simple form is verified")
    raw = from_base64(plain.removeprefix(PREFIXES[0]))
    count, rest = raw[0], raw[1:]
    if len(raw) > 1 + len(ZERO) and raw[1:4] == ZERO[1:]:
        raise ValueError("the signature is a whole transaction, the full form; only the simple form is verified")
    if not 0 < count <= MOST:
        raise ValueError("the signature is not a witness of one or two items")
    items = []
    for _ in range(count):
        if not rest or rest[0] > 0xFC or len(rest) <= rest[0]:  # noqa: PLR2004 - longer items have longer lengths
            raise ValueError("the signature is not a witness: an item is longer than what is there")
        items.append(rest[1 : 1 + rest[0]])
        rest = rest[1 + rest[0] :]
    if rest:
        raise ValueError("something stands behind the witness")
    return items


def _by_hash(address: Address, message: bytes, items: list[bytes]) -> Verdict:
    """P2WPKH: a signature and a public key."""
    if len(items) != 2:  # noqa: PLR2004 - these two
        raise ValueError(f"the witness has {len(items)} items; a signature and a public key are expected")
    key = parse_public(items[1])
    if key is None or items[1] != compressed(key):
        raise ValueError("the witness holds no compressed public key")
    if not pays_to(address, key):
        raise ValueError("the public key of the witness is not the address's")
    if items[0][-1:] != bytes([ALL]):
        raise ValueError("the signature is not for the whole (SIGHASH_ALL)")
    r, s = parse_der(items[0][:-1])
    if s > HALF:
        raise ValueError("s of the signature is high, and BIP-322 takes only the low one")
    if not ecdsa_verify(key, hashed_v0(address, message, hash160(items[1])), r, s):
        raise ValueError("the message was not signed, or not like this, by the key of the address")
    return Verdict(
        valid=True,
        scheme=SCHEME,
        reason=f"signed by the key of the address ({address.kind})",
        public_key=items[1].hex(),
    )


def _by_key(address: Address, message: bytes, items: list[bytes]) -> Verdict:
    """P2TR: one Schnorr signature under the key that the address holds."""
    if len(items) != 1:
        raise ValueError(f"the witness has {len(items)} items: it spends by a script or has an annex; one is expected")
    form = {64: 0, 65: items[0][-1]}.get(len(items[0])) if items[0] else None
    if form is None:
        raise ValueError(f"the signature in the witness has {len(items[0])} bytes, not 64 or 65")
    if len(items[0]) == 65 and form != ALL:  # noqa: PLR2004 - with the byte that says what it is for
        raise ValueError("the signature is not for the whole (SIGHASH_ALL)")
    if not schnorr_verify(address.program, hashed_v1(address, message, form), items[0][:64]):
        raise ValueError("the message was not signed, or not like this, by the key of the address")
    return Verdict(
        valid=True,
        scheme=SCHEME,
        reason="signed by the key of the address (p2tr)",
        public_key=address.program.hex(),
    )


def message_hash(message: bytes) -> bytes:
    """The hash of a message that stands in the coin."""
    return tagged("BIP0322-signed-message", message)


def script_of(address: Address) -> bytes:
    """The script an address stands for."""
    if address.kind == "p2sh":
        return b"\xa9\x14" + address.program + b"\x87"
    version = 0x50 + address.version if address.version else 0
    return bytes([version, len(address.program)]) + address.program


def coin(address: Address, message: bytes) -> bytes:
    """Hash of the transaction with the coin that is spent (`to_spend`), as it is hashed and not as it is shown."""
    script = script_of(address)
    source = bytes(32) + b"\xff" * 4 + b"\x22\x00\x20" + message_hash(message) + ZERO
    return sha256d(ZERO + b"\x01" + source + b"\x01" + bytes(8) + bytes([len(script)]) + script + ZERO)


def spending(address: Address, message: bytes) -> bytes:
    """The transaction that spends it (`to_sign`), without its witness."""
    return ZERO + b"\x01" + coin(address, message) + ZERO + b"\x00" + ZERO + b"\x01" + NOTHING + ZERO


def hashed_v0(address: Address, message: bytes, key_hash: bytes) -> bytes:
    """What is signed under witness version 0 (BIP-143)."""
    outpoint = coin(address, message) + ZERO
    code = b"\x19\x76\xa9\x14" + key_hash + b"\x88\xac"
    ahead = ZERO + sha256d(outpoint) + sha256d(ZERO) + outpoint + code + bytes(8) + ZERO
    return sha256d(ahead + sha256d(NOTHING) + ZERO + ALL.to_bytes(4, "little"))


def hashed_v1(address: Address, message: bytes, form: int) -> bytes:
    """What is signed under witness version 1 when it is spent by its key (BIP-341)."""
    script = script_of(address)
    parts = (coin(address, message) + ZERO, bytes(8), bytes([len(script)]) + script, ZERO, NOTHING)
    hashes = b"".join(hashlib.sha256(part).digest() for part in parts)
    return tagged("TapSighash", bytes([0, form]) + ZERO + ZERO + hashes + b"\x00" + ZERO)
