"""Agents by hand: what is written about them, what must hold before, and how each stands.

Every row here is manual. It follows the newest row about its agent or is not written: of two who end the same agent at
once, one is told what the other has said. What the engine says of its own spawns no such row changes. No row holds what
looks like a secret. What an attempt may write, and see, is in `ledger_attempt`.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
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
from keisei.rules.ledger_agent import COST, FORKED, LANDINGS, MOVES, SETTLED, TOLD, AgentCost, LedgerAgent, folded
from keisei.rules.ledger_redact import cleaned, is_secret
from keisei.rules.redact import Redactor
from keisei.wiring.verb_error import VerbError, as_code

LONGEST_BRANCH: Final = 256
LONGEST_NAME: Final = 1024
LONGEST_WORDS: Final = 10_000
"""Characters of a summary or a reason."""
PATIENCE_S, PAUSE_S = 10.0, 0.01
"""How long others may be quicker."""
PAGE: Final = 1000
KNOWN: Final = "`keisei ledger agents` shows all"
BY_HAND: Final = (FORKED, COST, *MOVES)
"""Kinds of rows that are written here."""


class Speaker(NamedTuple):
    """Who writes."""

    actor: str
    """As the rows have it."""
    caller: AttemptId | None = None
    """The attempt that asks; it speaks of its own agent and of those it forked, and of no other."""
    call: str | None = None
    """The id of the call, where an atom asks: the same again is the same row."""
    secrets: tuple[str, ...] = ()
    """Values that no row may hold, besides what looks like a secret."""
    own: str | None = None
    """The id of the agent that runs as the attempt; what it forks is called by it."""
    check_room: Callable[[], None] = lambda: None
    """Raises VerbError where no more may be written."""

    @property
    def redactor(self) -> Redactor:
        """Takes out what no row may hold."""
        return Redactor(self.secrets)


def fork(store: Store, speaker: Speaker, agent_id: str, told: Mapping[str, str | None]) -> LedgerEntry:
    """Write that an agent was forked. Raises VerbError: AgentKnown, BadAgentId, BadRow, NotAllowed."""
    if (why := fault(agent_id)) is not None:
        raise VerbError("BadAgentId", f"`{_short(agent_id)}` cannot be an agent's id: it {why}")
    if is_secret(agent_id, speaker.redactor):
        raise VerbError("BadAgentId", "the id looks like a secret, and no row can be taken back", "use another id")
    body = {"agent_id": agent_id, **{name: value for name in TOLD if (value := told.get(name)) is not None}}
    for name, value in body.items():
        _check(name, value, LONGEST_BRANCH if name == "branch" else LONGEST_NAME, lines=False)
    if speaker.caller is not None:
        _check_lineage(store, speaker, body)

    def decide(rows: list[LedgerEntry]) -> Mapping[str, Any]:
        known = folded(rows).get(agent_id)
        if known is not None and not may_tell(known, speaker):
            raise VerbError("NotAllowed", f"the id `{agent_id}` is not free", "choose another one")
        if known is not None:
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


def every_agent(store: Store, after: int = 0) -> dict[str, LedgerAgent]:
    """Every agent that the ledger tells of, by id; of those that were forked after a row."""
    rows = [row for kind in BY_HAND for row in _of_kind(store, kind, after)]
    if any(row.source == "engine" for row in rows):
        rows.extend(row for kind in (SETTLED, *LANDINGS) for row in _of_kind(store, kind, after))
    return folded(sorted(rows, key=lambda row: row.seq))


def cost_of(store: Store, agent_id: str) -> AgentCost | None:
    """What was recorded about an agent, all rows added up; None where nobody knows it."""
    rows = chain(_standing(store, agent_id), about(store, agent_id, COST))
    agent = folded(sorted(rows, key=lambda row: row.seq)).get(agent_id)
    return None if agent is None else agent.cost


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


def about(store: Store, subject: str, kind: str | None = None) -> list[LedgerEntry]:
    """Every row with this subject, of a kind or of all, in order."""
    if len(subject) > LARGEST_NAME:
        return []
    found: list[LedgerEntry] = []
    before: int | None = None
    while True:
        page = store.find_entries(EntryQuery(subject=subject, kind=kind, before=before, limit=PAGE))
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


def _standing(store: Store, agent_id: str) -> list[LedgerEntry]:
    """The rows with this subject that say how an agent stands; there are few, however often it was paid."""
    rows = chain.from_iterable(about(store, agent_id, kind) for kind in (FORKED, *MOVES))
    return sorted(rows, key=lambda row: row.seq)


def _own(rows: list[LedgerEntry], speaker: Speaker, agent_id: str) -> LedgerAgent:
    """The agent. Inside an attempt one that is not there and one of somebody else are told alike."""
    agent = folded(rows).get(agent_id)
    if speaker.caller is not None and (agent is None or not may_tell(agent, speaker)):
        why = f"agent `{_short(agent_id)}` is not this attempt's own, nor one it forked"
        raise VerbError("NotAllowed", why, "kei-ledger::list tells those that are")
    if agent is None:
        raise VerbError("UnknownAgent", f"no agent has the id `{_short(agent_id)}`", KNOWN)
    return agent


def _check_lineage(store: Store, speaker: Speaker, body: dict[str, Any]) -> None:
    """What an attempt forks is called by its own agent, and stands below it or one that it forked.

    So it takes no id that a task file or a person may want, and speaks for nobody else.
    """
    if "creator" in body:
        raise VerbError("NotAllowed", "inside an attempt the creator is the attempt: leave `creator` out")
    if speaker.own is None:
        raise VerbError("NotAllowed", "the ledger tells of no agent that runs as this attempt, so it forks none")
    prefix = f"{speaker.own}-"
    if not body["agent_id"].startswith(prefix) or body["agent_id"] == prefix:
        raise VerbError("NotAllowed", f"inside an attempt an agent's id begins with `{prefix}`", f"`{prefix}1`")
    for name in ("parent", "fork_parent"):
        if name in body:
            _own(_standing(store, body[name]), speaker, body[name])
    body.setdefault("parent", speaker.own)


def _written(
    store: Store,
    speaker: Speaker,
    agent_id: str,
    kind: str,
    decide: Callable[[list[LedgerEntry]], Mapping[str, Any]],
) -> LedgerEntry:
    """The row, written behind the newest that was looked at; the one of the same call where there is one."""
    redactor = speaker.redactor
    if is_secret(speaker.actor, redactor):
        raise VerbError("BadRow", "the actor looks like a secret, and no row can be taken back")
    until = time.monotonic() + PATIENCE_S
    while True:
        newest = _newest(store, agent_id)  # before what is decided upon: a row that comes between is met below
        if (made := _made(store, speaker, agent_id, kind)) is not None:
            return made
        speaker.check_room()
        body = cleaned(decide(_standing(store, agent_id)), redactor)
        body |= {} if speaker.call is None else {"call": speaker.call}
        new = NewEntry(kind=kind, subject=agent_id, actor=speaker.actor, body=body, source="manual")
        with as_code("BadRow", ContractViolation):
            entry = store.append_if(new, newest)
        if entry is not None:
            return entry
        if time.monotonic() > until:
            raise WorldFault(f"others write about agent `{agent_id}` all the time: nothing was written", retryable=True)
        time.sleep(PAUSE_S)


def _newest(store: Store, agent_id: str) -> int:
    """The place of the newest row with this subject; 0 where there is none."""
    if len(agent_id) > LARGEST_NAME:
        return 0
    return next((row.seq for row in store.find_entries(EntryQuery(subject=agent_id, limit=1))), 0)


def _made(store: Store, speaker: Speaker, agent_id: str, kind: str) -> LedgerEntry | None:
    """The row that the same call has written before; a person's command is no call."""
    if speaker.call is None:
        return None
    rows = reversed(about(store, agent_id, kind))
    return next((row for row in rows if (row.actor, row.body.get("call")) == (speaker.actor, speaker.call)), None)


def _of_kind(store: Store, kind: str, after: int) -> Iterator[LedgerEntry]:
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
