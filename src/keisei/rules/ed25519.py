"""Ed25519: whether a signature holds. The library is imported when the first one is looked at."""

from typing import Final

PUBLIC: Final = 32
SIGNATURE: Final = 64
SIGN: Final = 0x7F
SMALL: Final = frozenset(
    bytes.fromhex(each)
    for each in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)
"""Points of small order, their sign left out: signatures under such a key hold for messages that nobody signed."""


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature over the message was made with the key of this public one. Never raises."""
    if len(public) != PUBLIC or len(signature) != SIGNATURE or is_small(public):
        return False
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - 40 ms that most commands do not need
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - likewise

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def is_small(public: bytes) -> bool:
    """Whether it is a key that no honest signer has."""
    return public[:-1] + bytes([public[-1] & SIGN]) in SMALL
