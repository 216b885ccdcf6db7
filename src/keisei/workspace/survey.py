"""Surveys: what of a worktree differs from its base, what is ignored, what cannot be kept; asked and looked at."""

import os
import stat
from pathlib import Path
from typing import Literal, NamedTuple

from keisei.records.error import WorldFault
from keisei.workspace.checkout import content_of
from keisei.workspace.git import Private, checked
from keisei.workspace.name import is_refused, spelled
from keisei.workspace.walk import Found, walk

WORDS = (
    "status",
    "--porcelain=v1",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignored=matching",
    "--ignore-submodules=all",
)
WHY = {
    "other": "is a pipe, a socket or a device, and is left out",
    "closed": "cannot be opened, and what is in it stays as it was",
    "deep": "lies too deep in folders, and is left out",
    "refused": "has a name that git refuses, and is left out",
}


class Survey(NamedTuple):
    """What is to be staged."""

    changed: list[bytes]
    """Paths whose content is to be taken as it is; one where nothing stands any more is a deletion."""
    gone: list[bytes]
    """Submodules that are no longer there as such."""
    ignored: list[bytes]
    """Ignored files and folders, the latter with a slash at the end."""
    notes: list[str]
    """What a person should know."""


class _Status(NamedTuple):
    changed: list[bytes]
    nested: list[bytes]
    ignored: list[bytes]
    faulty: bool


def survey(private: Private, index: Path, kind: Literal["candidate", "salvage"]) -> Survey:
    """Look at a worktree with an index that holds its base. Raises WorldFault.

    A repository inside the worktree is files like any others. What lies in a submodule's folder is left alone, because
    it may be the project's environment; a salvage keeps it, because nothing is lost.
    """
    modules = {os.fsencode(path) for path in content_of(private).modules}
    status = _status(private, index)
    found = _walked(private, status, modules if kind == "candidate" else set())
    if status.faulty:  # folders that were closed to git have been opened up
        status = _status(private, index)
    files = [each.path for each in found if each.kind in ("file", "link")]
    filled = {each for each in modules if _is_filled(private.worktree, each)}
    roots = status.nested + [each + b"/" for each in filled if kind == "salvage"]
    inner = [path for path in files if path.startswith(tuple(roots))] if roots else []
    hidden = _ignored_of(private, inner)
    odd = {each for each in modules - filled if not _is_folder(private.worktree, each)}
    gone = sorted(odd | (filled if kind == "salvage" else set()))
    changed = [each for each in status.changed if not is_refused(each)] + [each for each in inner if each not in hidden]
    notes = [f"`{spelled(each)}` is a submodule: what lies in it is left alone" for each in sorted(filled - set(gone))]
    changed += sorted(odd)
    return Survey(changed, gone, sorted(status.ignored + sorted(hidden)), notes + _notes(found))


def _status(private: Private, index: Path) -> _Status:
    done = private.ask(*WORDS, index=index)
    changed: list[bytes] = []
    nested: list[bytes] = []
    ignored: list[bytes] = []
    for line in checked(WORDS, done).split(b"\0")[:-1]:
        state, path = line[:2], line[3:]
        if state == b"!!":
            ignored.append(path)
        elif path.endswith(b"/"):
            nested.append(path)
        else:
            changed.append(path)
    return _Status(changed, nested, ignored, faulty=bool(done.complaints))


def _walked(private: Private, status: _Status, modules: set[bytes]) -> list[Found]:
    left = {each.rstrip(b"/") for each in status.ignored if each.endswith(b"/")} | modules
    try:
        return list(walk(private.worktree, left.__contains__))
    except OSError as error:
        raise WorldFault(f"`{private.worktree}` cannot be read: {error.strerror or error}", retryable=True) from error


def _ignored_of(private: Private, paths: list[bytes]) -> set[bytes]:
    """Those that are ignored, of paths that git did not look at."""
    if not paths:
        return set()
    words = ("check-ignore", "-z", "--stdin", "--no-index")
    # Not by an index that knows of submodules, and never by a word that git would take for more than a path.
    nothing = private.folder / "nothing"
    done = private.ask(*words, index=nothing, given=(b"./%s\0" % path for path in paths))
    if done.code == 1:  # none
        return set()
    return {path.removeprefix(b"./") for path in checked(words, done).split(b"\0")[:-1]}


def _notes(found: list[Found]) -> list[str]:
    notes = []
    for path, kind in sorted(found):
        folder, _, name = path.rpartition(b"/")
        if kind == "refused" and name == b".git":
            notes.append(f"`{spelled(folder)}` is a repository of its own: its files are kept, its history is not")
        elif kind in WHY:
            notes.append(f"`{spelled(path)}` {WHY[kind]}")
    return notes


def _is_folder(root: str, path: bytes) -> bool:
    try:
        return stat.S_ISDIR(Path(root, os.fsdecode(path)).lstat().st_mode)
    except OSError:
        return False


def _is_filled(root: str, path: bytes) -> bool:
    try:
        return _is_folder(root, path) and any(Path(root, os.fsdecode(path)).iterdir())
    except OSError:
        return True
