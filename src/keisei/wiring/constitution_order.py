"""An operator's yes to a constitution: the papers and their mark are written, then the row that says so."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from keisei.library.agent_edit import Mark, check_own, edits, next_mark, place, settle, take_back
from keisei.library.catalog import Catalog, load_found
from keisei.library.placement import ASIDE
from keisei.records.agent import AgentFile
from keisei.records.error import KeiseiError, Refused
from keisei.wiring.constitution import (
    Acceptance,
    Constitution,
    accept,
    acceptance,
    check_reason,
    check_version,
    constitution,
    kept_text,
)
from keisei.wiring.constitution_proposal import Archive, Proposal, alone, check_open, hashes
from keisei.wiring.identity import Agent, checked, fitting

Seen = tuple[str, str]
"""The sha256 of soul and purpose that an operator has read."""


class Consent(NamedTuple):
    """How an operator accepts."""

    actor: str
    now: datetime
    version: str | None = None
    """The version it bears from now on; by default the next."""
    anyway: bool = False
    """Even where the files changed since the proposal was made."""
    reason: str = ""
    seen: Seen | None = None
    """What was read; where something else would be accepted, nothing is. None for whatever it says."""


class _Revision(NamedTuple):
    papers: dict[str, str]
    """Those that change, by `soul` and `purpose`."""
    seen: Seen
    """The sha256 of what is accepted; files that say something else by then are not."""
    more: dict[str, Any]
    """What the row says beside."""


def accept_proposal(catalog: Catalog, agent: Agent, proposal: Proposal, archive: Archive, how: Consent) -> Acceptance:
    """Write the papers and their mark into the agent's files, then the row. Raises KeiseiError; then nothing is new.

    Where the files say already what it wants, as after a crash between files and row, only the row is missing.
    """
    _check(how)
    with alone(archive, proposal.agent_id):
        check_open(archive.ledger, proposal)
        agent = _fresh(catalog, agent)
        now = constitution(agent.loaded)
        revision = _revision(proposal, now, archive, how)
        is_there = hashes(now) == revision.seen
        if not (proposal.fits(now) or is_there or how.anyway):
            message = f"the constitution of `{proposal.agent_id}` has changed since proposal {proposal.seq} was made"
            raise Refused(message, "`keisei constitution diff --proposal` shows all of it; `--anyway` accepts it")
        _check_rest(proposal, now, archive)
        if is_there and how.version is None:
            return accept(agent.loaded, revision.seen, archive.ledger, archive.state, how.actor, revision.more)
        return _written(agent, revision, archive, how)


def accept_standing(catalog: Catalog, agent: Agent, archive: Archive, how: Consent) -> Acceptance:
    """Accept what stands in the files; they get another mark only where a version is said. Raises KeiseiError."""
    _check(how)
    with alone(archive, agent.found.name):
        agent = _fresh(catalog, agent)
        more = {"reason": how.reason} if how.reason else {}
        soul, purpose = hashes(constitution(agent.loaded))
        seen = (soul or "", purpose or "")
        _check_seen(seen, agent.found.name, how)
        if how.version is not None:
            return _written(agent, _Revision({}, seen, more), archive, how)
        return accept(agent.loaded, seen, archive.ledger, archive.state, how.actor, more)


def _check(how: Consent) -> None:
    """Raises Refused for words that no row and no file should hold."""
    check_reason(how.reason)
    if how.version is not None:
        check_version(how.version)


def _check_seen(accepted: Seen, agent_id: str, how: Consent) -> None:
    """Raises Refused where it is not what was read."""
    if how.seen is not None and how.seen != accepted:
        message = f"the constitution of `{agent_id}` has changed since you read it"
        raise Refused(message, "read it again, and accept what it says now")


def _fresh(catalog: Catalog, agent: Agent) -> Agent:
    """The agent as its files are now, while nobody else writes them. Raises AuthorError where its records disagree."""
    if agent.found.layer.name == "project" and list(agent.found.path.parent.glob(f"{ASIDE}*")):
        check_own(agent.found)
        settle(agent.found)
    return fitting(catalog, checked(Agent(agent.found, load_found("agent", agent.found))))


def _revision(proposal: Proposal, now: Constitution | None, archive: Archive, how: Consent) -> _Revision:
    """What is accepted with the proposal. Raises Refused where it is not whole, or not what was read."""
    papers, stands = _texts(proposal, archive.state), hashes(now)
    if now is None and len(papers) < len(stands):
        raise Refused(f"proposal {proposal.seq} has one paper, and `{proposal.agent_id}` has none", "reject it")
    seen = (proposal.soul_sha256 or stands[0] or "", proposal.purpose_sha256 or stands[1] or "")
    _check_seen(seen, proposal.agent_id, how)
    more = {"proposal": proposal.seq, "reason": how.reason, "anyway": how.anyway}
    return _Revision(papers, seen, {name: each for name, each in more.items() if each})


def _check_rest(proposal: Proposal, now: Constitution | None, archive: Archive) -> None:
    """Raises Refused where a paper that stays is not the accepted one: it is accepted on its own, or not at all."""
    known = acceptance(archive.ledger, proposal.agent_id)
    if known is None or now is None:
        return
    for paper, accepted, wanted in (
        (now.soul, known.soul_sha256, proposal.soul_sha256),
        (now.purpose, known.purpose_sha256, proposal.purpose_sha256),
    ):
        if wanted is None and paper.sha256 != accepted:
            whose = f"`{paper.path}` of `{proposal.agent_id}`"
            message = f"{whose} is not the accepted text, and proposal {proposal.seq} leaves it"
            raise Refused(
                message, "`keisei constitution diff` shows the difference; put it back, or accept what stands first"
            )


def _texts(proposal: Proposal, state: Path) -> dict[str, str]:
    """The papers that change. Raises Refused for one that is not kept on this machine."""
    texts = {}
    for name, sha256 in (("soul", proposal.soul_sha256), ("purpose", proposal.purpose_sha256)):
        if sha256 is not None:
            text = kept_text(state, sha256)
            if text is None:
                message = f"the {name} of proposal {proposal.seq} is not kept on this machine, or was changed"
                raise Refused(message, "accept it where it was proposed, or have it proposed again")
            texts[name] = text
    return texts


def _written(agent: Agent, revision: _Revision, archive: Archive, how: Consent) -> Acceptance:
    """The files first, all of them or none; where the row cannot be written, they are put back."""
    found, loaded = agent
    check_own(found)
    file: AgentFile = loaded.record
    mark = next_mark(file.constitution.version if file.constitution else None, how.now)
    before = _newest(agent, archive)
    files = edits(loaded, revision.papers, mark if how.version is None else Mark(how.version, how.now))
    try:
        place(loaded, files)
        fresh = load_found("agent", found)
        return accept(fresh, revision.seen, archive.ledger, archive.state, how.actor, revision.more)
    except BaseException:  # also for who is interrupted: files without their row would hold, and nobody accepted them
        with suppress(KeiseiError):
            if not _is_answered(agent, archive, before):
                take_back(loaded, files)
        raise


def _is_answered(agent: Agent, archive: Archive, before: int | None) -> bool:
    """Whether the row stands after all, as for who is interrupted just behind it; a store that is away has none."""
    try:
        return _newest(agent, archive) != before
    except KeiseiError:
        return False


def _newest(agent: Agent, archive: Archive) -> int | None:
    """The row of the newest acceptance; nobody else writes one meanwhile."""
    known = acceptance(archive.ledger, agent.found.name)
    return None if known is None else known.seq
