"""BIP-137: 65 bytes in base64, a header that says which kind of address signed, and the key recovered from them.

The header must mean the address's own kind. Some wallets sign for segregated witness addresses under the header of an
older kind; such a signature is refused, and the reason says so. A high `s` is taken, as Bitcoin Core takes it: wallets
made such signatures until 2014.
"""

from typing import Final

from keisei.rules.wallet.address import Address
from keisei.rules.wallet.curve import compressed, recover, uncompressed
from keisei.rules.wallet.ripemd import hash160, sha256d
from keisei.rules.wallet.signature import COMPACT, Verdict, compact, from_base64, from_hex, length_prefix

SCHEME: Final = "bip137"
MAGIC: Final = b"\x18Bitcoin Signed Message:\n"
HEADERS: Final = ((27, "p2pkh, uncompressed"), (31, "p2pkh"), (35, "p2sh"), (39, "p2wpkh"))
"""What four headers from each number on mean."""
LAST: Final = 42


def verify(address: Address, message: bytes, signature: str) -> Verdict:
    """Whether the signature holds. Raises ValueError for one that cannot be read or belongs to another kind."""
    if address.kind not in ("p2pkh", "p2sh", "p2wpkh"):
        raise ValueError(f"BIP-137 is not for {address.kind} addresses")
    parts = compact(decoded(signature), first=True)
    base, meaning = header_of(parts.mark)
    if meaning.partition(",")[0] != address.kind:
        raise ValueError(f"header {parts.mark} means {meaning}, and the address is {address.kind}")
    key = recover(digest(message), parts.r, parts.s, parts.mark - base)
    if key is None:
        raise ValueError("no public key belongs to this signature")
    raw = uncompressed(key) if "," in meaning else compressed(key)
    held = hash160(b"\x00\x14" + hash160(raw)) if address.kind == "p2sh" else hash160(raw)
    if held != address.program:
        raise ValueError("the message was not signed, or not like this, by the key of the address")
    return Verdict(
        valid=True,
        scheme=SCHEME,
        reason=f"signed by the key of the address ({meaning})",
        public_key=compressed(key).hex(),
    )


def decoded(signature: str) -> bytes:
    """The bytes of a signature, from base64 or from hexadecimal. Raises ValueError."""
    if len(signature.strip().removeprefix("0x")) == 2 * COMPACT:
        return from_hex(signature)
    return from_base64(signature)


def header_of(mark: int) -> tuple[int, str]:
    """The first header of its four, and what they mean. Raises ValueError."""
    for base, meaning in reversed(HEADERS):
        if base <= mark <= LAST:
            return base, meaning
    raise ValueError(f"the signature begins with {mark}, and a header is from {HEADERS[0][0]} to {LAST}")


def digest(message: bytes) -> bytes:
    """What is signed of a message."""
    return sha256d(MAGIC + length_prefix(len(message)) + message)
