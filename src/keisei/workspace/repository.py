"""The repository around a folder: which commit it stands on, what is uncommitted, whether attempts can work on it."""

import os
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from keisei.records.bundle import BundleWorkspace
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.worktree import RepositoryFacts
from keisei.workspace.git import FILTER_KEYS, QUIET, SWITCHED_OFF, asked, program, shared
from keisei.workspace.name import spelled
from keisei.workspace.pump import pumped

PATIENCE_S: Final = 20.0
OLDEST: Final = (2, 38)
"""The first git whose `merge-tree` writes a tree."""
HASHES: Final = (40, 64)
STATUS: Final = ("status", "--porcelain", "--untracked-files=normal", "--ignore-submodules=all")
FILTER: Final = re.compile(rf"filter\.(?s:.+)\.(?:{'|'.join(FILTER_KEYS)})", re.IGNORECASE)
LFS: Final = re.compile(rb"filter=lfs\b")
SUBMODULE: Final = b"160000"
TRUE: Final = ("true", "yes", "on", "1")
MOST_LINE: Final = 10_000


def base_of(folder: Path) -> BundleWorkspace | None:
    """The repository around a folder as it is now; None where there is none, no commit, or no git. Never raises."""
    try:
        commit = _said(folder, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        if commit is None or len(commit) not in HASHES:
            return None
        return BundleWorkspace(commit=commit, dirty=_is_dirty(folder, _settings(folder)))
    except (KeiseiError, OSError):
        return None


def facts(root: Path, main: str, *, looks: bool = True) -> RepositoryFacts:
    """The repository around a project's folder, and the commit its main branch stands on, or HEAD's where it has none.

    Without `looks` nobody looks at the checkout: whether it is dirty or sparse is not found out, and told as not.

    Raises OperatorError with the next step where attempts cannot work on it: git is missing or too old, there is no
    repository, no commit, no checkout, or no branch. Uncommitted changes, submodules, Git LFS, a sparse or shallow
    checkout are facts. WorldFault where git itself fails.
    """
    _check_version(program()[0])
    top, common, shallow = _places(root)
    branch, head = _main(top, common, main)
    modules, lfs = _content(common, head)
    settings = _settings(Path(top)) if looks else {}
    return RepositoryFacts(
        root=top,
        common_dir=common,
        head=head,
        branch=branch,
        dirty=looks and _is_dirty(Path(top), settings),
        submodules=modules,
        lfs=lfs,
        sparse=settings.get("core.sparsecheckout", "").lower() in TRUE,
        shallow=shallow,
    )


@cache
def _check_version(git: str) -> None:
    told = pumped([git, "--version"], QUIET, "/", patience_s=PATIENCE_S, most=MOST_LINE).out.decode("utf-8", "replace")
    found = re.search(r"(\d+)\.(\d+)", told)
    if found is None:
        raise OperatorError(f"`{git}` does not say its version", "install git 2.38 or newer")
    if (int(found[1]), int(found[2])) < OLDEST:
        raise OperatorError(f"git is too old: {told.strip()}", "install git 2.38 or newer")


def _places(root: Path) -> tuple[str, str, bool]:
    """The checkout and the git folder that all its worktrees share, both real, and whether history is cut off."""
    if not root.is_dir():
        raise OperatorError(f"`{root}` is not a folder", "name the folder of the project")
    words = ("--is-inside-work-tree", "--is-shallow-repository", "--git-common-dir", "--show-toplevel")
    told = (_said(root, "rev-parse", "--path-format=absolute", *words) or "").split("\n")
    if len(told) == len(words) and told[0] == "true":
        return os.path.realpath(told[3]), os.path.realpath(told[2]), told[1] == "true"
    if len(told) > len(words):
        raise OperatorError(f"the path of `{root}` holds a line break", "move the repository")
    if _said(root, "rev-parse", "--git-dir") is None:
        raise OperatorError(f"`{root}` is not in a git repository", "`git init` and a first commit make it one")
    raise OperatorError(f"`{root}` is in a bare repository", "run keisei in a checkout of it (`git clone`)")


def _main(top: str, common: str, main: str) -> tuple[str, str]:
    """The branch attempts start from, and its commit."""
    commit = _tip(common, main)
    if commit is not None:
        return main, commit
    named = (_said(Path(top), "symbolic-ref", "--quiet", "HEAD") or "").removeprefix("refs/heads/")
    commit = _tip(common, named)
    if commit is not None:
        return named, commit
    if _said(Path(top), "rev-parse", "--verify", "--quiet", "HEAD^{commit}") is None:
        raise OperatorError(f"`{top}` has no commit yet", "commit something: attempts start from a commit")
    hint = f"`git branch {main}` makes it; or name another one with `[project] main` in keisei.toml"
    raise OperatorError(f"there is no branch `{main}`, and HEAD is detached", hint)


def _tip(common: str, branch: str) -> str | None:
    """The commit of a branch by its exact name; None where there is none."""
    words = ("show-ref", "--verify", "--hash", f"refs/heads/{branch}")
    done = asked(words, {"GIT_DIR": common}, common, patience_s=PATIENCE_S)
    commit = done.out.decode("ascii", "replace").strip()
    return commit if done.code == 0 and len(commit) in HASHES else None


@lru_cache(maxsize=16)
def _content(common: str, head: str) -> tuple[tuple[str, ...], bool]:
    """Paths of submodules, and whether any attributes of the commit send files to Git LFS. A commit never changes."""
    modules: list[str] = []
    attributes: list[bytes] = []
    for line in shared(common, "ls-tree", "-r", "-z", "--full-tree", head).split(b"\0")[:-1]:
        described, path = line.split(b"\t", 1)
        if described.startswith(SUBMODULE):
            modules.append(spelled(path))
        elif path.rpartition(b"/")[2] == b".gitattributes":
            attributes.append(described.split(b" ")[2])
    return tuple(modules), bool(attributes) and _any_lfs(common, attributes)


def _any_lfs(common: str, blobs: list[bytes]) -> bool:
    return LFS.search(shared(common, "cat-file", "--batch", given=(blob + b"\n" for blob in blobs))) is not None


def _is_dirty(folder: Path, settings: Mapping[str, str]) -> bool:
    """Whether anything is uncommitted; also where that cannot be found out.

    Filters by which the repository would run a program on a file that is looked at are emptied.
    """
    emptied = {name: "" for name in settings if FILTER.fullmatch(name)}
    done = asked(STATUS, {}, str(folder), config={**SWITCHED_OFF, **emptied}, patience_s=PATIENCE_S)
    return done.code != 0 or bool(done.out.strip())


def _settings(folder: Path) -> dict[str, str]:
    """Settings of the repository with their last values."""
    listed = asked(("config", "--list", "-z"), {}, str(folder), config={}, patience_s=PATIENCE_S).out
    pairs = (line.partition("\n") for line in listed.decode("utf-8", "surrogateescape").split("\0")[:-1])
    return {name: value if is_set else "true" for name, is_set, value in pairs}


def _said(folder: Path, *words: str) -> str | None:
    """What git says in a folder; None where it fails. Raises OperatorError or WorldFault."""
    done = asked(words, {}, str(folder), patience_s=PATIENCE_S)
    return os.fsdecode(done.out.removesuffix(b"\n")) if done.code == 0 else None
