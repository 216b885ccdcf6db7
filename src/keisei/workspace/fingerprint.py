"""Fingerprints: what must not change while an agent works, as digests that are compared afterwards."""

import hashlib
import os
import stat
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from keisei.records.worktree import Fingerprint, Worktree
from keisei.workspace.git import asked, shared
from keisei.workspace.name import spelled
from keisei.workspace.ref import NOTES, ROOT

READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
LARGEST: Final = 67_108_864
"""Bytes that are read of one file; of a larger one the size counts as well."""
MOST: Final = 2_000
"""Files of one folder that are looked at; more count as one."""
MOST_SENTENCES: Final = 50
FILES: Final = (
    "config",
    "config.worktree",
    "info/attributes",
    "info/exclude",
    "info/grafts",
    "info/sparse-checkout",
    "objects/info/alternates",
    "shallow",
)
ABSENT: Final = "absent"


def fingerprint(worktree: Worktree) -> Fingerprint:
    """What is there now. What an agent can do to it is a digest like any other; WorldFault where git fails.

    The index counts by its entries and flags, because a mere `git status` writes new times into it. The configuration
    counts by its files and by what comes of them, which tells of included files too.
    """
    git_dir, common = Path(worktree.git_dir), Path(worktree.common_dir)
    metadata = {".git": _seen(Path(worktree.path, ".git"))}
    metadata |= {name: digest for name, digest in _below(git_dir, "") if name != "index"}
    metadata["index"] = _index(worktree)
    shared_files = {name: _seen(common / name) for name in FILES}
    shared_files |= dict(_below(common / "hooks", "hooks/"))
    shared_files |= dict(_modules(common))
    shared_files["configuration"] = _configuration(worktree.common_dir)
    return Fingerprint(metadata=metadata, shared=shared_files, refs=_refs(worktree.common_dir))


def tampered(
    before: Fingerprint, after: Fingerprint, *, protected: bool, landed: Collection[str] = ()
) -> tuple[str, ...]:
    """What was changed meanwhile, one sentence each; at most fifty and one that counts the rest.

    Moved references count only where the kernel did not protect them: a person may commit while an agent works. Those
    of keisei itself never count, nor do those that stand on a commit that has landed.
    """
    told = _told("the worktree's", before.metadata, after.metadata)
    told += _told("the repository's", before.shared, after.shared)
    if not protected:
        moved = {name: before.refs.get(name, each) if each in landed else each for name, each in after.refs.items()}
        told += _told("the reference", before.refs, moved)
    more = len(told) - MOST_SENTENCES
    return (*told[:MOST_SENTENCES], f"and {more} more") if more > 0 else tuple(told)


def _told(whose: str, before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    names = sorted(before.keys() | after.keys())
    return [
        f"{whose} `{name}` {_became(before.get(name, ABSENT), after.get(name, ABSENT))}"
        for name in names
        if before.get(name, ABSENT) != after.get(name, ABSENT)
    ]


def _became(before: str, after: str) -> str:
    if before == ABSENT:
        return "was added"
    return "was removed" if after == ABSENT else "was changed"


def _below(folder: Path, base: str) -> Iterator[tuple[str, str]]:
    """Every file below a folder by its name; no link is followed."""
    found = sorted(_files(folder))
    for path in found[:MOST]:
        yield base + spelled(os.fsencode(path.relative_to(folder))), _seen(path)
    if len(found) > MOST:
        yield f"{base}more", str(len(found))


def _files(folder: Path) -> Iterator[Path]:
    if folder.is_symlink():
        yield folder
        return
    for above, folders, names in os.walk(folder):
        yield from (Path(above, name) for name in names)
        yield from (Path(above, name) for name in folders if Path(above, name).is_symlink())


def _modules(common: Path) -> Iterator[tuple[str, str]]:
    """Configuration and hooks of the repositories of submodules, which lie in the same folder."""
    for above, folders, names in os.walk(common / "modules"):
        if "HEAD" in names:
            folders[:] = [name for name in folders if name == "modules"]
            base = f"{spelled(os.fsencode(Path(above).relative_to(common)))}/"
            yield f"{base}config", _seen(Path(above, "config"))
            yield from _below(Path(above, "hooks"), f"{base}hooks/")


def _seen(path: Path) -> str:
    """Kind, mode and digest of what stands under a name."""
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return f"link:{hashlib.sha256(os.fsencode(path.readlink())).hexdigest()}"
        if not stat.S_ISREG(status.st_mode):
            return f"other:{status.st_mode:o}"
        return f"{stat.S_IMODE(status.st_mode):o}:{status.st_size}:{_digest(path)}"
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        return f"unreadable:{error.errno}"


def _digest(path: Path) -> str:
    with os.fdopen(os.open(path, READ), "rb") as file:
        return hashlib.sha256(file.read(LARGEST)).hexdigest()


def _index(worktree: Worktree) -> str:
    index = Path(worktree.git_dir, "index")
    seen = _seen(index)
    if seen == ABSENT or ":" not in seen or not seen[0].isdigit():
        return seen
    words = ("ls-files", "--stage", "-v", "-f", "-z")
    surroundings = {"GIT_DIR": worktree.common_dir, "GIT_INDEX_FILE": str(index)}
    done = asked(words, surroundings, worktree.common_dir)
    return hashlib.sha256(done.out).hexdigest() if done.code == 0 else f"broken:{seen}"


def _configuration(common_dir: str) -> str:
    words = ("config", "--file", str(Path(common_dir, "config")), "--includes", "--list", "-z")
    return hashlib.sha256(asked(words, {"GIT_DIR": common_dir}, common_dir, config={}).out).hexdigest()


def _refs(common_dir: str) -> dict[str, str]:
    """Every reference but ours, and where HEAD of the main checkout points."""
    form = "--format=%(refname) %(objectname)%(symref)"
    told = shared(common_dir, "for-each-ref", form).decode("utf-8", "backslashreplace").splitlines()
    kept = {name: value for name, value in (line.split(" ", 1) for line in told) if not name.startswith((ROOT, NOTES))}
    return kept | {"HEAD": _seen(Path(common_dir, "HEAD"))}
