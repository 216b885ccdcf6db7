"""The reference `refs/keisei/checkpoints`: a chain of commits, each with one file, a signed checkpoint of a ledger.

It goes wherever the repository is pushed to, if somebody pushes it. The name is ours; what others make of it is never
followed: neither another reference that it is only a name for, nor content that is no checkpoint.
"""

import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Final

from keisei.records.error import WorldFault
from keisei.workspace.forward import WHO
from keisei.workspace.git import asked, checked, complaint, shared

REF: Final = "refs/keisei/checkpoints"
FILE: Final = "checkpoint"
LARGEST: Final = 65_536
"""Bytes of a checkpoint, or of a commit or a tree around it, that are still read."""
MOST: Final = 32
"""Commits that are looked back on. Projects of one repository share the chain, each with checkpoints of its own."""
FILE_MODE: Final = b"100644 blob"


def common_dir_of(folder: Path) -> str | None:
    """The git folder that all checkouts of a repository share; None outside of every repository. Raises KeiseiError."""
    done = asked(("rev-parse", "--path-format=absolute", "--git-common-dir"), {}, str(folder))
    return os.path.realpath(os.fsdecode(done.out.removesuffix(b"\n"))) if done.code == 0 else None


def tip_of(common_dir: str) -> str | None:
    """The object the reference stands on; None where it is not there. Raises KeiseiError."""
    done = asked(("show-ref", "--verify", "--hash", REF), {"GIT_DIR": common_dir}, common_dir)
    return done.out.decode("ascii", "replace").strip() or None if done.code == 0 else None


def unlink(common_dir: str) -> str | None:
    """Have the reference be no name of another one any more; which one that was. Raises KeiseiError."""
    done = asked(("symbolic-ref", "--quiet", REF), {"GIT_DIR": common_dir}, common_dir)
    if done.code != 0:
        return None
    shared(common_dir, "symbolic-ref", "--delete", REF)
    return done.out.decode("utf-8", "backslashreplace").strip()


def notes(common_dir: str, tip: str) -> Iterator[str]:
    """What the newest commits of a chain say, newest first, as long as each has that one file. Raises KeiseiError."""
    surroundings = {"GIT_DIR": common_dir}
    if asked(("cat-file", "commit", tip), surroundings, common_dir, most=LARGEST).code != 0:
        return
    words = ("rev-list", "--first-parent", f"--max-count={MOST}", "--format=%T", "--no-commit-header", tip)
    listed = asked(words, surroundings, common_dir, most=LARGEST)
    for tree in listed.out.split() if listed.code == 0 else []:
        note = _note(common_dir, tree.decode("ascii"))
        if note is None:
            return
        yield note


def put(common_dir: str, note: str, when: datetime, seen: str | None, *, follows: bool) -> bool:
    """A commit with the note, and the reference on it; the commit follows the one that was seen, or begins a chain.

    False where the reference stands elsewhere than was seen: it was not moved. Raises KeiseiError.
    """
    blob = shared(common_dir, "hash-object", "-w", "--stdin", given=[note.encode()]).strip()
    entry = FILE_MODE + b" " + blob + b"\t" + FILE.encode() + b"\0"
    tree = shared(common_dir, "mktree", "-z", given=[entry]).decode("ascii").strip()
    commit = _commit(common_dir, tree, when, seen if follows else None)
    words = ("update-ref", "--no-deref", REF, commit, seen or "0" * len(commit))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir)
    if done.code != 0 and tip_of(common_dir) == seen:  # nobody else has moved it
        raise WorldFault(f"`{REF}` cannot be moved: {complaint(done)}", retryable=True)
    return done.code == 0


def _commit(common_dir: str, tree: str, when: datetime, parent: str | None) -> str:
    date = f"@{int(when.timestamp())} +0000"
    surroundings = {**WHO, "GIT_DIR": common_dir, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    words = ("commit-tree", tree, *(() if parent is None else ("-p", parent)))
    done = asked(words, surroundings, common_dir, given=[b"A checkpoint of the ledger\n"])
    return checked(words, done).decode("ascii").strip()


def _note(common_dir: str, tree: str) -> str | None:
    """The file of a tree that has no other; None where it is something else."""
    surroundings = {"GIT_DIR": common_dir}
    listed = asked(("ls-tree", "-z", tree), surroundings, common_dir, most=LARGEST)
    described, _, name = listed.out.removesuffix(b"\0").partition(b"\t")
    mode, _, blob = described.rpartition(b" ")
    if listed.code != 0 or name != FILE.encode() or mode != FILE_MODE:
        return None
    done = asked(("cat-file", "blob", blob.decode("ascii")), surroundings, common_dir, most=LARGEST)
    return done.out.decode("utf-8", "surrogateescape") if done.code == 0 and not done.cut else None
