"""Tool calls of an attempt, as the gate judged them."""

from datetime import datetime
from typing import Final, Literal

import msgspec
from msgspec import Struct

from keisei.console.templating import plain
from keisei.console.transcript import about
from keisei.records.decision import GateDecision
from keisei.rules.reconcile import OURS

CANARY, AFTER, ATOM = OURS
LONGEST: Final = 600
"""Characters of a sentence that are shown."""
Moment = Literal["before", "after", "atom", "check"]
WHO: Final[dict[str, Moment]] = {CANARY: "check", AFTER: "after", ATOM: "atom"}
_decision = msgspec.json.Decoder(GateDecision).decode


class AttemptTool(Struct, frozen=True, kw_only=True):
    """One call and what the gate answered."""

    at: datetime
    """When it was judged."""
    tool: str
    """The tool."""
    about: str
    """What it was asked to do, in one line."""
    decision: Literal["allow", "deny"]
    """What was answered."""
    moment: Moment
    """Judged before the call, or after it (what it left is held against the rules); `atom`: judged again where an atom
    is run; `check`: keisei's own call that tries the gate before the agent begins."""
    broken: bool
    """A gate broke: this is no violation."""
    capability: str | None
    """The capability that refused."""
    rule: str | None
    """The pattern or list entry that matched."""
    reason: str | None
    """What the agent was told."""
    notes: tuple[str, ...]
    """What rules that only warn or record had to say."""
    latency_ms: float
    """How long the judgement took."""
    agent: str | None
    """The sub-agent that called; None for the agent itself."""
    id: str | None
    """The harness's id of the call."""


def tools_in(data: bytes) -> list[AttemptTool]:
    """The decisions in these lines of gate.jsonl. What is no whole decision is passed over."""
    found = (tool_of(line) for line in data.split(b"\n") if line.strip())
    return [each for each in found if each is not None]


def tool_of(line: bytes) -> AttemptTool | None:
    """One decision; None for a line that is none."""
    try:
        told = _decision(line)
    except (ValueError, RecursionError):
        return None
    return AttemptTool(
        at=told.decided_at,
        tool=plain(told.tool)[:LONGEST],
        about=about(told.input),
        decision=told.decision,
        moment=_moment(told.tool_use_id or ""),
        broken=told.cause == "error",
        capability=_line(told.capability),
        rule=_line(told.rule),
        reason=_line(told.reason),
        notes=tuple(plain(each)[:LONGEST] for each in told.notes[:20]),
        latency_ms=told.latency_ms,
        agent=_line(told.agent_id),
        id=_line(told.tool_use_id),
    )


def _line(text: str | None) -> str | None:
    return None if text is None else plain(text)[:LONGEST]


def _moment(call: str) -> Moment:
    return next((word for begins, word in WHO.items() if call.startswith(begins)), "before")
