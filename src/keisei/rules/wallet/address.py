"""Addresses: read strictly, written in one way, and made from a public key."""

from typing import Final, Literal, NamedTuple

from keisei.rules.wallet import base58, bech32, c32
from keisei.rules.wallet.curve import Point, compressed, lift, parse_public, sum_of, tagged, uncompressed
from keisei.rules.wallet.keccak import keccak256
from keisei.rules.wallet.ripemd import hash160
from keisei.rules.wallet.signature import from_hex

Kind = Literal["p2pkh", "p2sh", "p2wpkh", "p2wsh", "p2tr", "segwit", "account"]
CHAINS: Final = ("bitcoin", "stacks", "ethereum")
"""Chains whose addresses are understood."""
SEGWIT: Final = ("p2wpkh", "p2wsh", "p2tr", "segwit")
"""Kinds of Bitcoin addresses from which names are derived."""
SCRIPTS: Final = ("p2sh", "p2wsh", "segwit")
"""Kinds that can hide a script: of a key that does not give such an address nothing is known."""
BITCOIN_NETWORKS: Final = ("mainnet", "testnet", "signet", "regtest")
PREFIXES: Final = {"bc": ("mainnet",), "tb": ("testnet", "signet"), "bcrt": ("regtest",)}
"""Networks by the prefix of a segregated witness address."""
OTHERS: Final = ("testnet", "signet", "regtest")
VERSIONS: Final[dict[int, tuple[Kind, tuple[str, ...]]]] = {
    0: ("p2pkh", ("mainnet",)),
    5: ("p2sh", ("mainnet",)),
    111: ("p2pkh", OTHERS),
    196: ("p2sh", OTHERS),
}
"""Kind and networks by the version byte of a Base58 address."""
STACKS: Final[dict[int, tuple[Kind, tuple[str, ...]]]] = {
    22: ("p2pkh", ("mainnet",)),
    20: ("p2sh", ("mainnet",)),
    26: ("p2pkh", ("testnet", "devnet")),
    21: ("p2sh", ("testnet", "devnet")),
}
"""Kind and networks by the version of a c32check address: SP, SM, ST, SN."""
LONGEST: Final = 128


class Address(NamedTuple):
    """One address, understood."""

    chain: str
    """`bitcoin`, `stacks` or `ethereum`."""
    networks: tuple[str, ...]
    """Where it can belong to: its notation does not tell all test networks apart. Empty where it tells nothing."""
    kind: Kind
    """What it pays to. `segwit` is a witness version nobody has defined yet, `account` an Ethereum account."""
    text: str
    """The one way in which keisei writes it."""
    program: bytes
    """The hash, or for p2tr the key, that it holds."""
    version: int = 0
    """The witness version, or the version of the Stacks address."""


def parse_address(chain: str, network: str | None, text: str) -> Address:
    """The address. Raises ValueError with a sentence that does not repeat it; never anything else."""
    chain = chain_name(chain)
    if chain not in CHAINS:
        raise ValueError(f"addresses of this chain are not understood, only those of {', '.join(CHAINS)}")
    if not text or len(text) > LONGEST or not text.isascii():
        raise ValueError("it is empty, too long, or has a character that no address has")
    found = {"bitcoin": _bitcoin, "stacks": _stacks, "ethereum": _ethereum}[chain](text)
    if network is None or not found.networks:
        return found
    if network not in found.networks:
        raise ValueError(f"it is an address of {' or '.join(found.networks)}, not of the network that is named")
    return found._replace(networks=(network,))


def chain_name(chain: str) -> str:
    """The name of a chain as it is compared."""
    return chain.strip().lower()


def chain_of(text: str) -> str:
    """The chain an address looks like; whether it is one is for `parse_address` to say."""
    return "ethereum" if text[:2] in ("0x", "0X") else "stacks" if text[:1] == "S" else "bitcoin"


