"""Refusals: what a gate refused one attempt, as far as a ledger row tells of it: counted, the first ones by line."""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from keisei.records.decision import GateDecision
from keisei.records.form import JsonObject
from keisei.rules.reconcile import OURS
from keisei.rules.redact import Redactor

MOST: Final = 50
"""Refusals of one attempt that are told one by one; an agent may ask as often as it likes."""
LONGEST: Final = 200
"""Characters of a text in a row that an agent may have chosen."""


class Refusal(Struct, frozen=True, kw_only=True):
    """One call that was refused."""

    tool: str
    """The tool's name."""
    capability: str | None
    """The capability that refused."""
    reason: str
    """The line the agent has read."""
    line: str
    """The hash of its line in gate.jsonl."""


class Refusals(Struct, frozen=True, kw_only=True):
    """What was refused in one attempt."""

    total: int
    """How many calls."""
    first: tuple[Refusal, ...] = ()
    """The first of them, in the order in which they were asked."""


def refusals(decisions: Iterable[GateDecision], redactor: Redactor) -> Refusals | None:
    """The refusals among decisions, without secrets; None where nothing was refused. Our own questions do not count."""
    denied = [each for each in decisions if each.decision == "deny" and is_before_a_call(each)]
    if not denied:
        return None
    return Refusals(total=len(denied), first=tuple(_refusal(each, redactor) for each in denied[:MOST]))


def is_before_a_call(decision: GateDecision) -> bool:
    """Whether this is about a call of the agent, and not the canary's or about what a call has left."""
    return not (decision.tool_use_id or "").startswith(OURS)


def told(refused: Refusals) -> JsonObject:
    """The refusals as the body of a row has them."""
    first = [
        {"tool": each.tool, "capability": each.capability, "reason": each.reason, "line": each.line}
        for each in refused.first
    ]
    return {"total": refused.total, "refusals": first}


def bounded(text: str, redactor: Redactor) -> str:
    """A text that an agent may have chosen, as a ledger row takes it: without secrets, and not long."""
    return redactor.text(text)[:LONGEST]


def _refusal(decision: GateDecision, redactor: Redactor) -> Refusal:
    capability = decision.capability
    return Refusal(
        tool=bounded(decision.tool, redactor),
        capability=None if capability is None else bounded(capability, redactor),
        reason=bounded(decision.reason or "", redactor),
        line=decision.hash,
    )
