"""Metadata: the files that make a folder a linked worktree, written from outside instead of by `git worktree add`.

They are for the agent's own `git status` and `git log`; what keisei does never reads them. `git worktree add` lets
nobody choose the name, runs hooks and filters, and cannot mend what was damaged.
"""

import os
import shutil
from pathlib import Path

from keisei.records.worktree import Worktree
from keisei.workspace.removal import remove


def link(worktree: Worktree, index: Path) -> None:
    """Make a folder the linked worktree that it says it is, detached on its base, whatever stood there. OSError."""
    git_dir = Path(worktree.git_dir)
    point = Path(worktree.path, ".git")
    _write(point, f"gitdir: {git_dir}\n")
    # First its pointer back: somebody's `git worktree prune` removes metadata that point at nothing.
    git_dir.mkdir(parents=True, exist_ok=True)
    _write(git_dir / "gitdir", f"{point}\n")
    _write(git_dir / "commondir", "../..\n")
    _write(git_dir / "HEAD", f"{worktree.base}\n")
    _copy(index, git_dir / "index")
    for each in git_dir.iterdir():
        if each.name not in {"gitdir", "commondir", "HEAD", "index"}:
            remove(each)


def unlink(worktree_git_dir: Path) -> None:
    """Remove the metadata of a worktree. Raises WorldFault."""
    remove(worktree_git_dir)


def is_linked(worktree: Worktree) -> bool:
    """The folder and the metadata point at each other and at the base."""
    git_dir = Path(worktree.git_dir)
    point = Path(worktree.path, ".git")
    wanted = {
        point: f"gitdir: {git_dir}\n",
        git_dir / "gitdir": f"{point}\n",
        git_dir / "commondir": "../..\n",
        git_dir / "HEAD": f"{worktree.base}\n",
    }
    try:
        return all(not each.is_symlink() and each.read_bytes() == os.fsencode(text) for each, text in wanted.items())
    except OSError:
        return False


def _write(path: Path, text: str) -> None:
    if path.is_symlink() or not path.is_file() or path.read_bytes() != os.fsencode(text):
        remove(path)
        path.write_bytes(os.fsencode(text))


def _copy(source: Path, target: Path) -> None:
    """Copy an index with its time, by which git knows which entries it must look at again."""
    remove(target)
    shutil.copyfile(source, target)
    status = source.stat()
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))
