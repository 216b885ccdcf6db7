"""Agents by hand: what is written about them, what must hold before, and how each stands.

Every row here is manual. It follows the newest row about its agent or is not written: of two who end the same agent at
once, one is told what the other has said. What the engine says of its own spawns no such row changes.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from keisei.engine.ports import Store
from keisei.records.error import ContractViolation, WorldFault
from keisei.records.id import AttemptId
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, LandingQuery, NewEntry
from keisei.records.problem import printable
from keisei.rules.agent_id import fault
from keisei.rules.canonical import LARGEST
from keisei.rules.ledger import LARGEST_NAME
from keisei.rules.ledger_agent import COST, FORKED, LANDINGS, MOVES, SETTLED, TOLD, LedgerAgent, folded
from keisei.wiring.verb_error import VerbError, as_code

LONGEST_BRANCH: Final = 256
LONGEST_NAME: Final = 1024
LONGEST_WORDS: Final = 10_000
"""Characters of a summary or a reason."""
PATIENCE_S, PAUSE_S = 10.0, 0.01
"""How long others may be quicker."""
PAGE: Final = 1000
KNOWN: Final = "`keisei ledger agents` shows all"


class Speaker(NamedTuple):
    """Who writes."""

    actor: str
    """As the rows have it."""
    caller: AttemptId | None = None
    """The attempt that asks; it speaks of its own agent and of those it forked, and of no other."""
    call: str | None = None
    """The id of the call, where an atom asks: the same again is the same row."""


def fork(store: Store, speaker: Speaker, agent_id: str, told: Mapping[str, str | None]) -> LedgerEntry:
    """Write that an agent was forked. Raises VerbError: AgentKnown, BadAgentId, BadRow, NotAllowed."""
    if (why := fault(agent_id)) is not None:
        raise VerbError("BadAgentId", f"`{_short(agent_id)}` cannot be an agent's id: it {why}")
    body = {"agent_id": agent_id, **{name: value for name in TOLD if (value := told.get(name)) is not None}}
    for name, value in body.items():
        _check(name, value, LONGEST_BRANCH if name == "branch" else LONGEST_NAME, lines=False)
    if speaker.caller is not None:
        _check_lineage(store, speaker, body)

    def decide(rows: list[LedgerEntry]) -> Mapping[str, Any]:
        if agent_id in folded(rows):
            raise VerbError("AgentKnown", f"agent `{agent_id}` is known already", f"`kei-ledger show {agent_id}`")
        return body

    return _written(store, speaker, agent_id, FORKED, decide)


def end(store: Store, speaker: Speaker, agent_id: str, kind: str, words: Mapping[str, str]) -> LedgerEntry:
    """Write how an agent ended. Raises VerbError: UnknownAgent, WrongStatus, EngineAgent, BadRow, NotAllowed."""
    status, before = MOVES[kind]
    for name, value in words.items():
        _check(name, value, LONGEST_WORDS, lines=True)

    def decide(rows: list[LedgerEntry]) -> Mapping[str, Any]:
        agent = _own(rows, speaker, agent_id)
        if agent.source == "engine":
            hint = "its task says how it ends; `append` writes a row of another kind about it"
            raise VerbError("EngineAgent", f"agent `{agent_id}` is the engine's own: nobody else ends it", hint)
        if agent.status not in before:
            expected = " or ".join(before)
            raise VerbError(
                "WrongStatus", f"agent `{agent_id}` is {agent.status}; only one that is {expected} {_how(status)}"
            )
        return words

    return _written(store, speaker, agent_id, kind, decide)


def record_cost(store: Store, speaker: Speaker, agent_id: str, cost: Mapping[str, int | str]) -> LedgerEntry:
    """Write what an agent has cost besides all that was recorded. Raises VerbError: UnknownAgent, BadRow, NotAllowed.

    `cost` has some of `cost_micro_cents`, `tokens_in`, `tokens_out`, `provider`, `model`.
    """
    for name, value in cost.items():
        if isinstance(value, str):
            _check(name, value, LONGEST_NAME, lines=False)
        elif not 0 <= value <= LARGEST:
            raise VerbError("BadRow", f"{name} is {_short(str(value))}; it is a whole number, at most {LARGEST}")

    def decide(rows: list[LedgerEntry]) -> Mapping[str, Any]:
        _own(rows, speaker, agent_id)
        return cost

    return _written(store, speaker, agent_id, COST, decide)


def every_agent(store: Store) -> dict[str, LedgerAgent]:
    """Every agent that the ledger tells of, by id."""
    rows = [row for kind in (FORKED, COST, *MOVES) for row in _of_kind(store, kind)]
    if any(row.source == "engine" for row in rows):
        rows.extend(row for kind in (SETTLED, *LANDINGS) for row in _of_kind(store, kind))
    return folded(sorted(rows, key=lambda row: row.seq))


def one_agent(store: Store, agent_id: str) -> tuple[LedgerAgent, list[LedgerEntry]] | None:
    """An agent, and every row about it, its attempts and its landings, in order. None where nobody knows it."""
    rows = about(store, agent_id)
    attempts = [str(row.body.get("attempt_id")) for row in rows if row.kind == FORKED and row.source == "engine"]
    for attempt in dict.fromkeys(attempts):
        rows.extend(about(store, attempt))
        for landing in store.landings(LandingQuery(attempt_id=AttemptId(attempt), limit=PAGE)):
            rows.extend(about(store, landing.landing_id))
    rows.sort(key=lambda row: row.seq)
    agent = folded(rows).get(agent_id)
    return None if agent is None else (agent, rows)


def about(store: Store, subject: str) -> list[LedgerEntry]:
    """Every row with this subject, in order."""
    if len(subject) > LARGEST_NAME:
        return []
    found: list[LedgerEntry] = []
    before: int | None = None
    while True:
        page = store.find_entries(EntryQuery(subject=subject, before=before, limit=PAGE))
        found.extend(page)
        if len(page) < PAGE:
            return found[::-1]
        before = page[-1].seq


def may_tell(agent: LedgerAgent, speaker: Speaker) -> bool:
    """Whether whoever asks may know of it: inside an attempt its own agent, and those it forked."""
    if speaker.caller is None:
        return True
    return agent.attempt_id == speaker.caller if agent.source == "engine" else agent.actor == speaker.actor


def agent_data(agent: LedgerAgent) -> dict[str, Any]:
    """An agent as plain data."""
    data: dict[str, Any] = msgspec.to_builtins(agent)
    return data


def _own(rows: list[LedgerEntry], speaker: Speaker, agent_id: str) -> LedgerAgent:
    """The agent. Inside an attempt one that is not there and one of somebody else are told alike."""
    agent = folded(rows).get(agent_id)
    if speaker.caller is not None and (agent is None or not may_tell(agent, speaker)):
        raise VerbError("NotAllowed", f"agent `{_short(agent_id)}` is not this attempt's own, nor one it forked")
    if agent is None:
        raise VerbError("UnknownAgent", f"no agent has the id `{_short(agent_id)}`", KNOWN)
    return agent


def _check_lineage(store: Store, speaker: Speaker, body: dict[str, Any]) -> None:
    """What an attempt forks stands below its own agent, or below one that it forked; it speaks for nobody else."""
    if "creator" in body:
        raise VerbError("NotAllowed", "inside an attempt the creator is the attempt: leave `creator` out")
    for name in ("parent", "fork_parent"):
        if name in body:
            _own(about(store, body[name]), speaker, body[name])
    if "parent" not in body and (own := _own_id(store, speaker)) is not None:
        body["parent"] = own


def _own_id(store: Store, speaker: Speaker) -> str | None:
    """The id of the agent that runs as this attempt; its row is among the newest, for it was just begun."""
    forks = store.find_entries(EntryQuery(kind=FORKED, source="engine", limit=PAGE))
    return next((row.subject for row in forks if row.body.get("attempt_id") == speaker.caller), None)


def _written(
    store: Store,
    speaker: Speaker,
    agent_id: str,
    kind: str,
    decide: Callable[[list[LedgerEntry]], Mapping[str, Any]],
) -> LedgerEntry:
    """The row, written behind the newest that was looked at; the one of the same call where there is one."""
    until = time.monotonic() + PATIENCE_S
    while True:
        rows = about(store, agent_id)
        for row in rows if speaker.call is not None else ():
            if (row.kind, row.actor, row.body.get("call")) == (kind, speaker.actor, speaker.call):
                return row
        body = {**decide(rows), **({} if speaker.call is None else {"call": speaker.call})}
        new = NewEntry(kind=kind, subject=agent_id, actor=speaker.actor, body=body, source="manual")
        with as_code("BadRow", ContractViolation):
            entry = store.append_if(new, rows[-1].seq if rows else 0)
        if entry is not None:
            return entry
        if time.monotonic() > until:
            raise WorldFault(f"others write about agent `{agent_id}` all the time: nothing was written", retryable=True)
        time.sleep(PAUSE_S)


def _of_kind(store: Store, kind: str) -> Iterator[LedgerEntry]:
    after = 0
    while True:
        page = store.entries(after, PAGE, kind)
        yield from page
        if len(page) < PAGE:
            return
        after = page[-1].seq


def _check(name: str, value: str, longest: int, *, lines: bool) -> None:
    if len(value) > longest:
        raise VerbError("BadRow", f"{name} has {len(value)} characters, more than {longest}")
    if not lines and not (value and value.isprintable()):
        raise VerbError("BadRow", f"{name} is empty, or holds what cannot be printed in a line")


def _how(status: str) -> str:
    return {"done": "can be done", "failed": "can fail", "merged": "is merged", "rejected": "is rejected"}[status]


def _short(text: str) -> str:
    return printable(text[:80]) + ("…" if len(text) > 80 else "")  # noqa: PLR2004 - a line's worth
