"""Agents checked: three faces that agree, wallets that fit, a constitution that is there, nothing claimed twice."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from keisei.library.agent_wallet import check_wallets
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.shelf import Found
from keisei.library.source import Source, inside, is_file, read_source
from keisei.records.agent import AgentConstitution, AgentFile
from keisei.records.error import AuthorError, KeiseiError
from keisei.records.problem import Problem
from keisei.rules.identity import contract_conflicts, rival_claims, same_address

PAPERS = {"soul": "SOUL.md", "purpose": "PURPOSE.md"}


def check_agent(found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything in which the agent's records disagree."""
    file: AgentFile = loaded.record
    document = loaded.document
    yield from check_folder(found, loaded)
    for index, message in contract_conflicts(file.identity, file.wallets):
        place = ("wallets", index, "onchain_identity_contract")
        yield document.problem("identity-conflict", place, message)
    for index, wallet in enumerate(file.wallets):
        if wallet.agent_id not in (None, file.identity.agent_id):
            message = f"wallet `{wallet.address}` says it belongs to `{wallet.agent_id}`"
            yield document.problem("identity-conflict", ("wallets", index, "agent_id"), message)
    yield from _registered(file, loaded)
    yield from check_wallets(file, loaded)
    yield from _papers(file, loaded)


def check_folder(found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Whether the file says that it is the agent of its folder: nothing else makes it that agent."""
    file: AgentFile = loaded.record
    if file.identity.agent_id != found.name:
        message = f"agent_id `{file.identity.agent_id}` differs from the folder `{found.name}`"
        yield loaded.document.problem("bad-name", ("identity", "agent_id"), message)


def _registered(file: AgentFile, loaded: Loaded) -> Iterator[Problem]:
    external = file.identity.external_name
    if external is None or any(
        same_address(each.address) == same_address(external.wallet_ref) for each in file.wallets
    ):
        return
    message = f"external_name.wallet_ref `{external.wallet_ref}` is none of the agent's wallets"
    hint = None if file.wallets else "write the wallet that authored the registration as `[[wallets]]`"
    yield loaded.document.problem("identity-conflict", ("identity", "external_name", "wallet_ref"), message, hint)


def check_claims(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """What another agent of the catalog claims too.

    Others that cannot be read, or say that they are another agent than their folder's, are told in their own files:
    they claim nothing.
    """
    for name in catalog.names("agent"):
        if name == found.name:
            continue
        try:
            other: AgentFile = catalog.loaded("agent", name).record
        except KeiseiError:
            continue
        if other.identity.agent_id != name:
            continue
        for place, message in rival_claims(loaded.record, other):
            yield loaded.document.problem("identity-conflict", place, message, "one of the two is wrong: correct it")


def paper_path(file: AgentFile, key: str) -> str:
    """Where a paper (`soul` or `purpose`) stands, relative to the agent's folder."""
    named: str | None = getattr(file.identity, f"{key}_ref")
    return named or PAPERS[key]


def _papers(file: AgentFile, loaded: Loaded) -> Iterator[Problem]:
    folder = loaded.document.source.path.parent
    for key, paper in PAPERS.items():
        named = getattr(file.identity, f"{key}_ref")
        path = inside(folder, named or paper)
        there = path is not None and is_file(path)
        if named is not None and not there:
            yield loaded.document.problem("missing-file", ("identity", f"{key}_ref"), f"`{named}` is missing")
        elif file.constitution is not None and not there:
            yield loaded.document.problem("missing-file", ("constitution",), f"`{paper}` is missing")
        elif file.constitution is None and there:
            message = f"`{paper}` is there, but `[constitution]` with version and revised_at is missing"
            yield loaded.document.problem("missing-key", (), message)


class Papers(NamedTuple):
    """Both papers, each read once: what is hashed is what is shown."""

    soul: Source
    purpose: Source


def read_papers(loaded: Loaded) -> Papers | None:
    """The papers as they are now, or None where the agent has none. Raises AuthorError for unreadable ones."""
    return None if loaded.record.constitution is None else Papers(*(_paper(loaded, key) for key in PAPERS))


def _paper(loaded: Loaded, key: str) -> Source:
    relative = paper_path(loaded.record, key)
    path = inside(loaded.document.source.path.parent, relative)
    if path is None:
        raise AuthorError([loaded.document.problem("outside", ("identity",), f"`{relative}` leads out of the folder")])
    if not is_file(path):
        raise AuthorError([loaded.document.problem("missing-file", ("identity",), f"`{relative}` is missing")])
    return read_source(path)


def constitution_of(loaded: Loaded, papers: Papers | None = None) -> AgentConstitution | None:
    """The constitution with its hashes, or None where the agent has none. Raises AuthorError for unreadable papers."""
    file: AgentFile = loaded.record
    found = read_papers(loaded) if papers is None else papers
    if file.constitution is None or found is None:
        return None
    return AgentConstitution(
        agent_id=file.identity.agent_id,
        soul_path=paper_path(file, "soul"),
        purpose_path=paper_path(file, "purpose"),
        soul_hash=hashlib.sha256(found.soul.raw).hexdigest(),
        purpose_hash=hashlib.sha256(found.purpose.raw).hexdigest(),
        version=file.constitution.version,
        revised_at=file.constitution.revised_at,
    )
