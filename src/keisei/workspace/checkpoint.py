"""The reference `refs/keisei/checkpoints`: a chain of commits, each with one file, a signed checkpoint of a ledger.

It goes wherever the repository is pushed to, if somebody pushes it. The name is ours; what others make of it is never
followed: neither another reference that it is only a name for, nor content that is no checkpoint.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from keisei.records.error import WorldFault
from keisei.workspace.forward import WHO
from keisei.workspace.git import asked, checked, complaint, shared
from keisei.workspace.pump import Pumped

REF: Final = "refs/keisei/checkpoints"
FILE: Final = "checkpoint"
LARGEST: Final = 65_536
"""Bytes of a checkpoint in a file that are still read."""
LARGEST_NOTE: Final = 8192
"""Bytes of one in a commit: anybody may put many there."""
MOST: Final = 100_000
"""Commits that are looked back on. Projects of one repository share the chain, each with checkpoints of its own."""
AT_ONCE: Final = 1000
FILE_MODE: Final = b"100644 blob"


class Published(NamedTuple):
    """A commit of the chain."""

    commit: str
    """Its name."""
    note: str | None
    """Its file; None where it has none, or one that is too large to be a checkpoint."""


class History(NamedTuple):
    """What a reference stands on."""

    commits: list[Published]
    """Newest first."""
    breaks_off: bool = False
    """An object of the history is missing: there is more that nobody can read."""


def common_dir_of(folder: Path) -> str | None:
    """The git folder that all checkouts of a repository share; None outside of every repository. Raises KeiseiError."""
    done = _place(folder)
    return os.path.realpath(os.fsdecode(done.out.removesuffix(b"\n"))) if done.code == 0 else None


def damage_of(folder: Path) -> str | None:
    """Why git does not take for a repository what looks like one; None where nothing does. Raises KeiseiError."""
    seen = any(os.path.lexists(each / ".git") for each in (folder, *folder.parents))
    done = _place(folder) if seen else None
    return complaint(done) if done is not None and done.code != 0 else None


def _place(folder: Path) -> Pumped:
    return asked(("rev-parse", "--path-format=absolute", "--git-common-dir"), {}, str(folder))


def tip_of(common_dir: str) -> str | None:
    """The object the reference stands on, be it there or not; None without a reference. Raises KeiseiError."""
    told = shared(common_dir, "for-each-ref", "--format=%(objectname) %(refname)", REF)  # and those below that name
    named = (line.partition(" ") for line in told.decode("utf-8", "replace").splitlines())
    return next((name for name, _, ref in named if ref == REF), None)


def unlink(common_dir: str) -> str | None:
    """Have the reference be no name of another one any more; which one that was. Raises KeiseiError."""
    done = asked(("symbolic-ref", "--quiet", REF), {"GIT_DIR": common_dir}, common_dir)
    if done.code != 0:
        return None
    shared(common_dir, "symbolic-ref", "--delete", REF)
    return done.out.decode("utf-8", "backslashreplace").strip()


def history(common_dir: str, tip: str, most: int = MOST) -> History:
    """The newest commits of a chain, whoever made them. Raises KeiseiError.

    Sizes are asked first: what is too large is passed over, and not read.
    """
    surroundings = {"GIT_DIR": common_dir}
    words = ("rev-list", "--first-parent", f"--max-count={most}", tip)
    listed = asked(words, surroundings, common_dir)
    commits = listed.out.decode("ascii", "replace").split()
    if listed.code != 0:  # git does not tell the last one that is there, whose parent is not
        last = f"{commits[-1]}^" if commits else tip
        done = asked(("rev-parse", "--verify", "--quiet", f"{last}^{{commit}}"), surroundings, common_dir)
        commits += done.out.decode("ascii", "replace").split() if done.code == 0 else []
    notes = _notes(common_dir, commits)
    return History([Published(*each) for each in zip(commits, notes, strict=True)], listed.code != 0)


def _notes(common_dir: str, commits: Sequence[str]) -> list[str | None]:
    """The file of each commit; None where it has none of a size that is read."""
    asks = b"".join(f"{commit}:{FILE}\n".encode() for commit in commits)
    told = shared(common_dir, "cat-file", "--batch-check", "--buffer", given=[asks]) if commits else b""
    blobs = [_small(line) for line in told.splitlines()]
    texts = dict[bytes, str]()
    wanted = list(dict.fromkeys(blob for blob in blobs if blob is not None))
    for first in range(0, len(wanted), AT_ONCE):
        texts.update(_read(common_dir, wanted[first : first + AT_ONCE]))
    return [None if blob is None else texts[blob] for blob in blobs]


def _small(line: bytes) -> bytes | None:
    """The name of a blob that is small enough, of a line that says name, type and size."""
    match line.split():
        case [name, b"blob", size] if int(size) <= LARGEST_NOTE:
            return name
    return None


def _read(common_dir: str, blobs: Sequence[bytes]) -> Iterator[tuple[bytes, str]]:
    """What blobs say that are known to be there, and to be small."""
    told = shared(common_dir, "cat-file", "--batch", "--buffer", given=[b"".join(each + b"\n" for each in blobs)])
    place = 0
    for blob in blobs:
        end = told.index(b"\n", place)
        size = int(told[place:end].rpartition(b" ")[2])
        yield blob, told[end + 1 : end + 1 + size].decode("utf-8", "surrogateescape")
        place = end + size + 2


def put(common_dir: str, note: str, when: datetime, seen: str | None, parent: str | None) -> bool:
    """A commit with the note, and the reference on it; it follows a parent, or begins a chain.

    False where the reference stands elsewhere than was seen: it was not moved. Raises KeiseiError.
    """
    blob = shared(common_dir, "hash-object", "-w", "--stdin", given=[note.encode()]).strip()
    entry = FILE_MODE + b" " + blob + b"\t" + FILE.encode() + b"\0"
    tree = shared(common_dir, "mktree", "-z", given=[entry]).decode("ascii").strip()
    commit = _commit(common_dir, tree, when, parent)
    words = ("update-ref", "--no-deref", REF, commit, seen or "0" * len(commit))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir)
    if done.code != 0 and tip_of(common_dir) == seen:  # nobody else has moved it
        hint = f"look at it with `git for-each-ref {REF}` and `git fsck`"
        raise WorldFault(f"`{REF}` cannot be moved: {complaint(done)}", hint, retryable=True)
    return done.code == 0


def _commit(common_dir: str, tree: str, when: datetime, parent: str | None) -> str:
    date = f"@{int(when.timestamp())} +0000"
    surroundings = {**WHO, "GIT_DIR": common_dir, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    words = ("commit-tree", tree, *(() if parent is None else ("-p", parent)))
    done = asked(words, surroundings, common_dir, given=[b"A checkpoint of the ledger\n"])
    return checked(words, done).decode("ascii").strip()
