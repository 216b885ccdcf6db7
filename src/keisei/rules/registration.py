"""Registration files of ERC-8004: what an agent's token on a chain leads to."""

import base64
from typing import Any, Final

from msgspec import Struct

from keisei.records.agent import OnchainIdentity
from keisei.rules.canonical import LARGEST, canonical

TYPE: Final = "https://eips.ethereum.org/EIPS/eip-8004#registration-v1"
PATH: Final = "/.well-known/agent-registration.json"
"""Where others look for it."""
NETWORKS: Final = {"SP": "1", "SM": "1", "ST": "2147483648", "SN": "2147483648"}
"""How principals of Stacks begin, and the chain id of CAIP-2 that they belong to."""
TOKEN_DIGITS: Final = 78
"""Digits of the largest token that a contract can have."""


class Service(Struct, frozen=True, kw_only=True):
    """A way to reach the agent, or another name of it."""

    name: str
    """`A2A`, `MCP`, `DID`, `web` and so on."""
    endpoint: str
    """Where."""
    version: str | None = None
    """Of the protocol."""


class RegistrationFacts(Struct, frozen=True, kw_only=True):
    """What a registration file is made of."""

    name: str
    """The agent's name towards others."""
    description: str
    """What it is, for people."""
    image: str
    """The address of a picture."""
    services: tuple[Service, ...]
    """How it is reached."""
    x402: bool
    """Whether it takes payments by x402."""
    active: bool
    """Whether it is at work."""
    onchain: OnchainIdentity | None
    """Its entry on a chain."""
    trust: tuple[str, ...]
    """By what others may come to trust it."""


def registration(facts: RegistrationFacts) -> dict[str, Any]:
    """The file."""
    entry = registered(facts.onchain)
    return {
        "type": TYPE,
        "name": facts.name,
        "description": facts.description,
        "image": facts.image,
        "services": [
            {"name": each.name, "endpoint": each.endpoint} | ({"version": each.version} if each.version else {})
            for each in facts.services
        ],
        "x402Support": facts.x402,
        "active": facts.active,
        "registrations": [] if entry is None else [entry],
        "supportedTrust": list(facts.trust),
    }


def registered(onchain: OnchainIdentity | None) -> dict[str, Any] | None:
    """The entry on the chain as the file has it; None where it is not known wholly: half an entry is none."""
    if onchain is None or onchain.token_id is None:
        return None
    chain, token = NETWORKS.get(onchain.contract[:2]), onchain.token_id
    if chain is None or not (token.isascii() and token.isdecimal() and len(token) <= TOKEN_DIGITS):
        return None
    number = int(token)  # beyond what every reader of JSON keeps exactly, digits are safer
    return {
        "agentId": number if number <= LARGEST else str(number),
        "agentRegistry": f"stacks:{chain}:{onchain.contract}",
    }


def data_uri(file: dict[str, Any]) -> str:
    """The file as an address that holds it."""
    return f"data:application/json;base64,{base64.b64encode(canonical(file)).decode('ascii')}"


def picture(letter: str, colour: str) -> str:
    """A plain picture for an agent that has none: a letter on a colour (six hexadecimal digits)."""
    drawing = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">'
        f'<rect width="64" height="64" fill="#{colour}"/>'
        '<text x="32" y="44" font-family="sans-serif" font-size="36" text-anchor="middle" fill="#fff">'
        f"{letter}</text></svg>"
    )
    return f"data:image/svg+xml;base64,{base64.b64encode(drawing.encode()).decode('ascii')}"
