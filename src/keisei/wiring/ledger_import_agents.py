"""The original's ledger, taken over: what it knows of each agent becomes rows by hand, written at once."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from keisei.engine.ports import Store
from keisei.records.beside import Beside
from keisei.records.move import NewEntry
from keisei.rules.agent_id import fault
from keisei.rules.canonical import LARGEST, canonical
from keisei.rules.ledger_agent import COST, FORKED, LATEST, MICRO, MOVES
from keisei.rules.ledger_redact import cleaned, is_secret, marked
from keisei.rules.redact import Redactor
from keisei.store.foreign import Row

LONGEST: Final = 10_000
"""Characters of a text that are taken over."""
PAGE: Final = 1000
FORK: Final = {
    "branch": "branch",
    "parent": "parent_branch",
    "fork_parent": "fork_parent_id",
    "spec_sha256": "spec_sha",
    "dna": "dna",
    "worktree": "worktree_path",
    "creator": "creator_id",
}
"""What a fork's row calls a column."""
ENDS: Final = {
    "done": ("agent_done",),
    "failed": ("agent_failed",),
    "merged": ("agent_done", "agent_merged"),
    "rejected": ("agent_rejected",),
}
"""The rows that lead to a status, by it; one that runs has none."""
END: Final = ("summary", "finished_ts", "outcome", "stubs_count", "escalation_depth")
"""Columns that the rows of an end tell."""
NAMES: Final = ("provider", "model")
"""Columns that the row of a cost tells besides its numbers."""


class TakenOver(NamedTuple):
    """What became of the agents."""

    rows: int
    """That were written."""
    agents: int
    """That are told of now."""
    left_out: list[tuple[str, str]]
    """By the id of an agent what is not told of it, and why: all of it, or a column."""


def take_over_agents(store: Store, agents: list[Row], actor: str) -> TakenOver:
    """Write what is not known here yet, in one transaction. The same again writes nothing. Raises KeiseiError."""
    known = _known(store)
    forks = {subject: body for kind, subject, body in known if kind == FORKED}
    new, left_out, told = list[NewEntry](), list[tuple[str, str]](), 0
    for agent in agents:
        rows = list(_entries(agent, actor))
        why = _fault(agent) or _other(rows[0], forks)
        if why is not None:
            left_out.append((str(agent["id"])[:100], why))
            continue
        told += 1
        left_out += [(str(agent["id"]), why) for why in (*_losses(agent), *_redacted(rows))]
        new += [row for row in rows if (row.kind, row.subject, canonical(row.body)) not in known]
    if new:
        store.restore([], Beside(ledger=tuple(new)))
    return TakenOver(len(new), told, left_out)


def _known(store: Store) -> set[tuple[str, str, bytes]]:
    """Every row about agents: kind, subject and body."""
    found = set[tuple[str, str, bytes]]()
    for kind in (FORKED, COST, *MOVES):
        after = 0
        while rows := store.entries(after, PAGE, kind):
            found.update((row.kind, row.subject, canonical(row.body)) for row in rows)
            after = rows[-1].seq
    return found


def _fault(agent: Row) -> str | None:
    if not isinstance(agent["id"], str):
        return "it has no id"
    if (why := fault(agent["id"])) is not None:
        return f"the id {why}"
    if is_secret(agent["id"], Redactor()):
        return "the id looks like a secret"
    if agent["status"] not in ("running", *ENDS):
        return f"its status is `{str(agent['status'])[:100]}`"
    return None


def _losses(agent: Row) -> Iterator[str]:
    """What no row tells of an agent, a part of a sentence each; what is empty is nothing."""
    for name, value in agent.items():
        if name in ("id", "status") or value is None or value == "":
            continue
        if name in END and agent["status"] == "running":
            yield f"{name}, for it still runs"
        elif name in NAMES and not _is_paid(agent):
            yield f"{name}, for nothing says what it has cost"
        elif isinstance(value, str):
            if len(value) > LONGEST:
                yield f"{name} beyond its first {LONGEST} of {len(value)} characters"
        elif not _fits(value) or (name == "cost_cents" and value * MICRO > LARGEST):
            yield f"{name}, which is {str(value)[:100]}"
        elif name in ("started_ts", "finished_ts") and not 0 < value <= LATEST:
            yield f"{name} as a time, which {str(value)[:100]} is not"


def _redacted(rows: list[NewEntry]) -> list[str]:
    return [f"what looks like a secret in {name}" for row in rows for name in marked(row.body)]


def _other(fork: NewEntry, forks: dict[str, bytes]) -> str | None:
    known = forks.get(fork.subject)
    return None if known in (None, canonical(fork.body)) else "an agent of this id is known here already"


def _entries(agent: Row, actor: str) -> Iterator[NewEntry]:
    """The rows of one agent, in their order."""
    subject = str(agent["id"])
    fork = {name: agent[column] for name, column in FORK.items()}
    yield _row(FORKED, subject, actor, {"agent_id": subject, **fork, **_original(agent, "started_ts")})
    kinds = ENDS.get(str(agent["status"]), ())
    for kind in kinds:
        word = "summary" if kind == "agent_done" else "reason"
        named = {word: agent["summary"]} if kind == kinds[0] else {}
        yield _row(kind, subject, actor, {**named, **_original(agent, *END[1:])})
    if _is_paid(agent):
        yield _row(COST, subject, actor, {**_counts(agent), **{name: agent[name] for name in NAMES}})


def _is_paid(agent: Row) -> bool:
    """Whether it says what it has cost."""
    return any(_fits(value) and value > 0 for value in _counts(agent).values())


def _counts(agent: Row) -> dict[str, Any]:
    micro, cents = agent["cost_micro_cents"], agent["cost_cents"]
    if not _fits(micro) and isinstance(cents, int):
        micro = cents * MICRO
    return {"cost_micro_cents": micro, "tokens_in": agent["tokens_in"], "tokens_out": agent["tokens_out"]}


def _original(agent: Row, *columns: str) -> dict[str, Any]:
    """What only the original says, under a name of its own."""
    told = {column: agent[column] for column in columns if _fits(agent[column])}
    return {"original": told} if told else {}


def _row(kind: str, subject: str, actor: str, body: dict[str, Any]) -> NewEntry:
    fitting = {name: value[:LONGEST] if isinstance(value, str) else value for name, value in body.items()}
    told = {name: value for name, value in fitting.items() if isinstance(value, dict) or _fits(value)}
    return NewEntry(kind=kind, subject=subject, actor=actor, body=cleaned(told, Redactor()), source="manual")


def _fits(value: object) -> bool:
    """Whether a row can hold it: text that is some, or a whole number that is none below zero."""
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and 0 <= value <= LARGEST)
