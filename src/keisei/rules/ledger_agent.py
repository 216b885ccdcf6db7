"""Agents as the ledger tells of them: rows folded into one state for each, and who was forked from whom.

The engine's rows say how its own spawns stand, and no row by hand changes that. Bodies of manual rows are hostile:
what is not of the kind that is expected counts as not said, and a row that does not follow from those before it is
passed over.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.ledger import LedgerEntry
from keisei.rules.canonical import LARGEST

AgentStatus = Literal["running", "done", "failed", "merged", "rejected"]

FORKED: Final = "agent_forked"
COST: Final = "cost_recorded"
MOVES: Final[Mapping[str, tuple[AgentStatus, tuple[AgentStatus, ...]]]] = {
    "agent_done": ("done", ("running",)),
    "agent_failed": ("failed", ("running",)),
    "agent_merged": ("merged", ("done", "failed")),
    "agent_rejected": ("rejected", ("running", "done", "failed")),
}
"""By the kind of a manual row: what an agent becomes, and what it must be before."""
SETTLED: Final = "attempt_settled"
ENDINGS: Final[Mapping[str, AgentStatus]] = {"completed": "done", "operator_canceled": "rejected"}
"""By the status of a task whose attempt was settled; every other is a failure of that attempt."""
LANDINGS: Final[Mapping[str, AgentStatus]] = {
    "landing_made": "merged",
    "landing_rejected": "rejected",
    "landing_reverted": "rejected",
}
KINDS: Final = (FORKED, COST, *MOVES, SETTLED, *LANDINGS)
"""Rows that tell of agents."""
LATEST: Final = 253_402_300_799
"""The last second of the year 9999."""
MICRO: Final = 1_000_000
"""Micro-cents of a cent."""


class AgentCost(Struct, frozen=True, kw_only=True):
    """What was recorded by hand, all rows added up."""

    micro_cents: int = 0
    """Millionths of a cent."""
    tokens_in: int = 0
    """Tokens that were sent."""
    tokens_out: int = 0
    """Tokens that came back."""
    provider: str | None = None
    """Of the newest row that names one."""
    model: str | None = None
    """Of the newest row that names one."""
    rows: int = 0
    """How many rows say so."""


class LedgerAgent(Struct, frozen=True, kw_only=True):
    """How one agent stands."""

    agent_id: str
    """Its id."""
    status: AgentStatus
    """Where it stands."""
    source: Literal["engine", "manual"]
    """Who says so: the engine of its own spawns, somebody else of all others."""
    actor: str
    """Who wrote that it was forked."""
    row: int
    """The row that tells of the fork; of an agent that was tried again the newest."""
    started_at: datetime
    """When that was written; of an agent of the original when it began there."""
    finished_at: datetime | None = None
    """When it stopped to run."""
    branch: str | None = None
    """Its branch."""
    parent: str | None = None
    """The agent, or the branch, it was forked from."""
    fork_parent: str | None = None
    """The agent, or its DNA, that it is a copy of."""
    spec_sha256: str | None = None
    """Of the file that says what the work is."""
    base: str | None = None
    """The commit it started from."""
    role: str | None = None
    """Its role."""
    dna: str | None = None
    """Its DNA."""
    worktree: str | None = None
    """Where it works."""
    creator: str | None = None
    """Who asked for it."""
    summary: str | None = None
    """What was said at its end; of an agent of the engine why it ended as it did."""
    task_id: str | None = None
    """Its task, where it is the engine's."""
    attempt_id: str | None = None
    """Its newest attempt, where it is the engine's."""
    cost: AgentCost = AgentCost()
    """What was recorded by hand."""


TOLD: Final = ("branch", "parent", "fork_parent", "spec_sha256", "base", "role", "dna", "worktree", "creator")
"""Fields that a fork's body tells as they are."""


class Branching(NamedTuple):
    """One line of a tree."""

    depth: int
    agent: LedgerAgent


def folded(rows: Iterable[LedgerEntry]) -> dict[str, LedgerAgent]:
    """Every agent by id, in the order in which they were first forked, from rows in their order."""
    agents: dict[str, LedgerAgent] = {}
    attempts: dict[str, str] = {}
    for row in rows:
        if row.source == "engine":
            _engine(agents, attempts, row)
        else:
            _manual(agents, row)
    return agents


def tree(agents: Mapping[str, LedgerAgent], root: str | None = None) -> list[Branching]:
    """Every agent, or `root` and those below it, each in front of those it forked.

    One whose parent nobody knows stands at the top; of a circle the first that was forked does.
    """
    below, tops = _children(agents)
    found: list[Branching] = []
    seen: set[str] = set()
    for top in [root] if root is not None else [*tops, *agents]:  # what no top leads to is in a circle
        ahead = [(0, top)] if top in agents else []
        while ahead:
            depth, name = ahead.pop()
            if name not in seen:
                seen.add(name)
                found.append(Branching(depth, agents[name]))
                ahead.extend((depth + 1, each) for each in reversed(below.get(name, ())))
    return found


