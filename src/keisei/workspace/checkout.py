"""Checkouts: a folder that holds exactly what a commit holds, made so and proved so from outside.

What stands in the folder was written by an agent. It is compared with the commit name by name, because git does not
see everything that is there: `clean -ffdx` and `status --ignored` pass over pipes, sockets, anything called `.git` in a
subfolder, and what lies in a submodule's folder.
"""

import os
import stat
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import WorldFault
from keisei.workspace.git import Private
from keisei.workspace.removal import remove_name
from keisei.workspace.walk import FOLDER, HANDLE, ROOT_LINK

MODULE: Final = 0o160000
MODES: Final = {0o100644: 0o100644, 0o100755: 0o100755, 0o120000: 0o120777, MODULE: stat.S_IFDIR | 0o755}
"""Modes of a commit, and what stands in a folder for them."""
FOLDER_MODE: Final = stat.S_IFDIR | 0o755
DIFFERENT: Final = ("diff-files", "--quiet", "--ignore-submodules=all")
MOST_KNOWN: Final = 4


class Content(NamedTuple):
    """What a commit holds."""

    modes: dict[str, int]
    """Every path, folders too, with what stands in a worktree for it."""
    modules: frozenset[str]
    """Those that are submodules: empty folders."""


_known: dict[tuple[str, str], Content] = {}


def check_out(private: Private) -> None:
    """Have the worktree hold the commit that `private` stands on, and nothing else. Raises WorldFault.

    The index of `private` tells which files are as they were: their times of change cannot be set back.
    """
    try:
        _check_out(private)
    except OSError as error:
        raise WorldFault(f"`{private.worktree}` cannot be reset: {error.strerror or error}", retryable=True) from error


def _check_out(private: Private) -> None:
    content = content_of(private)
    if private.index.exists() and _is_clean(private, content):
        # Git looks again at what was written in the second of its index. That was done, at a time when HEAD was there.
        written = (private.folder / "HEAD").stat().st_mtime_ns
        os.utime(private.index, ns=(written, written))
        return
    _read_tree(private, private.index, "-u")
    for path in content.modules:
        Path(private.worktree, path).mkdir(parents=True, exist_ok=True)
    if not _is_clean(private, content):
        raise WorldFault(f"`{private.worktree}` differs from its commit after a reset", retryable=True)


def _is_clean(private: Private, content: Content) -> bool:
    """Nothing is there but the commit's names, and under them is what the commit holds; strangers are removed."""
    if sweep(private.worktree, content):
        return False
    if not all(Path(private.worktree, path).is_dir() for path in content.modules):
        return False
    # Two commands are quicker than one: of an index that knows its trees only the first is compared.
    return _holds_commit(private, private.index) and private.ask(*DIFFERENT).code == 0


def read_index(private: Private, index: Path) -> None:
    """Have an index hold the commit, with what it knows of unchanged files kept; a broken one is made anew."""
    if not _holds_commit(private, index):
        _read_tree(private, index)


def _holds_commit(private: Private, index: Path) -> bool:
    return private.ask("diff-index", "--cached", "--quiet", private.head, "--", index=index).code == 0


def _read_tree(private: Private, index: Path, *how: str) -> None:
    words = ("read-tree", "--reset", *how, private.head)
    if private.ask(*words, index=index).code == 0:
        return
    index.unlink(missing_ok=True)
    private.git(*words, index=index)


def content_of(private: Private) -> Content:
    """What the commit holds. Raises WorldFault."""
    key = (private.common_dir, private.head)
    known = _known.get(key)  # a commit never changes
    if known is None:
        known = _content(private)
        for old in list(_known)[: 1 - MOST_KNOWN]:
            _known.pop(old, None)
        _known[key] = known
    return known


def _content(private: Private) -> Content:
    modes: dict[str, int] = {}
    modules: set[str] = set()
    for line in private.git("ls-tree", "-r", "-z", "--full-tree", private.head).split(b"\0")[:-1]:
        facts, name = line.split(b"\t", 1)
        path, mode = os.fsdecode(name), int(facts[:6], 8)
        modes[path] = MODES.get(mode, MODES[0o100644])  # git has written other modes once: 100664
        if mode == MODULE:
            modules.add(path)
        while (path := path.rpartition("/")[0]) and path not in modes:
            modes[path] = FOLDER_MODE
    return Content(modes, frozenset(modules))


def sweep(root: str, content: Content) -> list[str]:
    """Remove whatever the commit does not hold, or holds as something else; the paths of what was removed."""
    removed: list[str] = []
    top = os.open(root, FOLDER)
    try:
        _sweep(top, "", content, removed)
    finally:
        os.close(top)
    return removed


def _sweep(folder: int, base: str, content: Content, removed: list[str]) -> None:
    with os.scandir(folder) as listed:
        found = [(each.name, each.stat(follow_symlinks=False)) for each in listed]
    for name, status in found:
        path = base + name
        wanted = content.modes.get(path)
        if wanted == status.st_mode and status.st_nlink == 1:  # nearly every file
            continue
        if path == ROOT_LINK:
            continue
        if wanted is None or not _belongs(folder, name, status, wanted) or not _is_empty(folder, name, path, content):
            remove_name(name, folder)
            removed.append(path)
        elif wanted == FOLDER_MODE:
            _sweep_below(folder, name, f"{path}/", content, removed)


def _sweep_below(above: int, name: str, base: str, content: Content, removed: list[str]) -> None:
    folder = os.open(name, FOLDER, dir_fd=above)
    try:
        _sweep(folder, base, content, removed)
    finally:
        os.close(folder)


def _belongs(above: int, name: str, status: os.stat_result, wanted: int) -> bool:
    """Whether what stands there is of the wanted kind; its mode is mended.

    A second name of a file (a hard link) does not belong: the file could be written from elsewhere.
    """
    if stat.S_IFMT(status.st_mode) != stat.S_IFMT(wanted):
        return False
    if status.st_nlink > 1 and not stat.S_ISDIR(wanted):
        return False
    if status.st_mode & ~stat.S_ISGID != wanted and not stat.S_ISLNK(wanted):
        _mend(above, name, stat.S_IMODE(wanted))
    return True


def _mend(above: int, name: str, mode: int) -> None:
    handle = os.open(name, HANDLE, dir_fd=above)
    try:
        os.chmod(f"/proc/self/fd/{handle}", mode)  # noqa: PTH101 - a descriptor: a name could lead elsewhere by now
    finally:
        os.close(handle)


def _is_empty(above: int, name: str, path: str, content: Content) -> bool:
    """Whether a submodule's folder is empty; anything else need not be."""
    if path not in content.modules:
        return True
    folder = os.open(name, FOLDER, dir_fd=above)
    try:
        with os.scandir(folder) as found:
            return next(found, None) is None
    finally:
        os.close(folder)
