"""Messages: whether the holder of an address signed one."""

from collections.abc import Callable
from typing import Final, Literal

from keisei.rules.wallet import bip137, bip322, eip191, stacks
from keisei.rules.wallet.address import Address, parse_address
from keisei.rules.wallet.signature import COMPACT, Verdict

Scheme = Literal["bip137", "bip322", "stacks", "eip191"]
Verify = Callable[[Address, bytes, str], Verdict]
SCHEMES: Final[dict[str, tuple[str, Verify]]] = {
    "bip137": ("bitcoin", bip137.verify),
    "bip322": ("bitcoin", bip322.verify),
    "stacks": ("stacks", stacks.verify),
    "eip191": ("ethereum", eip191.verify),
}
"""Chain and judge of each scheme."""
LONGEST: Final = 64 * 1024
"""Bytes of a message; what people sign is read by them first."""


def verify_message(scheme: str, address: str, message: bytes, signature: str, network: str | None = None) -> Verdict:
    """Whether the signature holds; a reason in either case. Raises nothing: what cannot be read does not hold."""
    if scheme not in SCHEMES:
        return Verdict(valid=False, scheme=scheme, reason=f"this scheme is not known, only {', '.join(SCHEMES)}")
    chain, _ = SCHEMES[scheme]
    try:
        found = parse_address(chain, network, address)
    except ValueError as error:
        return Verdict(valid=False, scheme=scheme, reason=f"the address cannot be used: {error}")
    return verify_for(found, scheme, message, signature)


def verify_for(address: Address, scheme: str, message: bytes, signature: str) -> Verdict:
    """As `verify_message`, for an address that was read already."""
    chain, verify = SCHEMES[scheme]
    if chain != address.chain:
        return Verdict(
            valid=False, scheme=scheme, reason=f"{scheme} is for {chain} addresses, not for {address.chain}'s"
        )
    if len(message) > LONGEST:
        return Verdict(valid=False, scheme=scheme, reason=f"the message has more than {LONGEST} bytes")
    try:
        return verify(address, message, signature)
    except ValueError as error:
        return Verdict(valid=False, scheme=scheme, reason=str(error))


def scheme_of(address: Address, signature: str) -> str:
    """The scheme of a signature, by the address and by the signature's own form."""
    if address.chain != "bitcoin":
        return "stacks" if address.chain == "stacks" else "eip191"
    if address.kind in ("p2pkh", "p2sh", "p2wpkh") and _is_compact(signature):
        return "bip137"
    return "bip137" if address.kind == "p2pkh" else "bip322"


def _is_compact(signature: str) -> bool:
    try:
        return len(bip137.decoded(signature)) == COMPACT
    except ValueError:
        return False
