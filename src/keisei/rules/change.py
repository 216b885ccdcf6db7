"""File changes: what is claimed against what really differs, in the working folder and among the artifacts."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from keisei.records.error import Refused
from keisei.records.snapshot import Changes, Snapshot
from keisei.rules.artifact import Change, ClaimedChange


class Spot(Struct, frozen=True, kw_only=True):
    """A folder in which a claimed change may have happened."""

    deeds: Mapping[str, Change]
    """What really happened, by path."""
    read: Callable[[str], str]
    """A claimed path relative to the folder. Raises Refused for one that leads elsewhere."""


class Matched(Struct, frozen=True, kw_only=True):
    """One claim, and what came of it."""

    spot: Spot | None = None
    """Where it happened; None where it did not."""
    path: str | None = None
    """The path that is meant, relative to the spot."""
    fault: str | None = None
    """What is wrong with the claim, in a sentence; None where it is true."""


def deeds(changes: Changes) -> dict[str, Change]:
    """A difference by path."""
    return {
        **dict.fromkeys(changes.added, "added"),
        **dict.fromkeys(changes.modified, "modified"),
        **dict.fromkeys(changes.deleted, "deleted"),
    }


def matched(claim: ClaimedChange, spots: Sequence[Spot]) -> Matched:
    """The real change that a claim means. The whole text is tried before the text without its note."""
    fault: str | None = None
    for text in dict.fromkeys((claim.said, claim.path)):
        for spot in spots:
            try:
                path = spot.read(text)
            except Refused as refusal:
                fault = fault or refusal.message
                continue
            deed = spot.deeds.get(path)
            if deed is not None:
                wrong = claim.change not in (None, deed)
                told = f"{path} was {deed}, although it is claimed as {claim.change}" if wrong else None
                return Matched(spot=spot, path=path, fault=told)
    return Matched(fault=_untrue(claim, spots, fault))


def _untrue(claim: ClaimedChange, spots: Sequence[Spot], refusal: str | None) -> str:
    """Why nothing fits: the path cannot be one at all, or nothing happened to it."""
    for spot in spots:
        try:
            return f"{spot.read(claim.path)} was not {claim.change or 'changed'}, although it is claimed"
        except Refused:
            continue
    return refusal or f"{claim.path} was not changed, although it is claimed"


def unclaimed(real: Mapping[str, Change], claimed: Iterable[str], before: Snapshot, after: Snapshot) -> list[str]:
    """Paths that really changed and that nobody claims, sorted. A folder is claimed with what is in it."""
    left = real.keys() - set(claimed)
    return sorted(path for path in left if (after.entries.get(path) or before.entries[path]).kind != "folder")
