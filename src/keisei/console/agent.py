"""Agents: durable identities, what they carry as their constitution, and what they did and spent."""

from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.console.asking import Key
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.role import told_problems
from keisei.console.role_rule import Origin, origins
from keisei.console.visitor import Visitor
from keisei.engine.budget import Balance, policy_of, spending
from keisei.records.agent import AgentFile, AgentIdentity
from keisei.records.error import KeiseiError
from keisei.records.form import Sha256
from keisei.records.id import AgentId
from keisei.records.move import TaskQuery
from keisei.records.task import TaskRecord
from keisei.records.wallet import WalletIdentity, joined
from keisei.rules.budget import day_name
from keisei.wiring.account import operator
from keisei.wiring.constitution import (
    Acceptance,
    Constitution,
    acceptance,
    changes,
    constitution,
    kept_text,
    standing,
)
from keisei.wiring.constitution_order import Consent, accept_standing
from keisei.wiring.constitution_proposal import Archive, Proposal, open_proposals
from keisei.wiring.identity import Agent, agent_of

MOST: Final = 20
"""Tasks that are told."""
LINES: Final = 2000
"""Lines of a difference that are told."""


class AgentsAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class AgentLine(Struct, frozen=True, kw_only=True):
    """One agent in the list."""

    agent_id: str
    """Its id."""
    display_name: str
    """Its label."""
    external_name: str | None
    """Its registered name."""
    wallets: int
    """How many wallets it has."""
    state: str
    """`accepted`, `changed`, `new`, `none` or `unreadable`: its constitution beside what the operator accepted."""
    accepted: Acceptance | None
    """What was accepted last."""
    layer: str
    """The layer whose file holds."""
    is_default: bool
    """Whether tasks that name no agent are its."""


class AgentsPage(Struct, frozen=True, kw_only=True):
    """Every durable agent."""

    items: tuple[AgentLine, ...]
    """By id."""
    problems: tuple[str, ...]
    """Files that cannot be read."""


class AgentAsk(Struct, frozen=True, kw_only=True):
    """Which agent."""

    agent_id: Key
    """Its id."""


class AgentPaper(Struct, frozen=True, kw_only=True):
    """One of the two documents, now and as it was accepted."""

    name: str
    """`soul` or `purpose`."""
    path: str
    """The file, relative to the agent's folder."""
    sha256: str
    """Of what it says now."""
    text: str
    """What it says now."""
    accepted_sha256: str | None
    """Of what was accepted; None where nothing was."""
    known: bool
    """Whether the accepted text is kept on this machine, so that it can be compared."""
    changes: tuple[str, ...]
    """What differs from the accepted text, as the lines of a unified diff."""
    cut: int
    """Lines of it that are not told."""


class AgentProposal(Struct, frozen=True, kw_only=True):
    """A revision that somebody wants, and an operator has not answered."""

    seq: int
    """Its row in the ledger, by which it is known."""
    actor: str
    """Who wants it."""
    proposed_at: datetime
    """Since when."""
    reason: str
    """Why, in their words."""
    fits: bool
    """Whether the files still say what they said when it was made."""
    papers: tuple[AgentPaper, ...]
    """The papers that would change, as they would be; what differs is from what stands now."""


class AgentPage(Struct, frozen=True, kw_only=True):
    """One durable agent."""

    identity: AgentIdentity
    """Its three faces."""
    wallets: tuple[WalletIdentity, ...]
    """Its wallets, as data."""
    version: str | None
    """The version of its constitution; None where it has none."""
    state: str
    """`accepted`, `changed`, `new`, `none` or `unreadable`: its constitution beside what the operator accepted."""
    accepted: Acceptance | None
    """What was accepted last."""
    papers: tuple[AgentPaper, ...]
    """Soul and purpose."""
    proposals: tuple[AgentProposal, ...]
    """What is proposed, oldest first."""
    tasks: tuple[TaskRecord, ...]
    """Its newest tasks."""
    day: str
    """The UTC day of its spending."""
    balance: Balance | None
    """What it spent today, and what it may; None where it did nothing and has no limit."""
    origins: tuple[Origin, ...]
    """Files that define it, the winning one first."""
    problems: tuple[str, ...]
    """What cannot be read of it."""


class AgentAccept(Struct, frozen=True, kw_only=True):
    """Accept a constitution as it was read."""

    agent_id: Key
    """Whose."""
    soul_sha256: Sha256
    """The soul that was read."""
    purpose_sha256: Sha256
    """The purpose that was read."""


