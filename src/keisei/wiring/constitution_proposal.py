"""Revisions of a constitution: anybody may propose one, only an operator accepts it or rejects it.

A proposal is a row of the ledger, known by its place there, and names texts by hash; the texts are kept in the state
folder. It changes no file. It was made against what the files said then, and is not accepted over something newer.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from keisei.engine.ports import Ledger
from keisei.library.load import Loaded
from keisei.records.agent import AgentFile
from keisei.records.error import Refused
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, NewEntry
from keisei.wiring.constitution import KIND as ACCEPTED
from keisei.wiring.constitution import LARGEST, Constitution, check_reason, constitution, keep_text
from keisei.workspace.lock import KeyLocks

PROPOSED: Final = "constitution_proposed"
REJECTED: Final = "constitution_rejected"
KINDS: Final = (PROPOSED, ACCEPTED, REJECTED)
MOST_OPEN: Final = 5
"""Proposals for one agent that may wait for an answer."""
PAGE: Final = 500
PATIENCE_S: Final = 10.0


class TooManyProposals(Refused):
    """Others wait for an answer first."""


class Proposal(Struct, frozen=True, kw_only=True):
    """A revision that somebody wants."""

    seq: int
    """Its place in the ledger, by which it is known."""
    agent_id: str
    """Whose constitution."""
    soul_sha256: str | None
    """The soul that is wanted; None for the one that stands."""
    purpose_sha256: str | None
    """The purpose that is wanted; None for the one that stands."""
    base: tuple[str | None, str | None]
    """What stood in the files when it was made: the sha256 of soul and purpose."""
    reason: str
    """Why, in the words of whoever wants it."""
    actor: str
    """Who: an operator, or an attempt."""
    proposed_at: datetime
    """When."""
    state: str
    """`open`, `accepted` or `rejected`."""
    answer: int | None = None
    """The row that answers it."""

    def fits(self, now: Constitution | None) -> bool:
        """Whether the files still say what they said when it was made."""
        return self.base == hashes(now)


class Wish(NamedTuple):
    """What is proposed."""

    soul: bytes | None
    purpose: bytes | None
    reason: str


class Archive(NamedTuple):
    """Where a project keeps what was said of constitutions."""

    ledger: Ledger
    state: Path
    """The state folder, for the texts."""


def hashes(now: Constitution | None) -> tuple[str | None, str | None]:
    """The sha256 of soul and purpose, as they stand."""
    return (None, None) if now is None else (now.soul.sha256, now.purpose.sha256)


def history(ledger: Ledger, agent_id: str) -> list[LedgerEntry]:
    """Every row about an agent's constitution, oldest first. What was written by hand is no part of it."""
    found = [row for kind in KINDS for row in _rows(ledger, kind, agent_id)]
    return sorted(found, key=lambda row: row.seq)


def _rows(ledger: Ledger, kind: str, agent_id: str) -> Iterator[LedgerEntry]:
    before: int | None = None
    while True:
        query = EntryQuery(before=before, kind=kind, subject=agent_id, source="engine", limit=PAGE)
        rows = ledger.find_entries(query)
        yield from rows
        if len(rows) < PAGE:
            return
        before = rows[-1].seq


def proposals(ledger: Ledger, agent_id: str) -> list[Proposal]:
    """Every proposal for an agent, oldest first."""
    rows = history(ledger, agent_id)
    answers: dict[int, LedgerEntry] = {}
    for row in rows:
        if row.kind != PROPOSED and isinstance(told := row.body.get("proposal"), int):
            answers.setdefault(told, row)
    return [_proposal(row, answers.get(row.seq)) for row in rows if row.kind == PROPOSED]


def _proposal(row: LedgerEntry, answer: LedgerEntry | None) -> Proposal:
    told = {name: value if isinstance(value, str) else None for name, value in row.body.items()}
    return Proposal(
        seq=row.seq,
        agent_id=row.subject,
        soul_sha256=told.get("soul_sha256"),
        purpose_sha256=told.get("purpose_sha256"),
        base=(told.get("base_soul_sha256"), told.get("base_purpose_sha256")),
        reason=told.get("reason") or "",
        actor=row.actor,
        proposed_at=row.recorded_at,
        state="open" if answer is None else "accepted" if answer.kind == ACCEPTED else "rejected",
        answer=None if answer is None else answer.seq,
    )


def open_proposals(ledger: Ledger, agent_id: str) -> list[Proposal]:
    """Those that wait for an answer, oldest first."""
    return [each for each in proposals(ledger, agent_id) if each.state == "open"]


