"""Agents: a durable identity with three faces, and the constitution it carries."""

from typing import Annotated, Literal

from msgspec import Meta

from keisei.records.form import JsonObject, Record, RelativePath, Sha256, Text, Timestamp
from keisei.records.id import AgentId
from keisei.records.wallet import Wallet

ContractPrincipal = Annotated[str, Meta(pattern=r"^[0-9A-Za-z]+\.[A-Za-z][A-Za-z0-9_-]*$")]


class ExternalName(Record, frozen=True, kw_only=True):
    """The registered name, derived from a wallet; absent before registration."""

    name: Text
    """The name as registered, for example `Trustless Indra`."""
    registered_at: Timestamp | None = None
    """When the registration was made."""
    source: Literal["aibtc-api", "local-cache"]
    """Where the name was read."""
    wallet_ref: Text
    """The segwit address that authored the registration."""


class OnchainIdentity(Record, frozen=True, kw_only=True):
    """An ERC-8004 compatible contract entry."""

    contract: ContractPrincipal
    """The contract principal, for example `SP000.identity-registry`."""
    token_id: str | None = None
    """The token of this agent in the contract."""
    reputation_ref: str | None = None
    """Contract and method that answer with the reputation summary."""


class AgentIdentity(Record, frozen=True, kw_only=True):
    """Who an agent is. Data, never engine code; the other two faces never override the internal name."""

    agent_id: Annotated[AgentId, Meta(max_length=64, pattern="^[a-z0-9][a-z0-9_-]*$")]
    """The canonical key. Equals `internal_name`."""
    internal_name: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z0-9][a-z0-9_-]*$")]
    """The name operators and peers use; stable for life."""
    external_name: ExternalName | None = None
    """The registered face."""
    onchain_identity: OnchainIdentity | None = None
    """The on-chain face."""
    display_name: Text
    """The label in pages and tables."""
    codename: str | None = None
    """An older alias, kept for compatibility."""
    purpose_ref: RelativePath | None = None
    """Path of PURPOSE.md."""
    soul_ref: RelativePath | None = None
    """Path of SOUL.md."""
    host: str | None = None
    """The machine it lives on."""
    user: str | None = None
    """The system user it runs as."""
    runtime_instance_id: str | None = None
    """Which runtime serves it."""
    metadata: JsonObject | None = None
    """Anything else; the engine does not read it."""

    def __post_init__(self) -> None:
        """Refuse a key that is not the internal name."""
        if self.agent_id != self.internal_name:
            message = f"agent_id `{self.agent_id}` must equal internal_name `{self.internal_name}`"
            raise ValueError(message)


class AgentConstitution(Record, frozen=True, kw_only=True):
    """The two documents an agent wrote for itself, by hash; pinned for a run and part of every bundle."""

    agent_id: AgentId
    """Whose constitution. A subagent inherits its agent's and has none of its own."""
    soul_path: RelativePath
    """SOUL.md: identity, values, way of speaking."""
    purpose_path: RelativePath
    """PURPOSE.md: goals and the metrics it judges itself by."""
    soul_hash: Sha256
    """sha256 of SOUL.md when the bundle was compiled."""
    purpose_hash: Sha256
    """sha256 of PURPOSE.md when the bundle was compiled."""
    version: Text
    """A semantic version or an ISO 8601 revision mark."""
    revised_at: Timestamp
    """When this revision was accepted by the operator."""


class ConstitutionMark(Record, frozen=True, kw_only=True):
    """The part of a constitution that is written by hand; the hashes are computed."""

    version: Text
    """A semantic version or an ISO 8601 revision mark."""
    revised_at: Timestamp
    """When the operator accepted this revision."""


class AgentWallet(Wallet, frozen=True, kw_only=True):
    """A wallet in agent.toml; the file it stands in says whose it is."""

    agent_id: AgentId | None = None
    """Where it is written, it equals the agent's."""


class AgentFile(Record, frozen=True, kw_only=True):
    """`agents/<name>/agent.toml`: identity, constitution mark, wallets."""

    identity: AgentIdentity
    """The agent. `agent_id` equals the folder's name."""
    constitution: ConstitutionMark | None = None
    """Needed where SOUL.md and PURPOSE.md stand beside the file."""
    wallets: tuple[AgentWallet, ...] = ()
    """Wallets as data, joined to the agent by the file they stand in."""
