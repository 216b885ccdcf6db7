"""Identity: records of one agent must agree; a conflict is an error and never merged."""

from collections.abc import Iterable

from keisei.records.agent import AgentIdentity
from keisei.records.wallet import Wallet


def contract_conflicts(identity: AgentIdentity, wallets: Iterable[Wallet]) -> list[tuple[int, str]]:
    """For each wallet linked to another contract than the agent's: its index and a sentence."""
    contract = identity.onchain_identity.contract if identity.onchain_identity else None
    agent_says = f"onchain_identity.contract is {f'`{contract}`' if contract else 'not set'}"
    return [
        (index, f"wallet `{wallet.address}` is linked to `{wallet.onchain_identity_contract}`, but {agent_says}")
        for index, wallet in enumerate(wallets)
        if wallet.onchain_identity_contract is not None and wallet.onchain_identity_contract != contract
    ]
