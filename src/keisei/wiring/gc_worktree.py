"""Worktrees and references that are left over. The work in a worktree becomes a reference before it is removed."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, Literal

from keisei.records.id import LandingId
from keisei.records.move import NewEntry
from keisei.wiring.leftover import Leftover, Premises
from keisei.wiring.site import keep_work
from keisei.workspace.pool import Pool, Slot
from keisei.workspace.ref import Kept, drop_ref, refs
from keisei.workspace.space import size_of

KINDS: Final[tuple[Literal["candidate", "salvage"], ...]] = ("candidate", "salvage")


def worktrees(around: Premises) -> Iterator[Leftover]:
    """Worktrees of attempts that are over, and free ones beyond what the pool keeps."""
    for pool in (around.pool(), around.proving()):
        if pool is not None:
            yield from _of_pool(around, pool)


def _of_pool(around: Premises, pool: Pool) -> Iterator[Leftover]:
    slots = [slot for slot in pool.slots() if Path(slot.path).is_dir()]
    for slot in slots:
        reason = _why_owned(around, slot)
        if reason is not None and slot.attempt is not None:
            yield Leftover("worktree", slot.name, size_of(Path(slot.path)), reason, _salvaging(pool, slot.attempt))
    free = sorted((slot for slot in slots if slot.attempt is None and not slot.locked), key=lambda each: each.last_used)
    for slot in free[: max(0, len(slots) - around.limits.pool)]:
        reason = f"free, and the pool keeps {around.limits.pool}"
        yield Leftover("worktree", slot.name, size_of(Path(slot.path)), reason, _discarding(pool, slot.name))


def _why_owned(around: Premises, slot: Slot) -> str | None:
    """Why a worktree that names an attempt may go; None where it may not, and where nobody can say whose it is."""
    if not slot.attempt or slot.locked:
        return None
    attempt = around.attempt(slot.attempt)
    if attempt is None:
        return f"attempt {slot.attempt} is not known here" if slot.last_used < around.stale_before else None
    return f"attempt {slot.attempt} is over; its work is kept as a reference" if around.is_over(attempt) else None


def _salvaging(pool: Pool, attempt_id: str) -> Callable[[], bool]:
    def act() -> bool:
        leased = pool.find(attempt_id)
        if leased is None:
            return False
        try:
            keep_work(leased.worktree, attempt_id)
        except BaseException:
            leased.leave()
            raise
        leased.release(reusable=False)
        return True

    return act


def _discarding(pool: Pool, name: str) -> Callable[[], bool]:
    return lambda: pool.discard(name)


def references(around: Premises) -> Iterator[Leftover]:
    """Work of attempts whose task is over for long."""
    if around.repository is None:
        return
    common_dir = around.repository.common_dir
    for kind in KINDS:
        for kept in refs(common_dir, kind):
            attempt = around.attempt(kept.attempt) if kept.committed_at < around.stale_before else None
            over = around.finished_at(attempt) if attempt is not None else None
            if over is not None and over < around.stale_before:
                reason = f"its task is over for more than {around.limits.keep_days} days"
                yield Leftover("ref", kept.ref, 0, reason, _forgetting(around, common_dir, kept))
    for kept in refs(common_dir, "landing"):
        landing = around.store.landing(LandingId(kept.attempt))
        if (
            landing is not None
            and landing.status not in ("queued", "landing")
            and kept.committed_at < around.stale_before
        ):
            yield Leftover("ref", kept.ref, 0, "its landing is over", _dropping(common_dir, kept))


def _dropping(common_dir: str, kept: Kept) -> Callable[[], bool]:
    return lambda: drop_ref(common_dir, kept)


def _forgetting(around: Premises, common_dir: str, kept: Kept) -> Callable[[], bool]:
    """Work that nobody finds again: said before it is done, as of evidence."""

    def act() -> bool:
        body = {"ref": kept.ref, "commit": kept.commit}
        around.store.append(NewEntry(kind="work_removed", actor=around.actor, subject=kept.attempt, body=body))
        return drop_ref(common_dir, kept)

    return act
