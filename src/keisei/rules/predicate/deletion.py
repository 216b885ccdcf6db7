"""Deletions: how many files are gone. A file that was moved is not gone; one that was emptied is."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from keisei.contracts.words import shown
from keisei.records.verification import Difference, Planned, Reply
from keisei.records.worktree import Change
from keisei.rules.predicate.port import Contents

EMPTY: Final = frozenset(
    {
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    }
)
"""The object of no bytes, by SHA-1 and by SHA-256."""
MOST: Final = 1_000_000_000
"""The largest limit that is taken for one."""
FILE: Final = "100"
"""How modes of files begin."""


class Limits(Struct, frozen=True, kw_only=True):
    """How many files may go."""

    most: int
    """Files altogether."""
    share: float
    """Of the files of the base."""
    floor: int
    """Up to so many the share is not asked."""


def deletions(planned: Planned, difference: Difference, _contents: Contents) -> Reply:
    """No more files of the base are gone than the parameters let go. A parameter that is no number is an error."""
    limits = _limits(planned.parameters)
    if isinstance(limits, str):
        return Reply(status="error", told=(limits,))
    gone = _gone(difference.candidate)
    excess = _excess(limits, len(gone), difference.base_files)
    named = [f"{shown(change.path)} was {_fate(change)}" for change in gone]
    if excess is None:
        return Reply(status="held", told=tuple(named))
    return Reply(status="violated", told=(excess, *named))


def _limits(parameters: Mapping[str, Any]) -> Limits | str:
    values: dict[str, float] = {}
    for name, default in (("max-deletions", 20), ("max-deletion-share", 0.2), ("share-floor", 5)):
        value = parameters.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MOST:
            return f"{name} is {shown(value)}; it must be a number from 0 to {MOST}"
        values[name] = value
    return Limits(
        most=int(values["max-deletions"]), share=values["max-deletion-share"], floor=int(values["share-floor"])
    )


def _excess(limits: Limits, count: int, base_files: int) -> str | None:
    if count > limits.most:
        return f"{count} files are gone; at most {limits.most} may be"
    if count > limits.floor and count > limits.share * base_files:
        return f"{count} of {base_files} files are gone; at most a share of {limits.share:g} may be"
    return None


def _gone(changes: Sequence[Change]) -> list[Change]:
    """What the base had and the candidate has nowhere. One new file stands for one old one, however alike they are."""
    moved = Counter((change.mode[:3], change.blob) for change in changes if change.status == "added" and change.blob)
    return list(_left(changes, moved))


def _left(changes: Sequence[Change], moved: Counter[tuple[str, str]]) -> Iterator[Change]:
    for change in changes:
        if not _is_loss(change):
            continue
        content = (change.old_mode[:3], change.old_blob)
        if moved[content] > 0:
            moved[content] -= 1
        else:
            yield change


def _is_loss(change: Change) -> bool:
    if change.status == "modified":
        return change.blob in EMPTY and change.old_blob not in EMPTY
    return change.status == "deleted" or (change.status == "type-changed" and change.old_mode.startswith(FILE))


def _fate(change: Change) -> str:
    return {"modified": "emptied", "type-changed": "replaced by what is no file"}.get(change.status, "deleted")
