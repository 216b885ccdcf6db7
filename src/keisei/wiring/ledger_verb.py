"""The ledger, from an atom: agents written about by hand and told of, the chain verified, a row proved.

An attempt that asks speaks of its own agent and of those it forked, under its own name; it sees no others.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import to_builtins

from keisei.contracts.check import data_of
from keisei.records.error import OperatorError
from keisei.records.ledger import LedgerEntry
from keisei.rules.ledger_agent import LedgerAgent, tree
from keisei.rules.ledger_redact import marked
from keisei.wiring.agency import Agency
from keisei.wiring.ledger_agents import agent_data, cost_of, end, fork, may_tell, one_agent, record_cost
from keisei.wiring.ledger_attempt import known_agents, speaker_of
from keisei.wiring.signing import origin
from keisei.wiring.verb_error import VerbError, as_code

CENT: Final = 1_000_000
"""Micro-cents of a cent."""
MOST_ROWS: Final = 500
"""Rows that are told of one agent, the newest."""
LONGEST: Final = 65_536
"""Characters of the facts of one row that are told."""


def forked(agency: Agency, given: Mapping[str, Any], call: str) -> dict[str, Any]:
    """Write that an agent was forked. Raises VerbError."""
    told = {name: value for name, value in given.items() if name != "agent_id"}
    return _row(fork(agency.store, speaker_of(agency, call), given["agent_id"], told))


def ended(agency: Agency, kind: str, given: Mapping[str, Any], call: str) -> dict[str, Any]:
    """Write how an agent ended. Raises VerbError."""
    words = {name: value for name, value in given.items() if name != "agent_id"}
    return _row(end(agency.store, speaker_of(agency, call), given["agent_id"], kind, words))


def cost(agency: Agency, given: Mapping[str, Any], call: str) -> dict[str, Any]:
    """Write what an agent has cost; the answer has what all rows come to. Raises VerbError."""
    told = {name: value for name, value in given.items() if name not in ("agent_id", "cents", "micro_cents")}
    micro_cents = int(given.get("cents", 0)) * CENT + int(given.get("micro_cents", 0))
    body = {"cost_micro_cents": micro_cents, **told}
    row = record_cost(agency.store, speaker_of(agency, call), given["agent_id"], body)
    return {**_row(row), "total": to_builtins(cost_of(agency.store, given["agent_id"]))}


def listed(agency: Agency, given: Mapping[str, Any]) -> dict[str, Any]:
    """A page of agents, the newest first. Raises VerbError."""
    before, limit, status = given.get("before"), int(given.get("limit", 50)), given.get("status")
    found = sorted(known_agents(agency).values(), key=lambda agent: agent.row, reverse=True)
    behind = [each for each in found if status in (None, each.status) and (before is None or each.row < before)]
    page = behind[:limit]
    return {"agents": list(map(agent_data, page)), "next": page[-1].row if len(behind) > limit else None}


def drawn(agency: Agency, given: Mapping[str, Any]) -> dict[str, Any]:
    """Agents, each in front of those it forked, with how deep it stands. Raises VerbError."""
    agents, root, limit = known_agents(agency), given.get("agent_id"), int(given.get("limit", 500))
    if root is not None and root not in agents:
        raise _unknown(agency, root)
    lines = tree(agents, root)
    told = [{"depth": each.depth, **_brief(each.agent)} for each in lines[:limit]]
    return {"agents": told, "left_out": len(lines) - len(told)}


def shown(agency: Agency, given: Mapping[str, Any]) -> dict[str, Any]:
    """An agent with the newest rows about it, or one row. Raises VerbError."""
    speaker = speaker_of(agency)
    if (seq := given.get("seq")) is not None:
        if speaker.caller is not None:
            raise VerbError("NotAllowed", "inside an attempt rows are told by agent", "give `agent_id` instead")
        row = agency.store.entry(int(seq))
        if row is None:
            raise VerbError("UnknownRow", f"the ledger has no row {seq}")
        return {"agent": None, "rows": [_told(row)], "left_out": 0}
    found = one_agent(agency.store, given["agent_id"])
    if found is None or not may_tell(found[0], speaker):
        raise _unknown(agency, given["agent_id"])
    agent, rows = found
    kept = rows[-MOST_ROWS:]
    return {"agent": agent_data(agent), "rows": list(map(_told, kept)), "left_out": len(rows) - len(kept)}


def verified(agency: Agency, given: Mapping[str, Any]) -> dict[str, Any]:
    """Whether the ledger holds, with every checkpoint. Raises VerbError inside an attempt."""
    from keisei.wiring.ledger_verify import Asked, verify  # noqa: PLC0415 - most verbs check nothing

    _outside(agency)
    home = agency.home
    asked = Asked(origin=origin(home.name), state=home.folder, repository=home.root, head=given.get("head"))
    told: dict[str, Any] = to_builtins(verify(agency.store, asked))
    return told


def proved(agency: Agency, given: Mapping[str, Any]) -> dict[str, Any]:
    """The proof of one row. Raises VerbError."""
    from keisei.wiring.ledger_proof import inclusion  # noqa: PLC0415 - most verbs prove nothing

    _outside(agency)
    seq, size, length = int(given["seq"]), given.get("size"), agency.store.size()
    if not seq <= (length if size is None else int(size)) <= length:
        raise VerbError(
            "UnknownRow", f"the ledger has {length} rows: none of that number stands in a tree of that size"
        )
    with as_code("BrokenLedger", OperatorError):
        return inclusion(agency.store, origin(agency.home.name), seq, None if size is None else int(size))


def _outside(agency: Agency) -> None:
    if agency.caller is not None:
        raise VerbError("NotAllowed", "inside an attempt the ledger is neither verified nor proved")


def _unknown(agency: Agency, agent_id: str) -> VerbError:
    if agency.caller is not None:
        why = f"agent `{agent_id}` is not this attempt's own, nor one it forked"
        return VerbError("NotAllowed", why, "kei-ledger::list tells those that are")
    return VerbError("UnknownAgent", f"no agent has the id `{agent_id}`", "kei-ledger::list tells all")


def _row(row: LedgerEntry) -> dict[str, Any]:
    redacted = marked(row.body)
    told = {"agent_id": row.subject, "row": row.seq, "leaf_hash": row.leaf_hash}
    return {**told, "redacted": list(redacted)} if redacted else told


def _brief(agent: LedgerAgent) -> dict[str, Any]:
    return {"agent_id": agent.agent_id, "status": agent.status, "branch": agent.branch, "parent": agent.parent}


def _told(row: LedgerEntry) -> dict[str, Any]:
    told: dict[str, Any] = data_of(row)
    if len(str(told["body"])) > LONGEST:
        told["body"] = {"left_out": f"the facts have more than {LONGEST} characters: `keisei ledger show {row.seq}`"}
    return told
