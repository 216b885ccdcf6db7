"""Identity: a wallet linked to another contract than its agent's is a conflict."""

import pytest

from keisei.records.agent import AgentIdentity, OnchainIdentity
from keisei.records.wallet import Wallet
from keisei.rules.identity import contract_conflicts


def agent(contract=None):
    onchain = OnchainIdentity(contract=contract) if contract else None
    return AgentIdentity(agent_id="indra", internal_name="indra", display_name="Indra", onchain_identity=onchain)


def wallet(contract=None, address="SP1"):
    return Wallet(chain="stacks", address=address, onchain_identity_contract=contract)


@pytest.mark.parametrize(
    ("identity", "wallets"),
    [
        pytest.param(agent(), [], id="no-wallets"),
        pytest.param(agent(), [wallet()], id="nobody-names-a-contract"),
        pytest.param(agent("SP0.registry"), [wallet()], id="the-wallet-names-none"),
        pytest.param(agent("SP0.registry"), [wallet("SP0.registry"), wallet("SP0.registry", "SP2")], id="all-agree"),
    ],
)
def test_records_that_agree_have_no_conflict(identity, wallets):
    assert contract_conflicts(identity, wallets) == []


def test_a_wallet_of_another_contract_is_named_with_both_sides():
    wallets = [wallet("SP0.registry"), wallet("SP9.other", "SP2"), wallet(), wallet("SP8.third", "SP4")]

    conflicts = contract_conflicts(agent("SP0.registry"), wallets)

    assert conflicts == [
        (1, "wallet `SP2` is linked to `SP9.other`, but onchain_identity.contract is `SP0.registry`"),
        (3, "wallet `SP4` is linked to `SP8.third`, but onchain_identity.contract is `SP0.registry`"),
    ]


def test_a_linked_wallet_of_an_agent_without_a_contract_is_a_conflict():
    assert contract_conflicts(agent(), [wallet("SP9.other")]) == [
        (0, "wallet `SP1` is linked to `SP9.other`, but onchain_identity.contract is not set")
    ]


def test_contracts_are_compared_exactly():
    assert len(contract_conflicts(agent("SP0.registry"), [wallet("sp0.registry")])) == 1
