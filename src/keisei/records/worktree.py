"""Worktrees: where an attempt works, and what came of it. Internal: no schema."""

from typing import Literal

from msgspec import Struct


class RepositoryFacts(Struct, frozen=True, kw_only=True):
    """A repository as it is when an attempt begins."""

    root: str
    """The main checkout, absolute and real."""
    common_dir: str
    """Its `.git` folder, absolute and real."""
    head: str
    """The commit the project's main branch stands on: the base of attempts."""
    branch: str | None
    """That branch; None where HEAD is detached and the branch does not exist."""
    dirty: bool
    """The main checkout has changes that no commit holds; agents do not see them."""
    submodules: tuple[str, ...] = ()
    """Paths of submodules; they are empty folders in a worktree."""
    lfs: bool = False
    """Some files are Git LFS pointers; they stay pointers in a worktree."""
    sparse: bool = False
    """The main checkout is sparse; a worktree is whole."""
    shallow: bool = False
    """History is cut off."""

    def notes(self) -> tuple[str, ...]:
        """What a person should know before an agent works on it, one sentence each."""
        told = []
        if self.dirty:
            told.append("the main checkout has uncommitted changes; agents work on the last commit and do not see them")
        if self.submodules:
            told.append(f"submodules are empty folders in a worktree: {', '.join(self.submodules[:5])}")
        if self.lfs:
            told.append("Git LFS files are pointers in a worktree; their content is not fetched")
        if self.sparse:
            told.append("the main checkout is sparse; a worktree holds every file")
        return tuple(told)


class Worktree(Struct, frozen=True, kw_only=True):
    """One worktree that an attempt has for itself."""

    slot: str
    """Its name in the pool: one letter and three digits, so that all paths of a pool have the same length."""
    path: str
    """Where it is, absolute and real."""
    git_dir: str
    """Its metadata: `<common_dir>/worktrees/<name>`."""
    common_dir: str
    """The repository's `.git` folder."""
    base: str
    """The commit it stands on, detached."""


class Change(Struct, frozen=True, kw_only=True):
    """One path that differs from the base."""

    path: str
    """Relative to the root; bytes that are not UTF-8 are escaped with backslashes."""
    status: Literal["added", "modified", "deleted", "type-changed"]
    """What became of it. A rename is a deletion and an addition."""
    mode: str
    """The new mode, octal: 100644, 100755, 120000 (a link), 160000 (a submodule); 000000 where it is gone."""
    old_mode: str
    """The mode on the base; 000000 where it was not there."""
    blob: str = ""
    """The new content's object; zeros where it is gone, empty where nobody looked."""
    old_blob: str = ""
    """The content's object on the base; zeros where it was not there."""


class Staged(Struct, frozen=True, kw_only=True):
    """Everything an attempt did to its worktree, as a commit whose only parent is the base."""

    ref: str
    """Where it is kept: `refs/keisei/candidate/<attempt>` or `refs/keisei/salvage/<attempt>`."""
    commit: str
    """The commit."""
    tree: str
    """Its tree."""
    base: str
    """Its parent."""
    changes: tuple[Change, ...]
    """Tracked and untracked files, modes, links, deletions; sorted by path. Empty where nothing changed."""
    ignored: tuple[str, ...] = ()
    """Ignored files and folders that are there and never land; at most a thousand."""
    notes: tuple[str, ...] = ()
    """What a person should know of it, for example a repository inside the worktree."""


class Fingerprint(Struct, frozen=True, kw_only=True):
    """What must not change while an agent works: digests by name."""

    metadata: dict[str, str]
    """Of the worktree: its `.git` file, HEAD, index, config.worktree, commondir, gitdir and whatever else is there."""
    shared: dict[str, str]
    """Of the repository: config, every file of hooks/, info/attributes, info/exclude, objects/info/alternates."""
    refs: dict[str, str]
    """Every ref outside refs/keisei/ and HEAD of the main checkout, with its commit."""
