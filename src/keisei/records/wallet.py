"""Wallets: addresses that belong to an agent, as data."""

from typing import Any

from keisei.records.form import JsonObject, Record, Text
from keisei.records.id import AgentId


class Wallet(Record, frozen=True, kw_only=True):
    """One address, as it stands in agent.toml."""

    chain: Text
    """`stacks`, `bitcoin`, `ethereum` and so on."""
    network: str | None = None
    """`mainnet`, `testnet`, `devnet`."""
    address: Text
    """The address in the chain's own notation."""
    public_key: str | None = None
    """The public key, where the address does not carry it."""
    name: str | None = None
    """A BNS or similar name."""
    capabilities: tuple[str, ...] = ()
    """What the wallet is used for: sign, heartbeat, message, claim, publish."""
    onchain_identity_contract: str | None = None
    """The identity contract it is linked to; must equal the agent's `onchain_identity.contract`."""
    reputation_ref: str | None = None
    """Contract and method for reputation reads."""
    metadata: JsonObject | None = None
    """Anything else; the engine does not read it."""


class WalletIdentity(Wallet, frozen=True, kw_only=True):
    """One address joined to its agent."""

    agent_id: AgentId
    """The agent it belongs to."""


def joined(wallet: Wallet, agent_id: AgentId) -> WalletIdentity:
    """The wallet of agent.toml as the record that stands alone."""
    fields: dict[str, Any] = {name: getattr(wallet, name) for name in Wallet.__struct_fields__}
    return WalletIdentity(agent_id=agent_id, **fields)
