"""Wallets of an agent checked: no secrets, addresses that stand there once with their own keys, and who registered.

An address that cannot be read is only warned of: keisei sends nothing there, and examples have made-up ones. Chains
that are not understood are left alone.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from keisei.library.document import Document, parse
from keisei.library.load import Loaded, load
from keisei.library.source import read_source
from keisei.records.agent import AgentFile
from keisei.records.error import AuthorError
from keisei.records.problem import Problem
from keisei.records.wallet import Wallet
from keisei.rules.identity import same_address
from keisei.rules.wallet.address import (
    CHAINS,
    SCRIPTS,
    SEGWIT,
    Address,
    chain_name,
    chain_of,
    parse_address,
    public_key_of,
)
from keisei.rules.wallet.caip import is_network, network_of
from keisei.rules.wallet.secret import Place, secret_places

FOUND = "this looks like a private key or a mnemonic, which no file may have"
HINT = "take it out, also of the history; a hash stands under a key that says so (`hash`, `sha256`, `digest`)"


def load_agent(path: Path) -> Loaded:
    """The record of agent.toml. Raises AuthorError; where it holds a secret, with nothing but its places.

    So nobody has such a file's values, and nobody prints them.
    """
    document = parse(read_source(path))
    found = [document.problem("secret-in-file", place, FOUND, HINT) for place in _secrets(document)]
    if found:
        raise AuthorError(found)
    return load(document, "agent.file")


def _secrets(document: Document) -> Iterator[Place]:
    for place in secret_places(document.data):
        if not _is_public(document, place):
            yield place


def _is_public(document: Document, place: Place) -> bool:
    """Whether it is the key of the address beside it: what gives the address is no secret, whatever its form."""
    match place:
        case ("wallets", int(index), "public_key"):
            told = document.data["wallets"][index]
            chain, network, address = told.get("chain"), told.get("network"), told.get("address")
            if not isinstance(chain, str) or not isinstance(address, str) or not isinstance(network, str | None):
                return False
            with suppress(ValueError):
                return public_key_of(parse_address(chain, network, address), told["public_key"]) is not None
    return False


def check_wallets(file: AgentFile, loaded: Loaded) -> Iterator[Problem]:
    """What is wrong with the addresses, their keys, and the one that authored the registration."""
    external = file.identity.external_name
    author = None if external is None else same_address(external.wallet_ref)
    for index, wallet in enumerate(file.wallets):
        if chain_name(wallet.chain) not in CHAINS:
            yield from _foreign(index, wallet, loaded)
            continue
        try:
            address = parse_address(wallet.chain, wallet.network, wallet.address)
        except ValueError as error:
            message = f"the address of this {chain_name(wallet.chain)} wallet cannot be read: {error}"
            yield loaded.document.problem("wrong-value", _at(index, "address"), message, severity="warning")
            continue
        yield from _fitting(index, wallet, address, loaded)
        if same_address(wallet.address) == author:
            yield from _authored(wallet, address, loaded)
    yield from _twice(file, loaded)


def _at(index: int, key: str) -> Place:
    return ("wallets", index, key)


def _foreign(index: int, wallet: Wallet, loaded: Loaded) -> Iterator[Problem]:
    """A chain that is not understood, over an address that is: it would escape what is asked of addresses."""
    chain = chain_of(wallet.address)
    with suppress(ValueError):
        if chain != "ethereum":  # many chains have accounts like Ethereum's
            parse_address(chain, None, wallet.address)
            message = f"the chain is not known, and the address is one of {chain}"
            hint = f'write `chain = "{chain}"`'
            yield loaded.document.problem("wrong-value", _at(index, "chain"), message, hint, severity="warning")


def _fitting(index: int, wallet: Wallet, address: Address, loaded: Loaded) -> Iterator[Problem]:
    """A network that its chain has, and the key of this very address."""
    if wallet.network is not None and not is_network(address, wallet.network):
        message = f"{address.chain} has no network of this name"
        yield loaded.document.problem("wrong-value", _at(index, "network"), message, severity="warning")
    if wallet.public_key is None or address.kind in SCRIPTS:
        return
    if public_key_of(address, wallet.public_key) is None:
        message = f"the public key does not give the address `{address.text}`"
        hint = "write the key of this very address, in hexadecimal, or none"
        yield loaded.document.problem("identity-conflict", _at(index, "public_key"), message, hint)


def _twice(file: AgentFile, loaded: Loaded) -> Iterator[Problem]:
    """An address that stands in the file already; on another network of its chain it is another account."""
    seen = set()
    for index, wallet in enumerate(file.wallets):
        account = account_key(wallet)
        if account in seen:
            message = f"wallet `{wallet.address}` stands in this file twice"
            yield loaded.document.problem("identity-conflict", _at(index, "address"), message, "take one of them out")
        seen.add(account)


def account_key(wallet: Wallet) -> tuple[str, str, str | None]:
    """Chain, address and network of a wallet as they are compared."""
    network = wallet.network
    with suppress(ValueError):
        network = network or network_of(parse_address(wallet.chain, None, wallet.address))
    return chain_name(wallet.chain), same_address(wallet.address), network


def _authored(wallet: Wallet, address: Address, loaded: Loaded) -> Iterator[Problem]:
    """Registrations of names are derived from segwit addresses: another kind of Bitcoin's cannot have made one."""
    if address.chain == "bitcoin" and address.kind not in SEGWIT:
        message = f"external_name.wallet_ref `{wallet.address}` is no segwit address"
        hint = "name the wallet whose address begins with `bc1`"
        place = ("identity", "external_name", "wallet_ref")
        yield loaded.document.problem("identity-conflict", place, message, hint)
