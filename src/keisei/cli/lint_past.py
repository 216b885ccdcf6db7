"""An earlier revision of what is checked: every page that stood there, and files as they were, read from git."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from keisei.library.atom_since import Past
from keisei.library.source import LIMIT
from keisei.records.error import OperatorError
from keisei.workspace.contents import BlobReader
from keisei.workspace.git import asked, checked

FILES = (b"100644", b"100755")


@contextmanager
def past_of(revision: str, folders: Iterable[Path]) -> Iterator[Past]:
    """The revision, for as long as it is asked. Raises OperatorError: no repository, no such revision."""
    places = [Path(os.path.realpath(folder)) for folder in folders]
    top, common = _repository(places)
    blobs = _blobs(top, _commit(top, revision))
    pages = [path for path in blobs if path.suffix == ".md" and path.parent.name == "atoms"]
    inside = tuple(path for path in pages if any(path.is_relative_to(place) for place in places))
    with BlobReader(common) as reader:

        def read(path: Path) -> bytes | None:
            return reader.read(blobs[path], LIMIT) if path in blobs else None

        yield Past(revision, inside, read)


def _repository(places: list[Path]) -> tuple[Path, str]:
    """The checkout and the git folder that hold every place."""
    found: set[tuple[Path, str]] = set()
    for place in places:
        words = ("rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
        done = asked(words, {}, str(place))
        told = os.fsdecode(done.out).split("\n")
        if done.code != 0 or len(told) != 3:  # noqa: PLR2004 - two lines and the end
            raise OperatorError(f"`{place}` is not in a git repository", "--since compares with a commit of it")
        found.add((Path(os.path.realpath(told[0])), os.path.realpath(told[1])))
    if len(found) != 1:
        raise OperatorError("what is checked does not stand in one repository", "name one folder with --root")
    return found.pop()


def _commit(top: Path, revision: str) -> str:
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    done = asked(words, {}, str(top))
    if done.code != 0 or not revision or "\0" in revision:
        shallow = asked(("rev-parse", "--is-shallow-repository"), {}, str(top)).out.strip() == b"true"
        hint = "this clone is shallow: `git fetch --unshallow`" if shallow else "name a commit, a tag or a branch"
        raise OperatorError(f"there is no revision `{revision}`", hint)
    return done.out.decode("ascii", "replace").strip()


def _blobs(top: Path, commit: str) -> dict[Path, str]:
    """Every file of the commit, by where it would stand in the checkout."""
    words = ("ls-tree", "-r", "-z", "--full-tree", commit)
    blobs: dict[Path, str] = {}
    for line in checked(words, asked(words, {}, str(top))).split(b"\0")[:-1]:
        described, path = line.split(b"\t", 1)
        mode, _, name = described.split(b" ")
        if mode in FILES:
            blobs[top / os.fsdecode(path)] = name.decode("ascii")
    return blobs


def added_in(path: Path) -> str | None:
    """The commit that added a file, the newest of several; None where none did.

    Raises OperatorError: no repository, or a clone that ends before that commit.
    """
    folder = Path(os.path.realpath(path.parent))
    try:
        top, _ = _repository([folder])
    except OperatorError as error:
        raise OperatorError(error.message, "check it where the history is") from error
    found = _log(top, "--diff-filter=A", "--format=%H %P", "--", str(folder / path.name))
    commit, *parents = found.split() or [""]
    if not parents and asked(("rev-parse", "--is-shallow-repository"), {}, str(top)).out.strip() == b"true":
        raise OperatorError("this clone is shallow", "`git fetch --unshallow`")  # its first commit adds everything
    return commit or None


def _log(top: Path, *words: str) -> str:
    line = ("--literal-pathspecs", "log", "-1", "--no-renames", "--no-show-signature", *words)
    done = asked(line, {}, str(top))
    if done.code != 0 and asked(("rev-parse", "--verify", "--quiet", "HEAD"), {}, str(top)).code == 0:
        checked(line, done)  # not just a repository without commits
    return done.out.decode("ascii", "replace").strip()