def known_proposal(ledger: Ledger, agent_id: str, seq: int) -> Proposal:
    """The proposal of that row. Raises Refused for a row that is none, or another agent's."""
    found = next((each for each in proposals(ledger, agent_id) if each.seq == seq), None)
    if found is None:
        hint = f"`keisei constitution show {agent_id}` lists the open ones"
        raise Refused(f"row {seq} of the ledger is no proposal for `{agent_id}`", hint)
    return found


def propose(loaded: Loaded, wish: Wish, archive: Archive, actor: str) -> Proposal:
    """Keep the texts and write the row. The same again, while it is open, is the same proposal.

    Raises Refused for what cannot be accepted ever, TooManyProposals, AuthorError for papers that cannot be read,
    OperatorError where the texts cannot be kept.
    """
    file: AgentFile = loaded.record
    agent_id, now = file.identity.agent_id, constitution(loaded)
    wanted = _wanted(agent_id, wish, now)
    body = {
        "soul_sha256": wanted[0],
        "purpose_sha256": wanted[1],
        "base_soul_sha256": hashes(now)[0],
        "base_purpose_sha256": hashes(now)[1],
        "reason": wish.reason,
    }
    with alone(archive, agent_id):
        waiting = [each for each in open_proposals(archive.ledger, agent_id) if each.fits(now)]
        for each in waiting:
            if (each.soul_sha256, each.purpose_sha256) == wanted:
                return each
        if len(waiting) >= MOST_OPEN:
            message = f"{len(waiting)} proposals for `{agent_id}` wait for an operator's answer"
            raise TooManyProposals(message, "no more are taken until some are answered")
        for text in (wish.soul, wish.purpose):  # the texts first: a row never names what nobody has
            if text is not None:
                keep_text(archive.state, text)
        row = archive.ledger.append(NewEntry(kind=PROPOSED, actor=actor, subject=agent_id, body=body))
    return _proposal(row, None)


def _wanted(agent_id: str, wish: Wish, now: Constitution | None) -> tuple[str | None, str | None]:
    """The hashes that are wanted, None for a paper that stays. Raises Refused."""
    if not wish.reason.strip():
        raise Refused("a proposal needs a reason", "say why, in a sentence or two")
    check_reason(wish.reason)
    stands, wanted = hashes(now), []
    for name, text, old in (("soul", wish.soul, stands[0]), ("purpose", wish.purpose, stands[1])):
        if text is not None:
            _check_text(name, text)
        digest = None if text is None else hashlib.sha256(text).hexdigest()
        wanted.append(None if digest == old else digest)
        if digest is None and old is None:
            message = f"`{agent_id}` has no constitution yet: a first one has a soul and a purpose"
            raise Refused(message, f"propose a {name} too")
    if wanted == [None, None]:
        raise Refused(f"that is what the constitution of `{agent_id}` says already", "propose what it should say")
    return wanted[0], wanted[1]


def _check_text(name: str, text: bytes) -> None:
    """Raises Refused for what could not stand in a file of an agent."""
    if len(text) > LARGEST:
        raise Refused(f"the {name} has {len(text)} bytes; {LARGEST} are the most", "say it in fewer words")
    try:
        said = text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(f"the {name} is not UTF-8", "save it as UTF-8 without a byte order mark") from error
    if not said.strip() or "\0" in said or said.startswith("\ufeff"):
        raise Refused(f"the {name} is empty, or holds a NUL or a byte order mark", "write plain UTF-8 text")


@contextmanager
def alone(archive: Archive, agent_id: str) -> Iterator[None]:
    """Nobody else of this machine changes anything about this agent's constitution meanwhile. Raises WorldFault."""
    key = f"constitution-{hashlib.sha256(agent_id.encode()).hexdigest()[:16]}"
    locks = KeyLocks(archive.state / "run")
    with locks.own(key, PATIENCE_S):
        try:
            yield
        finally:
            locks.forget(key)


def check_open(ledger: Ledger, proposal: Proposal) -> None:
    """Raises Refused for a proposal that has its answer."""
    now = known_proposal(ledger, proposal.agent_id, proposal.seq)
    if now.state != "open":
        raise Refused(f"proposal {now.seq} was {now.state} by row {now.answer} of the ledger", "propose it again")


def reject(proposal: Proposal, reason: str, archive: Archive, actor: str) -> LedgerEntry:
    """Write that an operator does not want it. No file changes. Raises Refused where it has its answer."""
    check_reason(reason)
    with alone(archive, proposal.agent_id):
        check_open(archive.ledger, proposal)
        body = {"proposal": proposal.seq, "reason": reason}
        return archive.ledger.append(NewEntry(kind=REJECTED, actor=actor, subject=proposal.agent_id, body=body))
