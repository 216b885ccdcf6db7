"""Agent cards: what A2A 1.0 publishes of an agent, and the signature under it.

A card holds no empty text, list or object: signers and verifiers drop those differently, and then sign other bytes.
"""

import base64
from collections.abc import Callable, Iterable
from typing import Any, Final

from msgspec import Struct

from keisei.rules.canonical import canonical

PROTOCOL: Final = "1.0"
BINDINGS: Final = ("JSONRPC", "GRPC", "HTTP+JSON")
MODES: Final = ("application/json", "text/plain")
PATH: Final = "/.well-known/agent-card.json"
"""Where others look for it."""

Card = dict[str, Any]


class CardSkill(Struct, frozen=True, kw_only=True):
    """Something the agent offers."""

    id: str
    """By which it is asked for."""
    name: str
    """Its label."""
    description: str
    """What it does."""
    tags: tuple[str, ...]
    """Words to find it by; never empty."""
    modes: tuple[str, ...] = ()
    """Kinds of input and output, where they are not the agent's."""


class CardFacts(Struct, frozen=True, kw_only=True):
    """What a card is made of."""

    name: str
    """The agent's label."""
    description: str
    """What it is, for people."""
    version: str
    """Of the agent, not of the protocol."""
    url: str
    """Where it is reached."""
    binding: str = BINDINGS[0]
    """How it is spoken to there."""
    skills: tuple[CardSkill, ...]
    """What it offers; never empty."""


def card(facts: CardFacts) -> Card:
    """The card, unsigned."""
    return {
        "name": facts.name,
        "description": facts.description,
        "supportedInterfaces": [
            {"url": facts.url, "protocolBinding": facts.binding, "protocolVersion": PROTOCOL},
        ],
        "version": facts.version,
        "capabilities": {"streaming": False, "pushNotifications": False},
        "defaultInputModes": list(MODES),
        "defaultOutputModes": list(MODES),
        "skills": [_skill(each) for each in facts.skills],
    }


def _skill(skill: CardSkill) -> dict[str, Any]:
    modes = {"inputModes": list(skill.modes), "outputModes": list(skill.modes)} if skill.modes else {}
    told = {"id": skill.id, "name": skill.name, "description": skill.description, "tags": list(skill.tags)}
    return told | modes


def signed(unsigned: Card, key_url: str, sign: Callable[[bytes], bytes]) -> Card:
    """The card with a detached JWS of Ed25519 over its canonical bytes. `key_url` names the key."""
    protected = _coded(canonical({"alg": "EdDSA", "kid": key_url, "typ": "JOSE"}))
    signature = _coded(sign(signing_input(unsigned, protected)))
    return unsigned | {"signatures": [{"protected": protected, "signature": signature}]}


def signing_input(card: Card, protected: str) -> bytes:
    """The bytes that are signed: the header, and the card without its signatures."""
    bare = {name: value for name, value in card.items() if name != "signatures"}
    return f"{protected}.{_coded(canonical(bare))}".encode("ascii")


def _coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def distinct(skills: Iterable[CardSkill]) -> tuple[CardSkill, ...]:
    """Each id once; the first stays, where it stands."""
    found: dict[str, CardSkill] = {}
    for each in skills:
        found.setdefault(each.id, each)
    return tuple(found.values())
