"""The verdict: every predicate's last word, as people read it, as data, and as an exit code."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from keisei.cli.desk import first_line
from keisei.contracts.check import data_of
from keisei.records.problem import printable
from keisei.rules.landing import FINE, rejecting

if TYPE_CHECKING:
    from keisei.records.finding import FindingRecord

VIOLATED, UNSAID, LATE = 2, 3, 5
LATE_WORDS: Final = ("in time", "longer than")
"""How the reason of a predicate says that its time ran out; a finding has no other mark of it."""


def newest(findings: "Iterable[FindingRecord]") -> "list[FindingRecord]":
    """What counts: of a predicate that was asked again, on the tree that lands, only the last word."""
    return list({(each.capability, each.run_from): each for each in findings}.values())


def verdict(findings: "Iterable[FindingRecord]") -> dict[str, Any]:
    """How many of those asked have held, and who has not: `failed` rejects, `warned` does not.

    What does not apply here, an elevated rule for example, is `unasked`, with the reason.
    """
    last = newest(findings)
    asked = [each for each in last if each.status != "not-applicable"]
    against = rejecting(last)
    warned = [each for each in asked if each.status != "held" and each not in against]
    return {
        "held": sum(each.status == "held" for each in asked),
        "asked": len(asked),
        "failed": [_against(each) for each in against],
        "warned": [_against(each) for each in warned],
        "unasked": [_against(each) for each in last if each.status == "not-applicable" and _is_rule(each)],
    }


def _is_rule(finding: "FindingRecord") -> bool:
    """Whether a capability asks it, and not the engine itself."""
    return not finding.capability.startswith("engine::")


def report(findings: "Sequence[FindingRecord]") -> dict[str, Any]:
    """The originals' verify report, and beside it what they left out. One is clean where nothing has failed."""
    found = verdict(findings)
    bad = {each["capability"] for part in ("failed", "warned") for each in found[part]}
    held = [each.capability for each in newest(findings) if each.status == "held" and each.capability not in bad]
    return {
        "passed": list(dict.fromkeys(held)),
        "failed": found["failed"],
        "warned": found["warned"],
        "findings": [data_of(each) for each in findings],
        "tree": next((each.tree for each in findings if each.run_from == "merged" and each.tree), None),
    }


def exit_code(findings: "Iterable[FindingRecord]") -> int:
    """0 where nothing rejects; 2 violated; where nobody can say: 5 for a time that ran out, else 3."""
    against = rejecting(newest(findings))
    if not against:
        return 0
    if any(each.status == "violated" for each in against):
        return VIOLATED
    return LATE if any(_is_late(each) for each in against) else UNSAID


def line(finding: "FindingRecord") -> str:
    """One finding for people."""
    mild = ", only a warning" if finding.severity != "block" and finding.status not in FINE else ""
    reason = f": {first_line(finding.reason)}" if finding.reason else ""
    where = " in the worktree" if finding.run_from == "worktree" else ""
    return f"{finding.status:<14}  {printable(finding.capability)}{where}{mild}{reason}"


def _against(finding: "FindingRecord") -> dict[str, Any]:
    return {
        "capability": finding.capability,
        "reason": finding.reason,
        "detail": finding.detail,
        "status": finding.status,
        "run_from": finding.run_from,
    }


def _is_late(finding: "FindingRecord") -> bool:
    return finding.status == "error" and any(word in (finding.reason or "") for word in LATE_WORDS)
