"""Identities towards others: the card, the identifiers and the registration file of an agent, all from its files."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from keisei.library.agent import check_agent, check_claims, check_folder
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.shelf import Found
from keisei.records.agent import AgentFile, AgentIdentity
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import AuthorError, OperatorError
from keisei.records.problem import Problem
from keisei.records.profile import SubagentProfile
from keisei.records.skill import SkillManifest
from keisei.rules.card import CardFacts, CardSkill, distinct
from keisei.rules.did import did_key
from keisei.rules.registration import RegistrationFacts, Service, picture
from keisei.rules.wallet.caip import account_id, did_pkh


class Agent(NamedTuple):
    """A durable agent, with the file that says who it is."""

    found: Found
    loaded: Loaded

    @property
    def file(self) -> AgentFile:
        """What the file says."""
        record: AgentFile = self.loaded.record
        return record


class Account(Struct, frozen=True, kw_only=True):
    """A wallet by the names that others know it by."""

    chain: str
    """Its chain."""
    address: str
    """Its address."""
    account_id: str | None
    """CAIP-10; None where the address cannot be read or its network is not clear."""
    did: str | None
    """did:pkh; likewise."""


class Offer(NamedTuple):
    """What a card shall say beside the identity."""

    url: str | None
    binding: str
    profiles: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    atoms: tuple[str, ...] = ()
    description: str | None = None


class Listing(NamedTuple):
    """What a registration file shall say beside the identity."""

    services: tuple[Service, ...] = ()
    description: str | None = None
    image: str | None = None
    x402: bool = False
    active: bool = True
    trust: tuple[str, ...] = ()


def agent_of(catalog: Catalog, name: str) -> Agent:
    """The agent of that name. Raises OperatorError where there is none, AuthorError where its file is broken.

    A file that says it is another agent than its folder's is broken: whoever orders something for one agent never
    orders it for another.
    """
    found = catalog.found("agent", name)
    if found is None:
        raise catalog.missing("agent", name)
    return checked(Agent(found, catalog.loaded("agent", name)))


def checked(agent: Agent) -> Agent:
    """The same agent. Raises AuthorError for a file that is not its folder's."""
    problems = list(check_folder(agent.found, agent.loaded))
    if problems:
        raise AuthorError(problems)
    return agent


def fitting(catalog: Catalog, agent: Agent) -> Agent:
    """The same agent. Raises AuthorError where its records disagree, or another agent claims the same."""
    errors = [each for each in misfits(catalog, agent) if each.severity == "error"]
    if errors:
        raise AuthorError(errors)
    return agent


def misfits(catalog: Catalog, agent: Agent) -> Iterator[Problem]:
    """Everything in which its records disagree, with themselves or with another agent's."""
    yield from agent.loaded.warnings
    yield from check_agent(agent.found, agent.loaded)
    yield from check_claims(catalog, agent.found, agent.loaded)


def accounts(file: AgentFile) -> tuple[Account, ...]:
    """Its wallets, by the names that others know them by."""
    return tuple(
        Account(chain=each.chain, address=each.address, account_id=account_id(each), did=did_pkh(each))
        for each in file.wallets
    )


def dids(file: AgentFile, public: bytes | None) -> tuple[str, ...]:
    """Every identifier: of the runtime's key where there is one, then of the wallets."""
    own = () if public is None else (did_key(public),)
    return own + tuple(dict.fromkeys(each.did for each in accounts(file) if each.did is not None))


def card_facts(catalog: Catalog, agent: Agent, offer: Offer, atom: Callable[[str], AtomSpec]) -> CardFacts:
    """What the card says. Raises OperatorError without an address, for a profile, skill or atom that is not there."""
    identity = agent.file.identity
    url = offer.url or _noted(identity, "url")
    if url is None or not _is_web(url):
        hint = "say `--url https://...`, or `url` under `[identity.metadata]`"
        raise OperatorError(f"a card says where `{identity.agent_id}` is reached", hint)
    profiles = [_profile(catalog, name) for name in offer.profiles]
    skills = [*offer.skills, *(skill for profile in profiles for skill in profile.skill_ids)]
    offered = [
        *map(_of_profile, profiles),
        *(_of_skill(catalog.loaded("skill", name).record) for name in skills),
        *(_of_atom(atom(name)) for name in offer.atoms),
    ]
    mark = agent.file.constitution
    return CardFacts(
        name=identity.display_name,
        description=described(identity, offer.description),
        version=mark.version if mark is not None else "0",
        url=url,
        binding=offer.binding,
        skills=distinct(offered) or (_of_identity(identity),),
    )


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_plain = url.isprintable() and " " not in url and "@" not in parts.netloc  # no password is published
    return parts.scheme in ("http", "https") and bool(parts.hostname) and is_plain


def _profile(catalog: Catalog, name: str) -> SubagentProfile:
    found: SubagentProfile = catalog.loaded("profile", name).record
    return found


def _of_profile(profile: SubagentProfile) -> CardSkill:
    about = f"Works on tasks under the profile `{profile.profile_id}`, in the role `{profile.role}`."
    return CardSkill(id=profile.profile_id, name=profile.profile_id, description=about, tags=("task", profile.role))


def _of_skill(skill: SkillManifest) -> CardSkill:
    tags = tuple(filter(None, skill.tags)) or ("skill",)
    return CardSkill(id=skill.skill_id, name=skill.skill_id, description=skill.description, tags=tags)


def _of_atom(spec: AtomSpec) -> CardSkill:
    tags = tuple(filter(None, spec.manifest.keywords)) or ("atom",)
    about = spec.summary or f"Calls `{spec.id}`."
    return CardSkill(id=spec.id, name=spec.id, description=about, tags=tags, modes=("application/json",))


def _of_identity(identity: AgentIdentity) -> CardSkill:
    return CardSkill(id="tasks", name="Tasks", description=f"{identity.display_name} works on tasks.", tags=("task",))


def registration_facts(agent: Agent, listing: Listing, public: bytes | None) -> RegistrationFacts:
    """What the registration file says. The name towards others is the registered one, where there is one."""
    identity = agent.file.identity
    external, onchain = identity.external_name, identity.onchain_identity
    known = {(each.name, each.endpoint) for each in listing.services}
    own = [Service(name="DID", endpoint=each, version="v1") for each in dids(agent.file, public)]
    reputed = ("reputation",) if onchain is not None and onchain.reputation_ref is not None else ()
    return RegistrationFacts(
        name=external.name if external is not None else identity.display_name,
        description=described(identity, listing.description),
        image=listing.image or _noted(identity, "image") or _picture(identity),
        services=(*listing.services, *(each for each in own if (each.name, each.endpoint) not in known)),
        x402=listing.x402,
        active=listing.active,
        onchain=onchain,
        trust=_once((*reputed, *listing.trust)),
    )


def _picture(identity: AgentIdentity) -> str:
    colour = hashlib.sha256(identity.agent_id.encode()).hexdigest()[:6]
    return picture(identity.agent_id[0].upper(), colour)


def described(identity: AgentIdentity, given: str | None) -> str:
    """A sentence for others. The constitution is not quoted: who publishes an agent says what of it is public."""
    return given or _noted(identity, "description") or f"{identity.display_name}, an agent run by keisei."


def _noted(identity: AgentIdentity, key: str) -> str | None:
    noted: Any = (identity.metadata or {}).get(key)
    return noted.strip() or None if isinstance(noted, str) else None


def _once(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))
