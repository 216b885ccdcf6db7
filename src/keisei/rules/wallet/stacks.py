"""Stacks messages: sha256 of prefix, length and message; 65 bytes in hexadecimal, r, s and then the recovery number.

A high `s` is refused, as Stacks' own library refuses it; so is the older prefix `Stacks Message Signing`.
"""

import hashlib
from typing import Final

from keisei.rules.wallet.address import Address, pays_to
from keisei.rules.wallet.curve import HALF, compressed, recover
from keisei.rules.wallet.signature import Compact, Verdict, compact, from_hex, length_prefix

SCHEME: Final = "stacks"
MAGIC: Final = b"\x17Stacks Signed Message:\n"
LAST: Final = 3
"""The largest recovery number."""


def verify(address: Address, message: bytes, signature: str) -> Verdict:
    """Whether the signature holds. Raises ValueError for one that cannot be read or does not fit the address."""
    if address.kind != "p2pkh":
        raise ValueError("the address is a script's (SM or SN); only an account of one key (SP or ST) signs messages")
    raw, hashed = from_hex(signature), digest(message)
    parts = compact(raw, first=False)
    key = _recovered(hashed, parts)
    if key is not None and pays_to(address, key):
        if parts.s > HALF:
            raise ValueError("s of the signature is high, and Stacks takes only the low one")
        return Verdict(
            valid=True, scheme=SCHEME, reason="signed by the key of the account", public_key=compressed(key).hex()
        )
    turned = _recovered(hashed, compact(raw, first=True)) if raw[0] <= LAST else None
    if turned is not None and pays_to(address, turned):
        raise ValueError("the recovery number stands before r and s; it belongs behind them")
    if parts.mark > LAST:
        raise ValueError(f"the signature ends with {parts.mark}, and a recovery number is from 0 to {LAST}")
    raise ValueError("the message was not signed, or not like this, by the key of the address")


def _recovered(hashed: bytes, parts: Compact) -> tuple[int, int] | None:
    return recover(hashed, parts.r, parts.s, parts.mark)


def digest(message: bytes) -> bytes:
    """What is signed of a message."""
    return hashlib.sha256(MAGIC + length_prefix(len(message)) + message).digest()
