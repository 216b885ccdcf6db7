"""Proposing a constitution from an atom: whose it is, is told by the attempt that asks, never by what it says."""

from typing import Any

from keisei.records.error import OperatorError, Refused
from keisei.settings import Settings, read_settings
from keisei.wiring import catalog
from keisei.wiring.agency import Agency
from keisei.wiring.agent_verb import stamp
from keisei.wiring.constitution_proposal import Archive, TooManyProposals, Wish, propose
from keisei.wiring.identity import agent_of, fitting
from keisei.wiring.verb_error import VerbError, as_code


def propose_constitution(agency: Agency, given: dict[str, Any], settings: Settings | None = None) -> dict[str, Any]:
    """Propose what the attempt's own agent should carry. Raises KeiseiError."""
    task = agency.own_task()
    if task is None:
        raise VerbError("NoAgent", "no attempt asks here", "an operator runs `keisei constitution propose`")
    if task.agent is None:
        raise VerbError("NoAgent", f"task {task.task_id} runs under no durable identity")
    own = read_settings() if settings is None else settings
    with as_code("NoAgent", OperatorError):
        files = catalog(own, start=agency.home.root)
        agent = fitting(files, agent_of(files, task.agent))
    texts = [_raw(given.get(name)) for name in ("soul", "purpose")]
    wish = Wish(texts[0], texts[1], given["reason"])
    with as_code("BadProposal", Refused), as_code("TooManyProposals", TooManyProposals):
        made = propose(agent.loaded, wish, Archive(agency.store, agency.home.folder), agency.actor)
    return {
        "proposal": made.seq,
        "agent": made.agent_id,
        "soul_sha256": made.soul_sha256,
        "purpose_sha256": made.purpose_sha256,
        "proposed_at": stamp(made.proposed_at),
    }


def _raw(text: str | None) -> bytes | None:
    """Raises VerbError for half a character, which no file can hold."""
    try:
        return None if text is None else text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise VerbError("BadProposal", "a paper holds half a character, which is no text") from error
