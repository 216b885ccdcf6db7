"""Staging: everything an attempt did to its worktree becomes one commit under a reference of ours.

Nothing of it is believed: neither the worktree's index with its flags, nor its attributes and filters, nor what it
says it is. Bytes are taken as they are (see `git`). What the worktree ignores now, by a `.gitignore` that the agent may
have written, is listed and not kept.
"""

import os
import shutil
from pathlib import Path
from typing import Final, Literal

from keisei.records.error import WorldFault
from keisei.records.worktree import Change, Staged, Worktree
from keisei.workspace.blob import LARGEST, Blobs
from keisei.workspace.checkout import read_index
from keisei.workspace.git import Private, asked, checked
from keisei.workspace.name import spelled
from keisei.workspace.ref import Work, find_ref, name_of, set_ref
from keisei.workspace.survey import Survey, survey

Status = Literal["added", "modified", "deleted", "type-changed"]
MOST_IGNORED: Final = 1000
MOST_NOTES: Final = 100
MOST_PATCH: Final = 16_777_216
WORDS: Final[dict[str, Status]] = {"A": "added", "M": "modified", "D": "deleted", "T": "type-changed"}
DIFF: Final = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none")


def stage(
    worktree: Worktree, attempt_id: str, kind: Work, largest: int = LARGEST, private: Path | None = None
) -> Staged:
    """Keep everything that differs from the base as `refs/keisei/<kind>/<attempt>`, for good before this returns.

    Said again for the same content it gives the same commit; for other content the reference moves. The worktree, its
    index and its references are left as they are. `private` is where a git folder of ours may stand, outside of the
    worktree; without it that is beside the worktree. Raises WorldFault; then nothing counts and it may be said again.
    """
    ref = name_of(kind, attempt_id)
    folder = private or Path(f"{worktree.path}.git")
    ours = Private(folder, worktree.path, worktree.common_dir, worktree.base, ours=private is None)
    index = ours.folder / "stage"
    try:
        _begin(ours, index)
        found = survey(ours, index, kind)
        blobs = _written(ours, index, found, largest)
        tree = ours.git("write-tree", index=index).decode("ascii").strip()
    finally:
        index.unlink(missing_ok=True)
    return Staged(
        ref=ref,
        commit=_committed(ours, tree, kind, attempt_id),
        tree=tree,
        base=worktree.base,
        changes=changes_of(ours.git(*DIFF, "--raw", "--no-abbrev", "-z", ours.head, tree)),
        ignored=tuple(spelled(path) for path in found.ignored[:MOST_IGNORED]),
        notes=_shortened([*found.notes, *blobs.notes]),
    )


def patch(staged: Staged, worktree: Worktree, most: int = MOST_PATCH) -> bytes:
    """What was staged as a binary diff against its base, cut after so many bytes with a line that says it."""
    words = (*DIFF, "-p", "--binary", "--full-index", staged.base, staged.commit)
    done = asked(words, {"GIT_DIR": worktree.common_dir}, worktree.common_dir, most=most)
    if done.cut:
        return done.out + f"\n# cut after {most} bytes; the whole is in commit {staged.commit}\n".encode()
    return checked(words, done)


def changes_of(raw: bytes) -> tuple[Change, ...]:
    """What `diff-tree --raw --no-abbrev -z` told, sorted by path."""
    told = raw.split(b"\0")[:-1]
    changes = [_change(facts, path) for facts, path in zip(told[::2], told[1::2], strict=True)]
    return tuple(sorted(changes, key=lambda change: change.path))


def _begin(private: Private, index: Path) -> None:
    """An index that holds the base, with what is known of files that were not touched since."""
    try:
        shutil.copyfile(private.index, index)
        status = private.index.stat()
        os.utime(index, ns=(status.st_atime_ns, status.st_mtime_ns))
    except FileNotFoundError:
        pass
    except OSError as error:
        raise WorldFault(f"`{index}` cannot be written: {error.strerror or error}", retryable=True) from error
    read_index(private, index)


def _written(private: Private, index: Path, found: Survey, largest: int) -> Blobs:
    blobs = Blobs(private, largest)
    for path in found.gone:
        blobs.forget(path)
    if found.changed:
        blobs.write(found.changed)
    if blobs.lines:
        # What goes goes first: a file may stand where a folder was.
        blobs.lines.sort(key=lambda line: not line.startswith(b"0 "))
        private.git("update-index", "-z", "--index-info", index=index, given=blobs.lines)
    return blobs


def _committed(private: Private, tree: str, kind: Work, attempt_id: str) -> str:
    """The commit the reference stands on now: the one from before where it holds the same."""
    old = find_ref(private.common_dir, kind, attempt_id)
    if old is not None and (old.tree, old.parents) == (tree, (private.head,)):
        return old.commit
    message = f"keisei: {kind} of attempt {attempt_id}\n".encode()
    commit = private.git("commit-tree", tree, "-p", private.head, given=[message]).decode("ascii").strip()
    set_ref(private.common_dir, name_of(kind, attempt_id), commit, old)
    return commit


def _change(facts: bytes, path: bytes) -> Change:
    old_mode, mode, old_blob, blob, status = facts.decode("ascii").lstrip(":").split(" ")
    return Change(path=spelled(path), status=WORDS[status], mode=mode, old_mode=old_mode, blob=blob, old_blob=old_blob)


def _shortened(notes: list[str]) -> tuple[str, ...]:
    more = len(notes) - MOST_NOTES
    return (*notes[:MOST_NOTES], f"and {more} more") if more > 0 else tuple(notes)
