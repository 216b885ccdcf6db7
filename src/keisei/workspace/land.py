"""Landing: a branch moves to a commit that follows it, once, and the person who has it checked out sees just that.

Where no checkout has the branch only its reference moves. Where one has it, git fast-forwards it there (see `forward`):
no hook runs, and what is theirs (changed, staged, untracked or ignored files) stays as it is, or nothing moves at all.
Whoever is ended in between leaves what git leaves.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final, Literal

from msgspec import Struct

from keisei.records.error import WorldFault
from keisei.workspace.branch import HEADS, Checkout, aliases, checkouts, tip_of, told
from keisei.workspace.forward import LOG, LOGGED, WHO, fast_forward
from keisei.workspace.git import SWITCHED_OFF, asked, checked, complaint
from keisei.workspace.merge import is_ancestor, named
from keisei.workspace.name import spelled
from keisei.workspace.pump import Pumped
from keisei.workspace.ref import drop_ref, find_ref, name_of, set_ref

TRIES: Final = 5
PAUSE_S: Final = 0.1
LOCKED: Final = (b".lock': File exists", b".lock: File exists")
ALONE_S: Final = 120.0
LOCK_PAUSE_S: Final = 0.01


class Advanced(Struct, frozen=True, kw_only=True):
    """What came of moving a branch."""

    kind: Literal["moved", "stale", "refused"]
    """Moved: it stands on the commit, for good. Stale: it stands elsewhere than was thought. Refused: by git."""
    reason: str | None = None
    """Why it was refused, one sentence."""
    files: tuple[str, ...] = ()
    """Files of a person that are in the way, as git names them."""
    checkout: str | None = None
    """The checkout that was moved too, or that is in the way."""


def commit(common_dir: str, tree: str, parent: str, message: bytes, when: datetime) -> str:
    """A commit by keisei of a tree that follows a parent; said again it is the same. Raises WorldFault.

    NUL bytes of the message, of which git takes none, are left out. Nothing refers to it yet.
    """
    date = f"@{int(when.timestamp())} +0000"
    surroundings = {**WHO, "GIT_DIR": common_dir, "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    words = ("commit-tree", named(tree), "-p", named(parent))
    config = {**SWITCHED_OFF, "i18n.commitEncoding": "UTF-8"}
    done = asked(words, surroundings, common_dir, given=[message.replace(b"\0", b"")], config=config)
    return checked(words, done).decode("ascii").strip()


def keep(common_dir: str, landing_id: str, commit: str) -> None:
    """Have a commit stay in the repository whatever becomes of branches. Safe to say twice. Raises WorldFault."""
    old = find_ref(common_dir, "landing", landing_id)
    if old is None or old.commit != commit:
        set_ref(common_dir, name_of("landing", landing_id), named(commit), old)


def drop(common_dir: str, landing_id: str) -> bool:
    """Keep it no longer; False where it was not kept. Raises WorldFault."""
    old = find_ref(common_dir, "landing", landing_id)
    return old is not None and drop_ref(common_dir, old)


def advance(common_dir: str, branch: str, new: str, old: str) -> Advanced:
    """Move a branch that stands on `old` to `new`, which follows it; moved, too, where it stands on `new` already.

    Raises WorldFault where git does not answer; then it may be said again.
    """
    named(new)
    with _alone(common_dir):
        seen = tip_of(common_dir, branch)
        if seen != named(old):
            return _elsewhere(branch, seen, new)
        if not is_ancestor(common_dir, old, new):
            return Advanced(kind="refused", reason=f"`{new}` does not follow `{old}`")
        if f"{HEADS}{branch}" in aliases(common_dir):
            return Advanced(kind="refused", reason=f"`{branch}` is only another name of a branch")
        places = checkouts(common_dir, branch)
        return _barred(places) or _advanced(common_dir, branch, new, old, places)


def create_branch(common_dir: str, name: str, commit: str) -> Advanced:
    """Make a branch that is not there; moved, too, where it stands on the commit, stale where it stands elsewhere.

    A name that git does not take, or that another branch is in the way of, is refused. Raises WorldFault.
    """
    well_formed = asked(("check-ref-format", f"{HEADS}{name}"), {}, common_dir).code == 0
    if not well_formed or name.startswith("-") or name == "HEAD":
        return Advanced(kind="refused", reason=f"`{name[:80]}` is no name for a branch")
    done = _insist(lambda: _update(common_dir, name, named(commit), "0" * len(commit)))
    seen = tip_of(common_dir, name)
    return _refused(done) if done.code != 0 and seen is None else _elsewhere(name, seen, commit)


def _elsewhere(branch: str, seen: str | None, new: str) -> Advanced:
    if seen is None:
        return Advanced(kind="refused", reason=f"there is no branch `{branch}`")
    return Advanced(kind="moved" if seen == new else "stale")


def _barred(places: list[Checkout]) -> Advanced | None:
    """Why no checkout may be moved; None where there is none, or one that may."""
    if len(places) > 1:
        names = " and ".join(told(each) for each in places[:3])
        return Advanced(kind="refused", reason=f"it is checked out more than once: {names}")
    busy = next((each for each in places if each.busy is not None), None)
    if busy is None:
        return None
    return Advanced(kind="refused", reason=f"{busy.busy} in {told(busy)}", checkout=busy.path)


def _advanced(common_dir: str, branch: str, new: str, old: str, places: list[Checkout]) -> Advanced:
    place = places[0] if places else None
    if place is None:
        done = _insist(lambda: _update(common_dir, branch, new, old))
    else:
        done = _insist(lambda: fast_forward(place, branch, new, old))
    at = place.path if place is not None else None
    seen = tip_of(common_dir, branch)
    if seen == new or (seen not in (None, old) and is_ancestor(common_dir, new, str(seen))):
        return Advanced(kind="moved", checkout=at)
    return _refused(done, at) if seen == old else _elsewhere(branch, seen, new)


def _update(common_dir: str, branch: str, new: str, old: str) -> Pumped:
    words = ("update-ref", "--no-deref", "-m", LOG, f"{HEADS}{branch}", new, old)
    return asked(words, {**WHO, "GIT_DIR": common_dir}, common_dir, config=LOGGED)


def _insist(act: Callable[[], Pumped]) -> Pumped:
    """Do it again while another git has a lock, a few times: an editor that looks at the index has it for a moment."""
    for _ in range(TRIES - 1):
        done = act()
        if done.code == 0 or not any(each in done.complaints for each in LOCKED):
            return done
        time.sleep(PAUSE_S)
    return act()


def _refused(done: Pumped, checkout: str | None = None) -> Advanced:
    if done.code == 0:
        reason = "git moved another branch: somebody switched branches in that checkout at the same moment"
        return Advanced(kind="refused", reason=reason, checkout=checkout)
    if done.code < 0 and not done.complaints:
        reason = f"git was ended by signal {-done.code}: `git status` tells whether it has left a lock"
        return Advanced(kind="refused", reason=reason, checkout=checkout)
    files = [spelled(line[1:]) for line in done.complaints.split(b"\n") if line.startswith(b"\t")]
    reason = complaint(done).removeprefix("error: ").removeprefix("fatal: ").removesuffix(":")
    return Advanced(kind="refused", reason=reason, files=tuple(sorted(files)), checkout=checkout)


@contextmanager
def _alone(common_dir: str) -> Iterator[None]:
    """One landing of a repository at a time: two gits that fast-forward one checkout at once leave a mixture.

    A file system without locks has none; then the caller's own order counts. Raises WorldFault.
    """
    try:
        descriptor = os.open(common_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise WorldFault(f"`{common_dir}` cannot be opened: {error.strerror or error}", retryable=True) from error
    try:
        deadline = time.monotonic() + ALONE_S
        while not _is_locked(descriptor):
            if time.monotonic() > deadline:
                raise WorldFault(f"another landing in `{common_dir}` takes long", "try again later", retryable=True)
            time.sleep(LOCK_PAUSE_S)
        yield
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
