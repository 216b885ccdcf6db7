"""Identity: records of one agent must agree, and no two agents claim the same; a conflict is never merged."""

from collections.abc import Iterable, Iterator
from typing import Final

from keisei.records.agent import AgentFile, AgentIdentity
from keisei.records.wallet import Wallet

Place = tuple[str | int, ...]
"""Where in agent.toml."""
ANY_CASE: Final = ("bc1", "tb1", "bcrt1", "0x")
"""How addresses begin that mean the same in capitals."""


def contract_conflicts(identity: AgentIdentity, wallets: Iterable[Wallet]) -> list[tuple[int, str]]:
    """For each wallet linked to another contract than the agent's: its index and a sentence."""
    contract = identity.onchain_identity.contract if identity.onchain_identity else None
    agent_says = f"onchain_identity.contract is {f'`{contract}`' if contract else 'not set'}"
    return [
        (index, f"wallet `{wallet.address}` is linked to `{wallet.onchain_identity_contract}`, but {agent_says}")
        for index, wallet in enumerate(wallets)
        if wallet.onchain_identity_contract is not None and wallet.onchain_identity_contract != contract
    ]


def same_address(address: str) -> str:
    """An address as it is compared."""
    lower = address.lower()
    return lower if lower.startswith(ANY_CASE) else address


def rival_claims(own: AgentFile, other: AgentFile) -> Iterator[tuple[Place, str]]:
    """What two agents both claim, as places in the first one's file and sentences: one of them is wrong."""
    name = other.identity.agent_id
    taken = {same_address(wallet.address) for wallet in other.wallets}
    for index, wallet in enumerate(own.wallets):
        if same_address(wallet.address) in taken:
            yield ("wallets", index, "address"), f"wallet `{wallet.address}` is claimed by agent `{name}` too"
    ours, theirs = own.identity.external_name, other.identity.external_name
    if ours is not None and theirs is not None and _same_name(ours.name, theirs.name):
        yield ("identity", "external_name", "name"), f"external name `{ours.name}` is claimed by agent `{name}` too"
    token, rival = _token(own.identity), _token(other.identity)
    if token is not None and token == rival:
        message = f"token `{token[1]}` of `{token[0]}` is claimed by agent `{name}` too"
        yield ("identity", "onchain_identity", "token_id"), message
    yield from _overrides(own.identity, other.identity)


def _overrides(own: AgentIdentity, other: AgentIdentity) -> Iterator[tuple[Place, str]]:
    """Other faces that are another agent's internal name: whoever reads them would take one agent for the other."""
    faces: list[tuple[Place, str | None]] = [
        (("identity", "external_name", "name"), own.external_name.name if own.external_name else None),
        (("identity", "codename"), own.codename),
    ]
    for place, face in faces:
        if face is not None and _same_name(face, other.internal_name):
            yield place, f"`{face}` is the internal name of another agent, which no other name may stand for"


def _same_name(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def _token(identity: AgentIdentity) -> tuple[str, str] | None:
    """Contract and token of an agent that has one."""
    entry = identity.onchain_identity
    return None if entry is None or entry.token_id is None else (entry.contract, entry.token_id)
