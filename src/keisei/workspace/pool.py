"""Pools: worktrees that are used again, each by one attempt at a time, and that no crash hands out twice or dirty.

Beside each slot stand its lock, the file that names its owner, and a git folder of ours with the index it is judged by.
The owner file is written, for good, before the attempt may touch the tree, and goes when the tree was reset or
removed; from `release` on it says that the work is over, so that a tree that is half removed is nobody's work.
"""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from keisei.records.error import IllegalMove, WorldFault
from keisei.records.worktree import RepositoryFacts, Worktree
from keisei.workspace.checkout import check_out
from keisei.workspace.git import Private
from keisei.workspace.metadata import is_linked, link, unlink
from keisei.workspace.removal import remove
from keisei.workspace.slot import MOST, NAME, Lock, Owner, Place

FIND_TRIES: Final = 20


class Slot(Struct, frozen=True, kw_only=True):
    """One place of a pool, as it is seen from outside."""

    name: str
    """One letter and three digits."""
    path: str
    """Its worktree; the folder may be missing."""
    attempt: str | None
    """The attempt whose work is in it; None where there is nothing to keep; empty where the owner file is broken."""
    locked: bool
    """A living process has it."""
    last_used: datetime
    """When it was last taken or given back."""


class Leased:
    """A worktree that one attempt has for itself, until it is given back or this process ends."""

    def __init__(self, pool: "Pool", place: Place, lock: Lock, owner: Owner) -> None:
        """Keep what a pool found or made."""
        self._pool, self._place, self._lock, self._owner = pool, place, lock, owner
        self.attempt_id = owner.attempt
        """The attempt whose it is."""
        self.worktree = pool.worktree(place, owner.base)
        """Where it works."""

    def release(self, *, reusable: bool) -> None:
        """Give it back; the work in it is gone afterwards, so it is staged before. Safe to say twice.

        Reusable, it is reset to its base and kept where the pool keeps so many; otherwise, or where the reset cannot be
        proved, everything of it is removed. Raises WorldFault where that fails: then a later `take` or `discard` of
        the pool does it.
        """
        if self._lock.is_open():
            try:
                self._pool.end(self._place, self._owner, reusable=reusable)
                self._lock.touch()
            finally:
                self._lock.close()

    def leave(self) -> None:
        """Let go of it and keep everything for a later `find`. Safe to say twice."""
        self._lock.close()


