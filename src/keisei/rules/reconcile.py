"""Reconciling: every tool call of a transcript must be one that the gate judged, with the same tool and input.

A harness whose hook was switched off, skipped or crashed open leaves calls that no decision speaks of. The transcript
is the harness's own word and the decisions are ours, so the two are held against each other after every attempt.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from keisei.records.decision import GateDecision
from keisei.records.report import ToolUse

OURS = ("canary-", "post:", "atom:")
"""How the ids of decisions begin that no call of the harness stands behind: the canary's, those after a call, and those
of atoms, which are judged again where they are run."""
PATCH = ("apply_patch", None)
"""A patch of which the transcript tells no more than what it changed. Codex takes patches out of shell commands; then
its hook was told of the command."""
SHOWN = 5
"""Calls that one complaint names."""


class Difference(Struct, frozen=True, kw_only=True):
    """A call whose id the gate knows, with another tool or another input."""

    call: ToolUse
    """As the transcript has it."""
    judged: GateDecision
    """What was judged under that id."""


class Audit(Struct, frozen=True, kw_only=True):
    """What came of holding a transcript against the decisions."""

    matched: tuple[ToolUse, ...] = ()
    """Calls that were judged as they were made."""
    ungated: tuple[ToolUse, ...] = ()
    """Calls that nobody judged. A violation."""
    differing: tuple[Difference, ...] = ()
    """Calls that were judged as something else. A violation."""
    unasked: tuple[ToolUse, ...] = ()
    """Calls that nobody judged and that did nothing: the harness asks no hook about them, and says why."""
    unseen: tuple[GateDecision, ...] = ()
    """Decisions whose call is not in the transcript: it was cut, or the call was made inside another tool."""


def reconcile(calls: Sequence[ToolUse], decisions: Sequence[GateDecision]) -> Audit:
    """Hold calls against decisions. A decision answers for one call, so ids that come twice are counted.

    Falls closed: a call without an id, or with an id that only a canary has, counts as not judged.
    """
    waiting: dict[str | None, list[GateDecision]] = defaultdict(list)
    for decision in decisions:
        if not (decision.tool_use_id or "").startswith(OURS):
            waiting[decision.tool_use_id].append(decision)
    matched: list[ToolUse] = []
    left: list[ToolUse] = []
    for call in calls:
        (matched if _take(waiting[call.id], call) else left).append(call)
    differing, alone = _paired(left, waiting)
    return Audit(
        matched=tuple(matched),
        ungated=tuple(call for call in alone if call.unasked is None),
        differing=tuple(differing),
        unasked=tuple(call for call in alone if call.unasked is not None),
        unseen=tuple(decision for each in waiting.values() for decision in each),
    )


def complaints(audit: Audit) -> tuple[str, ...]:
    """What is a violation, one sentence each; nothing for a transcript that the decisions account for."""
    alone = _first([f"the gate was not asked about {_name(call)}" for call in audit.ungated])
    changed = _first(
        [f"the gate was asked about {_judged(each)} instead of {_name(each.call)}" for each in audit.differing]
    )
    return (*alone, *changed)


def _take(waiting: list[GateDecision], call: ToolUse) -> bool:
    """Whether one of these decisions is about the call; it is used up then."""
    for place, decision in enumerate(waiting):
        if _is_about(decision, call):
            del waiting[place]
            return True
    return False


def _is_about(decision: GateDecision, call: ToolUse) -> bool:
    if (call.tool, call.input_digest, decision.tool) == (*PATCH, "Bash"):
        return True
    return decision.tool == call.tool and call.input_digest in {None, decision.input_digest}


def _paired(
    calls: list[ToolUse], waiting: Mapping[str | None, list[GateDecision]]
) -> tuple[list[Difference], list[ToolUse]]:
    """Calls with a decision about something else under their id, and calls without any."""
    differing, alone = [], []
    for call in calls:
        if waiting[call.id]:
            differing.append(Difference(call=call, judged=waiting[call.id].pop(0)))
        else:
            alone.append(call)
    return differing, alone


def _first(sentences: list[str]) -> Iterable[str]:
    if len(sentences) <= SHOWN:
        return sentences
    return [*sentences[:SHOWN], f"and so for {len(sentences) - SHOWN} more calls"]


def _judged(each: Difference) -> str:
    return "another input" if each.judged.tool == each.call.tool else f"`{each.judged.tool}`"


def _name(call: ToolUse) -> str:
    return f"`{call.tool}` ({call.id})"
