"""Identity: records of one agent must agree, and no two agents claim the same; a conflict is never merged."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from keisei.records.agent import AgentFile, AgentIdentity
from keisei.records.wallet import Wallet

Place = tuple[str | int, ...]
"""Where in agent.toml."""
ANY_CASE: Final = ("bc1", "tb1", "bcrt1", "0x")
"""How addresses begin that mean the same in capitals."""
STACKS: Final = ("SP", "SM", "ST", "SN")
"""How addresses of Stacks begin; they too mean the same in small letters, and with O, I and L for 0 and 1."""
CROCKFORD: Final = str.maketrans("OIL", "011")
UNSEEN: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Characters that show nothing, although Unicode does not call them format characters."""


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
    seen = "".join(_seen(address).split())
    if seen.lower().startswith(ANY_CASE):
        return seen.lower()
    return seen.upper().translate(CROCKFORD) if seen.upper().startswith(STACKS) else seen


def same_name(name: str) -> str:
    """A name as it is compared: as people read it, whatever its case, its width, its spaces and what shows nothing."""
    return " ".join(unicodedata.normalize("NFKC", _seen(name).casefold()).split())


def _seen(text: str) -> str:
    """What is seen of a text: compatible forms made one, format and control characters left out."""
    plain = unicodedata.normalize("NFKC", UNSEEN.sub("", text))
    return "".join(each for each in plain if each.isspace() or unicodedata.category(each) not in ("Cf", "Cc"))


def rival_claims(own: AgentFile, other: AgentFile) -> Iterator[tuple[Place, str]]:
    """What two agents both claim, as places in the first one's file and sentences: one of them is wrong."""
    name = other.identity.agent_id
    taken = {same_address(wallet.address) for wallet in other.wallets}
    for index, wallet in enumerate(own.wallets):
        if same_address(wallet.address) in taken:
            yield ("wallets", index, "address"), f"wallet `{wallet.address}` is claimed by agent `{name}` too"
    token, rival = _token(own.identity), _token(other.identity)
    if token is not None and token == rival:
        message = f"token `{token[1]}` of `{token[0]}` is claimed by agent `{name}` too"
        yield ("identity", "onchain_identity", "token_id"), message
    yield from _rival_names(own.identity, other.identity)


def _rival_names(own: AgentIdentity, other: AgentIdentity) -> Iterator[tuple[Place, str]]:
    """Names that another agent bears: whoever reads them would take one agent for the other.

    An internal name is its agent's before everything else: whoever uses it otherwise is wrong, never that agent.
    """
    theirs = {same_name(name) for _, _, name in _other_names(other)}
    for place, what, name in _other_names(own):
        key = same_name(name)
        if key == same_name(own.internal_name):
            continue
        if key == same_name(other.internal_name):
            yield place, f"`{name}` is the internal name of another agent, which no other name may stand for"
        elif key in theirs:
            yield place, f"{what} `{name}` is claimed by agent `{other.agent_id}` too"


def _other_names(identity: AgentIdentity) -> Iterator[tuple[Place, str, str]]:
    """Every name beside the internal one: its place, what it is, and the name."""
    if identity.external_name is not None:
        yield ("identity", "external_name", "name"), "external name", identity.external_name.name
    yield ("identity", "display_name"), "display name", identity.display_name
    if identity.codename is not None:
        yield ("identity", "codename"), "codename", identity.codename


def _token(identity: AgentIdentity) -> tuple[str, str] | None:
    """Contract and token of an agent that has one, as they are compared: numbers as numbers."""
    entry = identity.onchain_identity
    if entry is None or entry.token_id is None:
        return None
    address, _, name = entry.contract.partition(".")
    token = same_name(entry.token_id)
    if token.isdecimal():
        token = "".join(str(unicodedata.decimal(each)) for each in token).lstrip("0") or "0"
    return f"{same_address(address)}.{name}", token