def descendants(agents: Mapping[str, LedgerAgent], dna: str) -> list[LedgerAgent]:
    """Every agent below those that have this DNA, or that are copies of what has it, each once."""
    heads = [name for name, agent in agents.items() if agent.dna == dna]
    copies = [name for name, agent in agents.items() if agent.fork_parent == dna and name not in heads]
    found: dict[str, LedgerAgent] = {}
    for head in (*heads, *copies):
        found |= {each.agent.agent_id: each.agent for each in tree(agents, head)}
    return [agent for name, agent in found.items() if name not in heads]


def _children(agents: Mapping[str, LedgerAgent]) -> tuple[dict[str, list[str]], list[str]]:
    """Whom each one forked, and who has no parent here. A branch is that of the newest agent before."""
    below: dict[str, list[str]] = {}
    tops: list[str] = []
    branches: dict[str, str] = {}
    copies = {agent.dna: name for name, agent in agents.items() if agent.dna is not None}
    for name, agent in agents.items():
        parent = next((each for each in _parents(agent, agents, branches, copies) if each not in (None, name)), None)
        if parent is None:
            tops.append(name)
        else:
            below.setdefault(parent, []).append(name)
        if agent.branch is not None:
            branches[agent.branch] = name
    return below, tops


def _parents(
    agent: LedgerAgent, agents: Mapping[str, LedgerAgent], branches: Mapping[str, str], copies: Mapping[str, str]
) -> Iterable[str | None]:
    for told in (agent.parent, agent.fork_parent):
        if told is not None:
            yield told if told in agents else None
            yield branches.get(told)
            yield copies.get(told)


def _engine(agents: dict[str, LedgerAgent], attempts: dict[str, str], row: LedgerEntry) -> None:
    if row.kind == FORKED:
        known, agent = agents.get(row.subject), _forked(row)
        if known is not None and known.source == "engine":  # what an agent by hand of this id has cost is not its cost
            agent = replace(agent, cost=known.cost)
        agents[row.subject] = agent
        if agent.attempt_id is not None:
            attempts[agent.attempt_id] = row.subject
        return
    attempt = row.subject if row.kind == SETTLED else _text(row.body.get("attempt_id"))
    name = attempts.get(attempt or "", "")
    if name not in agents or agents[name].attempt_id != attempt:
        return  # of an attempt before the newest, or one that no fork tells of
    agent = agents[name]
    if row.kind == SETTLED:
        status = ENDINGS.get(str(row.body.get("status")), "failed")
        agents[name] = replace(agent, status=status, finished_at=row.recorded_at)
    elif row.kind in LANDINGS:
        summary = _text(row.body.get("reason")) or agent.summary
        agents[name] = replace(agent, status=LANDINGS[row.kind], summary=summary)


def _manual(agents: dict[str, LedgerAgent], row: LedgerEntry) -> None:
    agent = agents.get(row.subject)
    if agent is None:
        if row.kind == FORKED:
            agents[row.subject] = _forked(row)
        return
    if row.kind == COST:
        agents[row.subject] = replace(agent, cost=_added(agent.cost, row.body))
    elif row.kind in MOVES and agent.source == "manual" and agent.status in MOVES[row.kind][1]:
        said = _text(row.body.get("summary")) or _text(row.body.get("reason")) or agent.summary
        at = agent.finished_at or _original(row, "finished_ts") or row.recorded_at
        agents[row.subject] = replace(agent, status=MOVES[row.kind][0], finished_at=at, summary=said)


def _forked(row: LedgerEntry) -> LedgerAgent:
    is_engine = row.source == "engine"
    told: dict[str, Any] = {name: _text(row.body.get(name)) for name in TOLD}
    return LedgerAgent(
        agent_id=row.subject,
        status="running",
        source=row.source,
        actor=row.actor,
        row=row.seq,
        started_at=(None if is_engine else _original(row, "started_ts")) or row.recorded_at,
        task_id=_text(row.body.get("task_id")) if is_engine else None,
        attempt_id=_text(row.body.get("attempt_id")) if is_engine else None,
        **told,
    )


def _added(cost: AgentCost, body: Mapping[str, Any]) -> AgentCost:
    return AgentCost(
        micro_cents=cost.micro_cents + _whole(body.get("cost_micro_cents")),
        tokens_in=cost.tokens_in + _whole(body.get("tokens_in")),
        tokens_out=cost.tokens_out + _whole(body.get("tokens_out")),
        provider=_text(body.get("provider")) or cost.provider,
        model=_text(body.get("model")) or cost.model,
        rows=cost.rows + 1,
    )


def _original(row: LedgerEntry, name: str) -> datetime | None:
    """A moment that an imported row tells, in seconds since 1970; None where it tells none that can be one."""
    told = row.body.get("original")
    seconds = _whole(told.get(name)) if isinstance(told, dict) else 0
    return datetime.fromtimestamp(seconds, UTC) if 0 < seconds <= LATEST else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST else 0
