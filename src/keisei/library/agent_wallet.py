"""Wallets of an agent checked: addresses that can be read, and a registration that a segwit address authored.

An address that cannot be read is only warned of: keisei sends nothing there, and examples have made-up ones. Chains
that are not understood are left alone.
"""

from collections.abc import Iterator
from typing import Final

from keisei.library.load import Loaded
from keisei.records.agent import AgentFile
from keisei.records.problem import Problem
from keisei.records.wallet import Wallet
from keisei.rules.identity import same_address
from keisei.rules.wallet.address import CHAINS, Address, parse_address

SEGWIT: Final = ("p2wpkh", "p2wsh", "p2tr", "segwit")


def check_wallets(file: AgentFile, loaded: Loaded) -> Iterator[Problem]:
    """What is wrong with the addresses, and with the one that authored the registration."""
    external = file.identity.external_name
    author = None if external is None else same_address(external.wallet_ref)
    for index, wallet in enumerate(file.wallets):
        if wallet.chain not in CHAINS:
            continue
        try:
            address = parse_address(wallet.chain, wallet.network, wallet.address)
        except ValueError as error:
            message = f"the address of this {wallet.chain} wallet cannot be read: {error}"
            place = ("wallets", index, "address")
            yield loaded.document.problem("wrong-value", place, message, severity="warning")
            continue
        if same_address(wallet.address) == author:
            yield from _authored(wallet, address, loaded)


def _authored(wallet: Wallet, address: Address, loaded: Loaded) -> Iterator[Problem]:
    """Registrations of names are derived from segwit addresses: another kind of Bitcoin's cannot have made one."""
    if wallet.chain == "bitcoin" and address.kind not in SEGWIT:
        message = f"external_name.wallet_ref `{wallet.address}` is no segwit address"
        hint = "name the wallet whose address begins with `bc1`"
        place = ("identity", "external_name", "wallet_ref")
        yield loaded.document.problem("identity-conflict", place, message, hint)
