"""References of ours in `refs/keisei/`: the work of attempts (`candidate`, `salvage`) and what landed (`landing`)."""

import re
from datetime import UTC, datetime
from typing import Final, Literal

from msgspec import Struct

from keisei.records.error import IllegalMove, WorldFault
from keisei.workspace.git import asked, shared

Work = Literal["candidate", "salvage"]
Kind = Literal["candidate", "salvage", "landing"]
ROOT: Final = "refs/keisei/"
NOTES: Final = "refs/notes/keisei"
"""Attestations of landed commits, where git looks for notes."""
ATTEMPT: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_-]|\.(?!\.|lock$|$)){0,199}")


class Kept(Struct, frozen=True, kw_only=True):
    """One reference of ours."""

    ref: str
    """Its whole name."""
    attempt: str
    """The attempt whose work it keeps, or the landing."""
    commit: str
    """What it stands on."""
    tree: str
    """The tree of that."""
    parents: tuple[str, ...]
    """What that was made from."""
    committed_at: datetime
    """When that was made."""


def name_of(kind: Kind, attempt_id: str) -> str:
    """The name of an attempt's or a landing's reference. Raises IllegalMove for a name that could lead elsewhere."""
    if ATTEMPT.fullmatch(attempt_id) is None:
        raise IllegalMove(f"`{attempt_id[:80]}` is not the name of an attempt or a landing")
    return f"{ROOT}{kind}/{attempt_id}"


def refs(common_dir: str, kind: Kind) -> list[Kept]:
    """Every reference of a kind, oldest first. Raises WorldFault."""
    return sorted(_listed(common_dir, f"{ROOT}{kind}/"), key=lambda each: (each.committed_at, each.ref))


def find_ref(common_dir: str, kind: Kind, attempt_id: str) -> Kept | None:
    """The reference of one attempt; None where there is none. Raises WorldFault."""
    return next(iter(_listed(common_dir, name_of(kind, attempt_id))), None)


def set_ref(common_dir: str, ref: str, commit: str, old: Kept | None) -> None:
    """Have a reference stand on a commit, for good, if it still stands where it was seen. Raises WorldFault."""
    before = old.commit if old is not None else "0" * len(commit)
    shared(common_dir, "update-ref", "--no-deref", ref, commit, before)


def drop_ref(common_dir: str, kept: Kept) -> bool:
    """Remove one; False where it stands elsewhere by now or is gone. Raises WorldFault where git does not say which."""
    words = ("update-ref", "--no-deref", "-d", kept.ref, kept.commit)
    if asked(words, {"GIT_DIR": common_dir}, common_dir).code == 0:
        return True
    if any(each.commit == kept.commit for each in _listed(common_dir, kept.ref)):
        raise WorldFault(f"`{kept.ref}` cannot be removed", "look at the repository's permissions", retryable=True)
    return False


def _listed(common_dir: str, pattern: str) -> list[Kept]:
    form = "%(refname) %(objectname) %(tree) %(committerdate:unix) %(parent)"
    found = shared(common_dir, "for-each-ref", f"--format={form}", pattern).decode("utf-8", "surrogateescape")
    return [kept for line in found.splitlines() if (kept := _read(line.split(" "))) is not None]


def _read(parts: list[str]) -> Kept | None:
    """A line; None for a reference that does not stand on a commit, which is not one of ours."""
    ref, commit, tree, unix, *parents = parts
    if not unix.isdigit():
        return None
    return Kept(
        ref=ref,
        attempt=ref.rpartition("/")[2],
        commit=commit,
        tree=tree,
        parents=tuple(filter(None, parents)),
        committed_at=datetime.fromtimestamp(int(unix), UTC),
    )