def show_agents(premises: Premises, _asks: AgentsAsk) -> AgentsPage:
    """Every durable agent, and whether its constitution is the accepted one."""
    catalog, problems, items = premises.catalog(), [], []
    project = premises.home.file.project
    for name, files in catalog.names("agent").items():
        try:
            loaded = agent_of(catalog, name).loaded
            now = constitution(loaded)
        except KeiseiError as error:
            problems += told_problems(f"agent `{name}`", error)
            continue
        known, identity = acceptance(premises.store, name), loaded.record.identity
        items.append(
            AgentLine(
                agent_id=name,
                display_name=identity.display_name,
                external_name=identity.external_name.name if identity.external_name else None,
                wallets=len(loaded.record.wallets),
                state=standing(now, known),
                accepted=known,
                layer=files[-1].layer.name,
                is_default=project is not None and project.agent == name,
            )
        )
    return AgentsPage(items=tuple(items), problems=tuple(problems))


def show_agent(premises: Premises, asks: AgentAsk) -> AgentPage:
    """Who an agent is, what its constitution says and what of it is accepted, what it did and spent."""
    catalog, loaded = premises.catalog(), _agent(premises, asks.agent_id).loaded
    file: AgentFile = loaded.record
    agent_id, problems = AgentId(asks.agent_id), []
    now: Constitution | None = None
    try:
        now = constitution(loaded)
    except KeiseiError as error:
        problems += told_problems(f"agent `{agent_id}`", error)
    known, moment = acceptance(premises.store, agent_id), premises.now()
    balances = spending(premises.store, policy_of(premises.home.file.budget), moment)
    return AgentPage(
        identity=file.identity,
        wallets=tuple(joined(each, file.identity.agent_id) for each in file.wallets),
        version=file.constitution.version if file.constitution else None,
        state="unreadable" if problems else standing(now, known),
        accepted=known,
        papers=_papers(now, known, premises.home.folder),
        proposals=tuple(
            _proposal(each, now, premises.home.folder) for each in open_proposals(premises.store, agent_id)
        ),
        tasks=premises.store.find_tasks(TaskQuery(agent=agent_id, limit=MOST)).tasks,
        day=day_name(moment),
        balance=next((each for each in balances if each.scope == f"agent:{agent_id}"), None),
        origins=origins(catalog, "agent", agent_id),
        problems=tuple(problems),
    )


def _agent(premises: Premises, agent_id: str) -> Agent:
    """The agent, with its file. Raises Missing, AuthorError."""
    catalog = premises.catalog()
    if catalog.found("agent", agent_id) is None:
        raise Missing(f"no agent is called `{agent_id}`", "/agents lists those there are")
    return agent_of(catalog, agent_id)


def _papers(now: Constitution | None, known: Acceptance | None, state: Path) -> tuple[AgentPaper, ...]:
    if now is None:
        return ()
    found = []
    for name, paper, sha256 in (
        ("soul", now.soul, known.soul_sha256 if known else None),
        ("purpose", now.purpose, known.purpose_sha256 if known else None),
    ):
        was = kept_text(state, sha256) if sha256 is not None else None
        lines = changes(was, paper.text) if was is not None else ()
        found.append(
            AgentPaper(
                name=name,
                path=paper.path,
                sha256=paper.sha256,
                text=paper.text,
                accepted_sha256=sha256,
                known=was is not None,
                changes=lines[:LINES],
                cut=max(0, len(lines) - LINES),
            )
        )
    return tuple(found)


def _proposal(proposal: Proposal, now: Constitution | None, state: Path) -> AgentProposal:
    found = []
    for name, stands, sha256 in (
        ("soul", now.soul if now else None, proposal.soul_sha256),
        ("purpose", now.purpose if now else None, proposal.purpose_sha256),
    ):
        if sha256 is None:
            continue
        text = kept_text(state, sha256)
        lines = changes(stands.text if stands else "", text) if text is not None else ()
        found.append(
            AgentPaper(
                name=name,
                path=stands.path if stands else name,
                sha256=sha256,
                text=text or "",
                accepted_sha256=None,
                known=text is not None,
                changes=lines[:LINES],
                cut=max(0, len(lines) - LINES),
            )
        )
    return AgentProposal(
        seq=proposal.seq,
        actor=proposal.actor,
        proposed_at=proposal.proposed_at,
        reason=proposal.reason,
        fits=proposal.fits(now),
        papers=tuple(found),
    )


def accept_constitution(premises: Premises, asks: AgentAccept, visitor: Visitor) -> Acceptance:
    """Accept an agent's constitution as it was read; refused where the files say something else by now."""
    operator(premises.settings)
    how = Consent(visitor.actor, premises.now(), seen=(asks.soul_sha256, asks.purpose_sha256))
    archive = Archive(premises.store, premises.home.folder)
    return accept_standing(premises.catalog(), _agent(premises, asks.agent_id), archive, how)


PAGES: Final[tuple[Page, ...]] = (
    page("/agents", "agents.html", show_agents),
    page("/agents/{agent_id}", "agent.html", show_agent),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/agents/{agent_id}/accept", accept_constitution, lambda done: f"/agents/{done.agent_id}"),
)
