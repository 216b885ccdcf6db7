"""Landings: whether a candidate may land, and how a landing moves. One function owns the decision: `decide`. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.finding import FindingRecord
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.verification import RunFrom
from keisei.rules.claim import cut

Decision = Literal["merge", "hold", "respawn", "rollback"]
REASON: Final = 200
"""Characters of a reason."""
FINE: Final = ("held", "not-applicable")
NOBODY_ASKED: Final = "a person decides: `[landing] auto` is off"
MOVES: Final[dict[LandingStatus, frozenset[LandingStatus]]] = {
    "held": frozenset({"queued", "rejected"}),
    "queued": frozenset({"landing", "held", "rejected"}),
    "landing": frozenset({"landing", "queued", "held", "landed", "rejected"}),
    "landed": frozenset({"reverted"}),
    "rejected": frozenset(),
    "reverted": frozenset(),
}


class Grounds(Struct, frozen=True, kw_only=True):
    """Everything the decision is made from."""

    tree: str | None
    """The tree that would land; None where main and the candidate conflict."""
    asked: tuple[tuple[str, RunFrom], ...]
    """Every predicate that must have answered, with where it was asked."""
    findings: tuple[FindingRecord, ...]
    """What they answered; what was said of another tree does not count."""
    conflicts: tuple[str, ...] = ()
    """Paths in which main and the candidate conflict."""
    auto: bool = False
    """The project merges without asking."""
    approved: bool = False
    """A person has said that it may land."""
    accepted: tuple[tuple[str, RunFrom], ...] = ()
    """Predicates whose doubt that person could see."""
    waits: str | None = None
    """Why a person looks at it first, whatever the project says; None where nobody has to."""
    again: bool = False
    """Whether another try is to be made of what is rejected."""


class Ruling(Struct, frozen=True, kw_only=True):
    """What is to be done with a candidate."""

    decision: Decision
    """Merge it, hold it for a person, reject it and try again, or reject it and leave main as it is."""
    reason: str
    """Why, in a line."""


def rejecting(findings: Iterable[FindingRecord]) -> list[FindingRecord]:
    """Findings that reject: of severity block, and neither held nor without an object."""
    return [each for each in findings if each.severity == "block" and each.status not in FINE]


def spoken(grounds: Grounds) -> list[FindingRecord]:
    """What was said of the tree that would land: of a predicate that was asked again, only the last word."""
    about = [each for each in grounds.findings if each.run_from == "worktree" or each.tree == grounds.tree]
    return list({(each.capability, each.run_from): each for each in about}.values())


def decide(grounds: Grounds) -> Ruling:
    """What becomes of a candidate. `merge` only for a tree of which every predicate has said that it may.

    No verdict for the tree, no merge: whoever has approved it, and whatever the project says.
    """
    if grounds.tree is None:
        told = f"it conflicts with main in {', '.join(grounds.conflicts) or 'a way nobody can tell'}"
        return _rejected(grounds, told)
    said = spoken(grounds)
    against = rejecting(said)
    if against:
        return _rejected(grounds, "; ".join(f"{each.capability} is {each.status}: {each.reason}" for each in against))
    answered = {(each.capability, each.run_from) for each in said}
    missing = [name for name, run_from in grounds.asked if (name, run_from) not in answered]
    if missing:
        return _ruled("hold", f"there is no verdict of {', '.join(missing)} for the tree that would land")
    seen = grounds.accepted if grounds.approved else ()
    doubted = [each for each in said if each.status not in FINE and (each.capability, each.run_from) not in seen]
    if doubted:
        return _ruled("hold", f"{doubted[0].capability} is {doubted[0].status}: {doubted[0].reason}")
    if grounds.approved:
        return _ruled("merge", "a person has approved it")
    if grounds.waits is not None:
        return _ruled("hold", grounds.waits)
    if not grounds.auto:
        return _ruled("hold", NOBODY_ASKED)
    return _ruled("merge", "every predicate holds")


def _rejected(grounds: Grounds, reason: str) -> Ruling:
    return _ruled("respawn" if grounds.again else "rollback", reason)


def _ruled(decision: Decision, reason: str) -> Ruling:
    return Ruling(decision=decision, reason=cut(" ".join(reason.split()), REASON))


def moved(landing: LandingRecord, status: LandingStatus, now: datetime, **changes: object) -> LandingRecord:
    """The landing after a move. Raises IllegalMove for a move that there is not."""
    if status not in MOVES[landing.status]:
        message = f"landing {landing.landing_id} is {landing.status}: it cannot become {status}"
        raise IllegalMove(message)
    return replace(landing, status=status, updated_at=max(now, landing.created_at), **changes)
