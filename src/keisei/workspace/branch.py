"""Branches: the commit one stands on, and the checkouts that have it, also while a rebase or a bisection borrows it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.workspace.git import asked, shared
from keisei.workspace.name import spelled

HEADS: Final = "refs/heads/"
OURS: Final = re.compile(r"keisei-[0-9a-f]{8}-a[0-9]{3}")
"""Worktrees of a pool: detached, and nobody's checkout whatever an agent has written there."""
COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
LARGEST: Final = 1_048_576
UNFINISHED: Final = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or a revert",
    "rebase-apply": "`git am` or a rebase",
    "rebase-merge": "a rebase",
}
"""What git leaves in its folder while a person is not done, with its name."""
NOWHERE: Final = "git does not say where its folder is; `git config core.worktree FOLDER` in it does"


class Checkout(Struct, frozen=True, kw_only=True):
    """A folder in which a branch is checked out."""

    path: str
    """The folder; bytes that are not UTF-8 are kept as Python keeps them. Empty where nobody can tell."""
    git_dir: str
    """Its own git folder."""
    busy: str | None
    """Why the branch must not move under it; None where it may."""


def tip_of(common_dir: str, branch: str) -> str | None:
    """The commit a branch stands on, by its exact name; None where there is no such branch. Raises as `asked`."""
    words = ("rev-parse", "--verify", "--quiet", f"{HEADS}{branch}^{{commit}}")
    commit = asked(words, {"GIT_DIR": common_dir}, common_dir).out.decode("ascii", "replace").strip()
    return commit if COMMIT.fullmatch(commit) else None


def aliases(common_dir: str) -> dict[str, str]:
    """Branches that are only another name of a reference, whole names both. Raises WorldFault."""
    told = shared(common_dir, "for-each-ref", "--format=%(refname)%00%(symref)", HEADS)
    pairs = (os.fsdecode(line).partition("\0") for line in told.splitlines())
    return {name: target for name, _, target in pairs if target}


def checkouts(common_dir: str, branch: str) -> list[Checkout]:
    """Every checkout that has a branch or will come back to it; worktrees of a pool never count. Raises WorldFault.

    One whose folder is gone does not count either, unless it is locked: then the folder comes back.
    """
    names = {f"{HEADS}{branch}"}
    names |= {name for name, target in aliases(common_dir).items() if target in names}
    found = (_seen(git_dir, path, names) for git_dir, path in _places(common_dir))
    return [each for each in found if each is not None]


def _places(common_dir: str) -> Iterator[tuple[Path, Path | None]]:
    """Git folders of checkouts, each with the folder it belongs to."""
    settings = _settings(common_dir)
    common = Path(common_dir)
    if settings.get("core.bare") != "true":
        at = settings.get("core.worktree")
        beside = common.parent if common.name == ".git" else None
        yield common, Path(os.path.normpath(common / at)) if at else beside
    for git_dir in sorted(common.glob("worktrees/*")):
        point = _text(git_dir / "gitdir").removesuffix("\n")
        if point and OURS.fullmatch(git_dir.name) is None:
            yield git_dir, Path(os.path.normpath(git_dir / point)).parent


def _settings(common_dir: str) -> dict[str, str]:
    words = ("config", "--null", "--get-regexp", r"^core\.(bare|worktree)$")
    told = asked(words, {"GIT_DIR": common_dir}, common_dir, config={}).out
    pairs = (os.fsdecode(line).partition("\n") for line in told.split(b"\0")[:-1])
    return {name: value if is_set else "true" for name, is_set, value in pairs}


def _seen(git_dir: Path, path: Path | None, names: set[str]) -> Checkout | None:
    busy = _borrowed(git_dir, names)
    if busy is None:
        if _head(git_dir) not in names:
            return None
        busy = next((f"{what} is not concluded" for name, what in UNFINISHED.items() if _is(git_dir / name)), None)
    if path is None:
        return Checkout(path="", git_dir=str(git_dir), busy=NOWHERE)
    if not path.is_dir():
        gone = "its folder is not there, and it is locked"
        return Checkout(path=str(path), git_dir=str(git_dir), busy=gone) if _is(git_dir / "locked") else None
    return Checkout(path=str(path), git_dir=str(git_dir), busy=busy)


def _borrowed(git_dir: Path, names: set[str]) -> str | None:
    """Who moves the branch or goes back to it when they are done, while HEAD stands elsewhere."""
    for folder in ("rebase-merge", "rebase-apply"):
        if _text(git_dir / folder / "head-name").strip() in names:
            return "a rebase of it is not concluded"
    if names & set(_text(git_dir / "rebase-merge" / "update-refs").splitlines()):
        return "a rebase that moves it too is not concluded"
    start = _text(git_dir / "BISECT_START").strip()
    return "a bisection that began on it is not concluded" if {start, f"{HEADS}{start}"} & names else None


def _head(git_dir: Path) -> str:
    """The reference HEAD stands for; empty where it is detached or broken."""
    text = _text(git_dir / "HEAD").strip()
    if COMMIT.fullmatch(text):
        return ""
    if text.startswith("ref: ") and not text.endswith("/.invalid"):
        return text.removeprefix("ref: ").strip()
    words = ("symbolic-ref", "--quiet", "HEAD")  # a link, or a format of references that this git alone can read
    return os.fsdecode(asked(words, {"GIT_DIR": str(git_dir)}, str(git_dir)).out).removesuffix("\n")


def _is(path: Path) -> bool:
    return os.path.lexists(path)


def _text(path: Path) -> str:
    """A small file of git's; empty where it is not there or is something else."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return os.fsdecode(file.read(LARGEST))
    except OSError:
        return ""


def told(checkout: Checkout) -> str:
    """A checkout in a sentence."""
    return f"`{spelled(os.fsencode(checkout.path or checkout.git_dir))}`"
