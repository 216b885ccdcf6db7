"""Ed25519: whether a signature holds. The library is imported when the first one is looked at."""

from typing import Final

PUBLIC: Final = 32
SIGNATURE: Final = 64


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature over the message was made with the key of this public one. Never raises."""
    if len(public) != PUBLIC or len(signature) != SIGNATURE:
        return False
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - 40 ms that most commands do not need
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415 - likewise

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
