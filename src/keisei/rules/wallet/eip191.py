"""EIP-191, version E, as personal_sign makes it: 65 bytes in hexadecimal, r, s and v.

`v` is 27 or 28, or 0 or 1 as some wallets write it. A high `s` is refused: EIP-2 made it invalid in transactions, no
wallet makes one, and whoever sees a signature could turn it into a second one that looks different. Contract accounts
(ERC-1271) cannot be asked without a chain and are not verified.
"""

from typing import Final

from keisei.rules.wallet.address import Address, pays_to
from keisei.rules.wallet.curve import HALF, compressed, recover
from keisei.rules.wallet.keccak import keccak256
from keisei.rules.wallet.signature import Verdict, compact, from_hex

SCHEME: Final = "eip191"
MAGIC: Final = b"\x19Ethereum Signed Message:\n"
RECOVERY: Final = {0: 0, 1: 1, 27: 0, 28: 1}
"""What each `v` means."""


def verify(address: Address, message: bytes, signature: str) -> Verdict:
    """Whether the signature holds. Raises ValueError for one that cannot be read or does not fit the address."""
    parts = compact(from_hex(signature), first=False)
    if parts.mark not in RECOVERY:
        raise ValueError(f"v of the signature is {parts.mark}, not 27, 28, 0 or 1")
    if parts.s > HALF:
        raise ValueError("s of the signature is high, and Ethereum takes only the low one (EIP-2)")
    key = recover(digest(message), parts.r, parts.s, RECOVERY[parts.mark])
    if key is None or not pays_to(address, key):
        raise ValueError("the message was not signed, or not like this, by the key of the address")
    return Verdict(
        valid=True, scheme=SCHEME, reason="signed by the key of the account", public_key=compressed(key).hex()
    )


def digest(message: bytes) -> bytes:
    """What is signed of a message."""
    return keccak256(MAGIC + str(len(message)).encode("ascii") + message)
