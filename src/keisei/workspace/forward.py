"""Fast-forwards: a person's checkout goes to a commit that follows, as their own `git pull` would have it, or stays.

Their line endings, filters and sparse checkouts count, because it is they who read the files. Nothing else of their
settings does: no hook, no signature, no stash, no other strategy. Git looks at everything that is in the way first, but
a filter or a disk may fail it afterwards; what it had written by then is taken back.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.workspace.branch import Checkout
from keisei.workspace.git import MOST, PATIENCE_S, QUIET, SWITCHED_OFF, asked, program
from keisei.workspace.pump import Pumped, pumped
from keisei.workspace.stage import DIFF
from keisei.workspace.walk import FOLDER, reached

WHO: Final = {
    "GIT_AUTHOR_NAME": "keisei",
    "GIT_AUTHOR_EMAIL": "keisei@localhost",
    "GIT_COMMITTER_NAME": "keisei",
    "GIT_COMMITTER_EMAIL": "keisei@localhost",
}
LOGGED: Final = {key: value for key, value in SWITCHED_OFF.items() if key != "core.logAllRefUpdates"}
"""For branches of a person: their reference log tells of a landing."""
LOG: Final = "keisei land"
SETTINGS: Final = {key: value for key, value in LOGGED.items() if key != "core.attributesFile"} | {
    "core.untrackedCache": "keep",
    "merge.autoStash": "false",
    "merge.ff": "only",
    "merge.verifySignatures": "false",
    "rerere.enabled": "false",
}
SAME: Final = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ATTR_NOSYSTEM")
"""Of git's own variables, those that say where a person's settings are."""
UNASKED: Final = ("LC_ALL", "GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT", "GIT_NO_REPLACE_OBJECTS", "GIT_ASKPASS")
WORDS: Final = (
    *("merge", "--ff-only", "--strategy=ort", "--no-squash", "--commit", "--no-edit", "--no-stat", "--quiet"),
    *("--no-autostash", "--no-verify-signatures", "--no-gpg-sign", "--no-rerere-autoupdate", "--no-overwrite-ignore"),
)
REFERENCE: Final = b" ref"
MOVED: Final = b"but expected"
"""What git says of a reference that it could not move, and of one that somebody else has moved."""
EARLY: Final = (b"\n\t", b"File exists", MOVED)
"""What it says where it has not written anything: files are in the way, a lock is, or somebody was quicker."""
GONE: Final = b"000000"


def fast_forward(place: Checkout, branch: str, new: str, old: str) -> Pumped:
    """Move a checkout and its branch from `old` to `new`; how git ended. Raises WorldFault where it does not end.

    Git writes the files before it moves the reference, so whether that can be moved is tried first.
    """
    trial = [f"start\nupdate HEAD {new} {old}\nprepare\nabort\n".encode("ascii")]
    done = asked(("update-ref", "--stdin"), {"GIT_DIR": place.git_dir}, place.path, given=trial, config=LOGGED)
    if done.code != 0:
        return done
    # Not by `-c`: the name of a branch may hold an equals sign.
    done = _theirs(place, f"--config-env=branch.{branch}.mergeOptions=NOTHING", *WORDS, new)
    if done.code == 0 or any(each in done.complaints for each in EARLY):
        return done
    raw = _theirs(place, *DIFF, "--raw", "--no-abbrev", "-z", old, new).out.split(b"\0")[:-1]
    found = [(facts.lstrip(b":").split(b" "), path) for facts, path in zip(raw[::2], raw[1::2], strict=True)]
    if REFERENCE in done.complaints or _is_in_index(place, new, [path for _, path in found]):
        _theirs(place, "read-tree", "-m", "-u", new, old)
    else:
        _take_back(place, found)
    return done


def _is_in_index(place: Checkout, new: str, paths: list[bytes]) -> bool:
    """Whether git was ended between its index, which is written at once, and the reference."""
    differs = _theirs(place, "diff-index", "--cached", "--name-only", "--no-renames", "-z", new)
    return differs.code == 0 and not set(differs.out.split(b"\0")) & set(paths)


def _take_back(place: Checkout, found: list[tuple[list[bytes], bytes]]) -> None:
    """Undo what git wrote while its index still tells of before: files that hold what came, or begin to, or are gone.

    Nothing of a person's is among them: git had looked, and all of these were as the commit before has them.
    """
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder, "index"))
        lines = [b"%s %s\t%s\0" % (facts[1], facts[3], path) for facts, path in found if facts[1] != GONE]
        _theirs(place, "update-index", "-z", "--index-info", index=index, given=lines)
        _theirs(place, "update-index", "-q", "--refresh", index=index)
        told = _theirs(place, "diff-files", "--name-status", "--no-renames", "-z", index=index).out.split(b"\0")
    differs = dict(zip(told[1::2], told[::2], strict=False))
    begun = {path for facts, path in found if differs.get(path) == b"M" and _is_begun(place, facts[3], path)}
    _remove(place, (path for facts, path in found if facts[0] == GONE and (path not in differs or path in begun)))
    lost = (path for facts, path in found if facts[0] != GONE and (differs.get(path, b"D") == b"D" or path in begun))
    paths = [path + b"\0" for path in lost]
    words = ("checkout-index", "--force", "--quiet", "-z", "--stdin")
    if _theirs(place, *words, "--index", given=paths).code != 0:
        _theirs(
            place, *words, given=paths
        )  # the index is locked by whoever was ended: the files come back all the same


def _is_begun(place: Checkout, blob: bytes, path: bytes) -> bool:
    """Whether a file holds no more than the beginning of what git was to write: the disk was full, or git was ended."""
    whole = _theirs(place, "cat-file", "--filters", f"--path={os.fsdecode(path)}", blob.decode("ascii"))
    root = os.open(place.path, FOLDER)
    try:
        folder, name = reached(root, path)
        try:
            descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        finally:
            os.close(folder)
        with os.fdopen(descriptor, "rb") as file:
            return whole.code == 0 and whole.out.startswith(file.read(len(whole.out) + 1))
    except OSError:
        return False
    finally:
        os.close(root)


def _remove(place: Checkout, paths: Iterable[bytes]) -> None:
    root = os.open(place.path, FOLDER)
    try:
        for path in paths:
            with suppress(OSError):
                folder, name = reached(root, path)
                try:
                    os.unlink(name, dir_fd=folder)
                finally:
                    os.close(folder)
    finally:
        os.close(root)


def _theirs(place: Checkout, *words: str, index: str | None = None, given: Iterable[bytes] = ()) -> Pumped:
    """Git in a checkout, with the settings of whoever runs this but for what could run or do anything else."""
    git, path = program()
    env = dict(_surroundings()) | {key: QUIET[key] for key in UNASKED} | WHO
    env |= {"PATH": path, "GIT_DIR": place.git_dir, "GIT_WORK_TREE": place.path}
    env |= {"GIT_REFLOG_ACTION": LOG, "NOTHING": ""}
    if index is not None:
        env["GIT_INDEX_FILE"] = index
    switches = [word for key, value in SETTINGS.items() for word in ("-c", f"{key}={value}")]
    return pumped([git, *switches, *words], env, place.path, given=given, patience_s=PATIENCE_S, most=MOST)


def _surroundings() -> Iterator[tuple[str, str]]:
    """What a person's filters may need of their environment, without what would lead git elsewhere."""
    for name, value in os.environ.items():
        if name in SAME or not (name.startswith("GIT_") or name == "LANGUAGE"):
            yield name, value
