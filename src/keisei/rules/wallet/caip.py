"""Account ids that say their chain: CAIP-2, CAIP-10 and did:pkh."""

from typing import Final

from keisei.records.wallet import Wallet
from keisei.rules.wallet.address import Address, chain_name, parse_address

BITCOIN: Final = {
    "mainnet": "000000000019d6689c085ae165831e93",
    "testnet": "000000000933ea01ad0ee984209779ba",
    "signet": "00000008819873e925422c1ff0f99f7c",
    "regtest": "0f9188f13cb7b2c71f2a335e3a4fc328",
}
"""Networks by the first half of their first block's hash (BIP-122)."""
STACKS: Final = {"mainnet": "1", "testnet": "2147483648", "devnet": "2147483648"}
ETHEREUM: Final = {
    "mainnet": "1",
    "sepolia": "11155111",
    "holesky": "17000",
    "hoodi": "560048",
    "base": "8453",
    "base-sepolia": "84532",
    "optimism": "10",
    "arbitrum": "42161",
    "polygon": "137",
    "celo": "42220",
}
"""Chain ids of EIP-155; any other network is named by its number."""
LONGEST: Final = 32
"""Digits of a CAIP-2 reference."""


def chain_id(chain: str, network: str | None) -> str | None:
    """The CAIP-2 id of a network, main where none is named; None where there is no such id."""
    chain, name = chain_name(chain), network or "mainnet"
    if chain == "ethereum":
        number = name if name.isdecimal() and name.isascii() and not name.startswith("0") else ETHEREUM.get(name)
        return None if number is None or len(number) > LONGEST else f"eip155:{number}"
    namespace, table = {"bitcoin": ("bip122", BITCOIN), "stacks": ("stacks", STACKS)}.get(chain, ("", {}))
    return f"{namespace}:{table[name]}" if name in table else None


def account_id(wallet: Wallet) -> str | None:
    """The CAIP-10 id of a wallet; None where its address cannot be read or its network is not clear."""
    try:
        address = parse_address(wallet.chain, wallet.network, wallet.address)
    except ValueError:
        return None
    network = wallet.network if wallet.network is not None else network_of(address)
    named = None if network is None else chain_id(wallet.chain, network)
    return None if named is None else f"{named}:{address.text}"


def is_network(address: Address, network: str) -> bool:
    """Whether the network is one of the address's chain. What the address tells of it was checked when it was read."""
    return chain_id(address.chain, network) is not None


def did_pkh(wallet: Wallet) -> str | None:
    """The did:pkh of a wallet; None where it has no account id."""
    account = account_id(wallet)
    return None if account is None else f"did:pkh:{account}"


def network_of(address: Address) -> str | None:
    """The network an address itself tells; None where it could be several. Ethereum's tell none: main is meant."""
    if not address.networks:
        return "mainnet"
    if address.chain == "stacks":
        return address.networks[0]
    return address.networks[0] if len(address.networks) == 1 else None
