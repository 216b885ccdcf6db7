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
    if REFERENCE in done.complaints:
        _theirs(place, "read-tree", "-m", "-u", new, old)
    else:
        _take_back(place, new, old)
    return done


def _take_back(place: Checkout, new: str, old: str) -> None:
    """Undo what git wrote while its index still tells of `old`: only files that hold what `new` holds, or are gone."""
    raw = _theirs(place, *DIFF, "--raw", "--no-abbrev", "-z", old, new).out.split(b"\0")[:-1]
    found = [(facts.lstrip(b":").split(b" "), path) for facts, path in zip(raw[::2], raw[1::2], strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        index = str(Path(folder, "index"))
        lines = [b"%s %s\t%s\0" % (facts[1], facts[3], path) for facts, path in found if facts[1] != GONE]
        _theirs(place, "update-index", "-z", "--index-info", index=index, given=lines)
        _theirs(place, "update-index", "-q", "--refresh", index=index)
        told = _theirs(place, "diff-files", "--name-status", "--no-renames", "-z", index=index).out.split(b"\0")
    differs = dict(zip(told[1::2], told[::2], strict=False))
    _remove(place, (path for facts, path in found if facts[0] == GONE and path not in differs))
    lost = (path for facts, path in found if facts[0] != GONE and differs.get(path, b"D") == b"D")
    paths = [path + b"\0" for path in lost]
    _theirs(place, "checkout-index", "--force", "--index", "--quiet", "-z", "--stdin", given=paths)


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
