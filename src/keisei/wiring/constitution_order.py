"""An operator's yes to a constitution: the papers and their mark are written, then the row that says so."""

from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from keisei.library.agent_edit import Mark, edits, next_mark, place, taken_back
from keisei.library.document import parse
from keisei.library.load import Loaded, load
from keisei.library.shelf import Found
from keisei.library.source import read_source
from keisei.records.agent import AgentFile
from keisei.records.error import KeiseiError, Refused
from keisei.wiring.constitution import Acceptance, Constitution, accept, acceptance, constitution, kept_text
from keisei.wiring.constitution_proposal import Archive, Proposal, alone, check_open, hashes


class Authored(NamedTuple):
    """An agent's file, and what it says."""

    found: Found
    loaded: Loaded


class Consent(NamedTuple):
    """How an operator accepts."""

    actor: str
    now: datetime
    version: str | None = None
    """The version it bears from now on; by default the next."""
    anyway: bool = False
    """Even where the files changed since the proposal was made."""
    reason: str = ""


class _Revision(NamedTuple):
    papers: dict[str, str]
    """Those that change, by `soul` and `purpose`."""
    seen: tuple[str, str]
    """The sha256 of what is accepted; files that say something else by then are not."""
    more: dict[str, Any]
    """What the row says beside."""


def accept_proposal(agent: Authored, proposal: Proposal, archive: Archive, how: Consent) -> Acceptance:
    """Write the papers and their mark into the agent's files, then the row. Raises KeiseiError; then nothing is new."""
    with alone(archive, proposal.agent_id):
        check_open(archive.ledger, proposal)
        now = constitution(agent.loaded)
        if not proposal.fits(now) and not how.anyway:
            message = f"the constitution of `{proposal.agent_id}` has changed since proposal {proposal.seq} was made"
            raise Refused(message, "`keisei constitution diff` shows what it would change; `--anyway` accepts it")
        if not how.anyway:
            _check_rest(proposal, now, archive)
        papers = _texts(proposal, archive.state)
        if now is None and len(papers) < len(hashes(now)):
            raise Refused(f"proposal {proposal.seq} has one paper, and `{proposal.agent_id}` has none", "reject it")
        more = {"proposal": proposal.seq, "reason": how.reason, "anyway": how.anyway}
        stands, wanted = hashes(now), (proposal.soul_sha256, proposal.purpose_sha256)
        seen = (wanted[0] or stands[0] or "", wanted[1] or stands[1] or "")
        revision = _Revision(papers, seen, {name: each for name, each in more.items() if each})
        return _written(agent, revision, archive, how)


def accept_standing(agent: Authored, archive: Archive, how: Consent) -> Acceptance:
    """Accept what stands in the files; they get another mark only where a version is said. Raises KeiseiError."""
    agent_id = agent.loaded.record.identity.agent_id
    with alone(archive, agent_id):
        more = {"reason": how.reason} if how.reason else {}
        soul, purpose = hashes(constitution(agent.loaded))
        seen = (soul or "", purpose or "")
        if how.version is not None:
            return _written(agent, _Revision({}, seen, more), archive, how)
        return accept(agent.loaded, seen, archive.ledger, archive.state, how.actor, more)


def _check_rest(proposal: Proposal, now: Constitution | None, archive: Archive) -> None:
    """Raises Refused where a paper that stays is not the accepted one: nobody was shown it."""
    known = acceptance(archive.ledger, proposal.agent_id)
    if known is None or now is None:
        return
    stays = [
        (paper.path, paper.sha256 == accepted)
        for paper, accepted, wanted in (
            (now.soul, known.soul_sha256, proposal.soul_sha256),
            (now.purpose, known.purpose_sha256, proposal.purpose_sha256),
        )
        if wanted is None
    ]
    for path, is_accepted in stays:
        if not is_accepted:
            message = (
                f"`{path}` of `{proposal.agent_id}` is not the accepted text, and proposal {proposal.seq} leaves it"
            )
            raise Refused(message, "`keisei constitution diff` shows the difference; accept what stands first")


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


def _written(agent: Authored, revision: _Revision, archive: Archive, how: Consent) -> Acceptance:
    """The files first, all of them or none; where the row cannot be written, they are put back."""
    found, loaded = agent
    if found.layer.name != "project":
        message = f"agent `{found.name}` stands in the layer `{found.layer.name}`, which this project does not write"
        raise Refused(message, f"copy it to `.keisei/agents/{found.name}` of the project first")
    file: AgentFile = loaded.record
    mark = next_mark(file.constitution.version if file.constitution else None, how.now)
    files = edits(loaded, revision.papers, mark if how.version is None else Mark(how.version, how.now))
    place(loaded, files)
    try:
        fresh = load(parse(read_source(loaded.document.source.path)), "agent.file")
        return accept(fresh, revision.seen, archive.ledger, archive.state, how.actor, revision.more)
    except KeiseiError:
        back = taken_back(files)
        if back is not None:
            with suppress(KeiseiError):
                place(loaded, back)
        raise
