"""Merges: three trees made one, outside of every checkout, by nothing but their contents.

Git merges in a folder of ours (see `git`): no merge driver, attribute or setting of the repository, of a person or of
an agent has a say. It is given three commits without a history, so that the base is the one that is named, also where
main was rewritten or history is cut off. Renamed files are followed; a folder that was renamed takes no new file along.
"""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.records.error import IllegalMove, WorldFault
from keisei.records.worktree import Change
from keisei.workspace.git import Private, asked, checked, shared
from keisei.workspace.name import spelled
from keisei.workspace.pump import Pumped
from keisei.workspace.stage import DIFF, changes_of

OBJECT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
OURS: Final = "tip"
THEIRS: Final = "candidate"
WHO: Final = "keisei <keisei@localhost> 0 +0000"
"""Nobody and no time: the same trees are the same commits, however often they are merged."""
SETTINGS: Final = ("-c", "merge.directoryRenames=false", "-c", "merge.renames=true", "-c", "merge.renameLimit=1000")
MOST_MESSAGES: Final = 100
CONFLICT: Final = b"CONFLICT"
ASIDE: Final = re.compile(rf"~(?:{OURS}|{THEIRS})(?:_[0-9]+)?")
"""What git puts behind the name of a file that stands where a folder does."""


class Merged(Struct, frozen=True, kw_only=True):
    """What came of a merge."""

    tree: str | None
    """The tree; None where there are conflicts."""
    conflicts: tuple[str, ...] = ()
    """Paths that a person must look at, sorted."""
    changes: tuple[Change, ...] = ()
    """From the tip to the tree, renames off, with blobs."""
    messages: tuple[str, ...] = ()
    """What git says of the conflicts, one sentence each."""


def merge(common_dir: str, scratch: Path, tip: str, candidate: str, base: str) -> Merged:
    """What the tip becomes with everything that leads from the base to the candidate. Raises WorldFault.

    `scratch` is a folder for files of the moment; any number of merges may share it. The objects of the tree are on
    disk before this returns; nothing refers to them yet.
    """
    return _merged(common_dir, scratch, ours=tip, theirs=candidate, base=base)


def unmerge(common_dir: str, scratch: Path, tip: str, before: str, after: str) -> Merged:
    """What the tip becomes without what leads from `before` to `after`. Otherwise as `merge`."""
    return _merged(common_dir, scratch, ours=tip, theirs=before, base=after)


def is_ancestor(common_dir: str, commit: str, of: str) -> bool:
    """Whether a commit is in the history of another, or the same. A commit that is not there is not. WorldFault."""
    found = ("rev-parse", "--verify", "--quiet", f"{named(commit)}^{{commit}}")
    if asked(found, {"GIT_DIR": common_dir}, common_dir).code == 1:
        return False
    words = ("merge-base", "--is-ancestor", commit, named(of))
    done = asked(words, {"GIT_DIR": common_dir}, common_dir)
    if done.code != 1:
        checked(words, done)
    return done.code == 0


def tree_of(common_dir: str, commit: str) -> str:
    """The tree of a commit. Raises WorldFault where it is not there."""
    words = ("rev-parse", "--verify", f"{named(commit)}^{{tree}}")
    return shared(common_dir, *words).decode("ascii").strip()


def changes_between(common_dir: str, old: str, new: str) -> tuple[Change, ...]:
    """What differs between two commits or trees, renames off, sorted by path. Raises WorldFault."""
    return changes_of(shared(common_dir, *DIFF, "--raw", "--no-abbrev", "-z", named(old), named(new)))


def count_files(common_dir: str, commit: str) -> int:
    """How many files a commit or a tree has, links and submodules counted. Raises WorldFault."""
    return shared(common_dir, "ls-tree", "-r", "-z", "--name-only", "--full-tree", named(commit)).count(b"\0")


def named(text: str) -> str:
    """The whole name of an object. Raises IllegalMove for anything that git could take for something else."""
    if OBJECT.fullmatch(text) is None:
        raise IllegalMove(f"`{text[:80]}` is not the name of a git object")
    return text


def _merged(common_dir: str, scratch: Path, *, ours: str, theirs: str, base: str) -> Merged:
    with _private(common_dir, scratch, named(ours)) as private:
        words = [f"{named(each)}^{{tree}}" for each in (base, ours, theirs)]
        root_tree, *trees = private.git("rev-parse", *words).decode("ascii").split()
        root = _commit(private, root_tree)
        for label, tree in zip((OURS, THEIRS), trees, strict=True):
            # As references, because git puts into its sentences what it was told.
            (private.folder / "refs" / label).write_text(f"{_commit(private, tree, root)}\n", "ascii")
        done = private.ask(*SETTINGS, "merge-tree", "--write-tree", "-z", OURS, THEIRS)
    return _read(common_dir, ours, done)


@contextmanager
def _private(common_dir: str, scratch: Path, head: str) -> Iterator[Private]:
    """A git folder of ours with an empty worktree, for one merge."""
    try:
        scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="merge-", dir=scratch) as folder:
            empty = Path(folder, "empty")
            empty.mkdir()
            yield Private(Path(folder, "git"), str(empty), common_dir, head)
    except OSError as error:
        raise WorldFault(f"`{scratch}` cannot be used: {error.strerror or error}", retryable=True) from error


def _commit(private: Private, tree: str, *parents: str) -> str:
    """A commit of a tree that says nothing else."""
    lines = [f"tree {tree}", *(f"parent {each}" for each in parents), f"author {WHO}", f"committer {WHO}", "", "merge"]
    body = "".join(f"{line}\n" for line in lines).encode("ascii")
    return private.git("hash-object", "-t", "commit", "-w", "--stdin", given=[body]).decode("ascii").strip()


def _read(common_dir: str, tip: str, done: Pumped) -> Merged:
    if done.code != 1 or done.cut:
        tree = checked(("merge-tree",), done).removesuffix(b"\0").decode("ascii")
        return Merged(tree=tree, changes=changes_between(common_dir, tip, tree))
    facts, _, told = done.out.partition(b"\0\0")
    staged = [line.partition(b"\t")[2] for line in facts.split(b"\0")[1:]]
    paths, messages = _conflicts(told.split(b"\0"))
    return Merged(tree=None, conflicts=_sorted({*staged, *paths}), messages=tuple(messages[:MOST_MESSAGES]))


def _conflicts(parts: list[bytes]) -> tuple[list[bytes], list[str]]:
    """The paths and sentences of conflicts, of records that begin with a count: paths, a kind, a sentence."""
    paths: list[bytes] = []
    messages: list[str] = []
    while parts and parts[0].isdigit():
        count = int(parts[0])
        kind, sentence = parts[1 + count : 3 + count]
        if kind.startswith(CONFLICT):
            paths += parts[1 : 1 + count]
            messages.append(" ".join(sentence.decode("utf-8", "backslashreplace").split()))
        parts = parts[3 + count :]
    return paths, messages


def _sorted(paths: set[bytes]) -> tuple[str, ...]:
    """Names that are in one of the trees: those that git made up go where the file itself is told."""
    names = {spelled(path) for path in paths}
    made_up = {name for name in names if (ends := ASIDE.search(name)) and name[: ends.start()] in names}
    return tuple(sorted(names - made_up))