def public_key_of(address: Address, text: str) -> bytes | None:
    """The bytes of a public key in hexadecimal that gives the address; None for everything else.

    Of a p2tr address also the 32 bytes alone, as taproot has its keys.
    """
    try:
        raw = from_hex(text)
    except ValueError:
        return None
    is_short = address.kind == "p2tr" and len(raw) == 32  # noqa: PLR2004 - a key without its mark
    key = lift(int.from_bytes(raw), odd=False) if is_short else parse_public(raw)
    return raw if key is not None and pays_to(address, key) else None


def pays_to(address: Address, key: Point) -> bool:
    """Whether the address is this public key's; a script's hash is compared with the one script that wraps a key."""
    if address.chain == "ethereum":
        return keccak256(uncompressed(key)[1:])[-20:] == address.program
    short = hash160(compressed(key))
    if address.kind == "p2pkh":
        return address.program in (short, hash160(uncompressed(key)))
    if address.kind == "p2sh":
        return hash160(b"\x00\x14" + short) == address.program
    if address.kind == "p2tr":
        return address.program in (_tweaked(key), key[0].to_bytes(32))
    return address.kind == "p2wpkh" and address.program == short


def checksummed(account: bytes) -> str:
    """An Ethereum account as EIP-55 writes it."""
    plain = account.hex()
    marks = keccak256(plain.encode("ascii")).hex()
    letters = (each.upper() if int(mark, 16) >= 8 else each for each, mark in zip(plain, marks, strict=False))  # noqa: PLR2004 - the top bit
    return "0x" + "".join(letters)


def _bitcoin(text: str) -> Address:
    if text.lower().startswith(tuple(f"{prefix}1" for prefix in PREFIXES)):
        witness = bech32.decode(text)
        if witness.prefix not in PREFIXES:
            raise ValueError("its prefix is not one of Bitcoin's")
        kind: Kind = "segwit"
        if witness.version == 0:
            kind = "p2wpkh" if len(witness.program) == 20 else "p2wsh"  # noqa: PLR2004 - a key's hash
        elif witness.version == 1 and len(witness.program) == 32:  # noqa: PLR2004 - a key
            kind = "p2tr"
        return Address("bitcoin", PREFIXES[witness.prefix], kind, text.lower(), witness.program, witness.version)
    raw = base58.decode(text)
    if len(raw) != 21 or raw[0] not in VERSIONS:  # noqa: PLR2004 - a version and a hash
        raise ValueError("it is Base58, but not an address of Bitcoin")
    kind, networks = VERSIONS[raw[0]]
    return Address("bitcoin", networks, kind, text, raw[1:])


def _stacks(text: str) -> Address:
    version, hashed = c32.decode(text)
    if version not in STACKS:
        raise ValueError("it begins with none of SP, SM, ST and SN")
    kind, networks = STACKS[version]
    return Address("stacks", networks, kind, text, hashed, version)


def _ethereum(text: str) -> Address:
    digits = text[2:]
    if not text.startswith("0x") or len(digits) != 40 or not set(digits) <= set("0123456789abcdefABCDEF"):  # noqa: PLR2004 - 20 bytes
        raise ValueError("it is not 0x with 40 hexadecimal digits")
    account = bytes.fromhex(digits)
    if digits not in (digits.lower(), digits.upper()) and text != checksummed(account):
        raise ValueError("its checksum (EIP-55, in the capital letters) is wrong: a character is mistyped")
    return Address("ethereum", (), "account", checksummed(account), account)


def _tweaked(key: Point) -> bytes | None:
    """The output key of a wallet that has no scripts (BIP-86): the key, moved by its own hash."""
    inner = lift(key[0], odd=False)
    moved = int.from_bytes(tagged("TapTweak", key[0].to_bytes(32)))
    found = None if inner is None else sum_of(moved, 1, inner)
    return None if found is None else found[0].to_bytes(32)