class Pool:
    """The worktrees of one repository in one folder. Any number of processes may use the same at once."""

    def __init__(self, facts: RepositoryFacts, folder: Path, most: int, *, keeps: bool = True) -> None:
        """`most` is how many are kept for the next attempts; more are made when needed and removed after use.

        A pool that keeps nothing knows no work: what a process that died has left is free for the next `take`, and
        never found. All who use one folder say the same.
        """
        self._folder = Path(os.path.realpath(folder))
        self._common_dir = facts.common_dir
        self._most = most
        self._keeps = keeps
        self._mark = hashlib.sha256(os.fsencode(self._folder)).hexdigest()[:8]

    def take(self, attempt_id: str, base: str) -> Leased:
        """A worktree that holds exactly what a commit holds, detached on it, owned by the attempt.

        A free one is taken before a new one is made, and one that stands on the same commit before others. Raises
        IllegalMove where the attempt has one already, and WorldFault where there are a thousand or git fails.
        """
        with _told(self._folder):
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(_is_of(self._owner(place), attempt_id) for place in self._places()):
                raise IllegalMove(f"attempt `{attempt_id}` has a worktree already")
            for place in self._candidates(base):
                lock = self._locked(place)
                if lock is not None:
                    return self._made(place, lock, Owner(attempt=attempt_id, base=base))
        raise WorldFault(f"{MOST} worktrees are in use", "remove what is left over with `keisei gc`", retryable=True)

    def find(self, attempt_id: str) -> Leased | None:
        """The worktree that a dead runner left; None where there is none or a living process has it. WorldFault."""
        with _told(self._folder):
            for place in self._places():
                if _is_of(self._owner(place), attempt_id):
                    return self._found(place, attempt_id)
        return None

    def slots(self) -> list[Slot]:
        """Every slot there is, by name. Raises WorldFault."""
        with _told(self._folder):
            return [self._seen(place) for place in self._places()]

    def discard(self, name: str) -> bool:
        """Remove a slot with everything of it; False where somebody has it or it holds the work of an attempt.

        Raises WorldFault where it cannot be removed.
        """
        place = Place(self._folder, name)
        if NAME.fullmatch(name) is None or not place.lock.exists():
            return False
        with _told(self._folder):
            lock = self._locked(place)
            if lock is None:
                return False
            try:
                self._remove(place)
                place.disown()
                place.lock.unlink(missing_ok=True)
            finally:
                lock.close()
        return True

    def worktree(self, place: Place, base: str) -> Worktree:
        """What a slot is as a worktree."""
        return Worktree(
            slot=place.name,
            path=str(place.path),
            git_dir=str(self._git_dir(place)),
            common_dir=self._common_dir,
            base=base,
        )

    def end(self, place: Place, owner: Owner, *, reusable: bool) -> None:
        """Reset or remove a slot whose lock the caller holds, and have nobody own it. Raises WorldFault.

        In a pool that keeps nobody's work a slot stays as it is: the next `take` resets it, as it does in any case.
        """
        with _told(self._folder):
            self._own(place, Owner(attempt=owner.attempt, base=owner.base, over=True))
            spare = int(place.name[1:]) >= self._most
            if not reusable or spare or (self._keeps and not self._is_reset(place, owner.base)):
                self._remove(place)
            place.disown()

    def _owner(self, place: Place) -> Owner | None:
        """Whose work is in a slot; None where nobody's is, and in a pool that keeps none."""
        return place.owner() if self._keeps else None

    def _own(self, place: Place, owner: Owner) -> None:
        if self._keeps:
            place.own(owner)

    def _is_owned(self, place: Place) -> bool:
        owner = self._owner(place)
        return owner is not None and not owner.over

    def _git_dir(self, place: Place) -> Path:
        return Path(self._common_dir, "worktrees", f"keisei-{self._mark}-{place.name}")

    def _places(self) -> list[Place]:
        """Slots that were ever made, by name."""
        with suppress(FileNotFoundError):
            names = {each.name.partition(".")[0] for each in self._folder.iterdir()}
            return [Place(self._folder, name) for name in sorted(names) if NAME.fullmatch(name)]
        return []

    def _candidates(self, base: str) -> Iterator[Place]:
        """Slots in the order in which they are tried: free ones on the base, other free ones, new ones."""
        free = [place for place in self._places() if place.path.is_dir() and not self._is_owned(place)]
        free.sort(key=lambda place: not is_linked(self.worktree(place, base)))
        yield from free
        tried = {place.name for place in free}
        names = (f"a{number:03}" for number in range(MOST))
        yield from (Place(self._folder, name) for name in names if name not in tried)

    def _locked(self, place: Place) -> Lock | None:
        """The lock of a slot that holds nobody's work; None where it is not to be had."""
        if self._is_owned(place):
            return None
        lock = Lock.of(place)
        if lock is not None and self._is_owned(place):  # somebody was quicker, and died since
            lock.close()
            return None
        return lock

    def _made(self, place: Place, lock: Lock, owner: Owner) -> Leased:
        try:
            if not self._is_reset(place, owner.base):
                self._remove(place)
                self._reset(place, owner.base)
            self._own(place, owner)
            lock.touch()
            return Leased(self, place, lock, owner)
        except BaseException:
            lock.close()
            raise

    def _found(self, place: Place, attempt_id: str) -> Leased | None:
        lock = Lock.of(place, tries=FIND_TRIES)  # `slots` of another process has it for a moment
        if lock is None:
            return None
        owner = place.owner()
        if owner is None or not _is_of(owner, attempt_id):  # it was given back meanwhile
            lock.close()
            return None
        leased = Leased(self, place, lock, owner)
        if not place.path.is_dir() or place.path.is_symlink():  # somebody removed it: there is nothing to keep
            leased.release(reusable=False)
            return None
        return leased

    def _is_reset(self, place: Place, base: str) -> bool:
        if not place.path.is_dir() or place.path.is_symlink():
            return False
        try:
            self._reset(place, base)
        except (OSError, WorldFault):
            return False
        return True

    def _reset(self, place: Place, base: str) -> None:
        """Have a slot hold exactly a commit, whatever is in it. Raises WorldFault."""
        place.path.mkdir(exist_ok=True)
        private = Private(place.private, str(place.path), self._common_dir, base)
        check_out(private)
        worktree = self.worktree(place, base)
        link(worktree, private.index)

    def _remove(self, place: Place) -> None:
        remove(place.path)
        remove(place.private)
        unlink(self._git_dir(place))

    def _seen(self, place: Place) -> Slot:
        owner = self._owner(place)
        lock = Lock.of(place)
        if lock is not None:
            lock.close()
        return Slot(
            name=place.name,
            path=str(place.path),
            attempt=None if owner is None or owner.over else owner.attempt,
            locked=lock is None,
            last_used=_used_at(place),
        )


def _is_of(owner: Owner | None, attempt_id: str) -> bool:
    return owner is not None and not owner.over and owner.attempt == attempt_id


def _used_at(place: Place) -> datetime:
    with suppress(OSError):
        return datetime.fromtimestamp(place.lock.stat().st_mtime, UTC)
    return datetime.fromtimestamp(0, UTC)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    """The disk's own faults, told as ours."""
    try:
        yield
    except OSError as error:
        message = f"the worktrees in `{folder}` cannot be used: {error.strerror or error}"
        raise WorldFault(message, "check who owns the folder, and the space on its disk", retryable=True) from error
