"""Environments, folders of attempts, sockets, evidence and indexes that are left over."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from keisei.records.attempt import TaskAttempt
from keisei.records.move import NewEntry
from keisei.rules.evidence import keys_of
from keisei.wiring.deserted import deserted
from keisei.wiring.leftover import Leftover, Premises
from keisei.wiring.proving import CACHES
from keisei.wiring.verification import VERIFY
from keisei.workspace.environment import Environments
from keisei.workspace.lock import BusyError, KeyLocks
from keisei.workspace.removal import remove
from keisei.workspace.space import size_of


def environments(around: Premises) -> Iterator[Leftover]:
    """Environments and caches beyond those used last, and drafts of setups that were never finished."""
    for name in ("environments", CACHES):
        yield from _stored(around, Environments(around.home.folder / name))


def _stored(around: Premises, stored: Environments) -> Iterator[Leftover]:
    kept = stored.kept()
    beyond = {each.name for each in [each for each in kept if each.whole][around.limits.environments :]}
    for each in kept:
        if not each.whole or each.name in beyond:
            reason = f"{around.limits.environments} used later are kept" if each.whole else "its setup never finished"
            yield Leftover("environment", each.name, size_of(each.folder), reason, _forgetting(stored, each.name))


def _forgetting(stored: Environments, name: str) -> Callable[[], bool]:
    return lambda: stored.drop(name)


def run_folders(around: Premises) -> Iterator[Leftover]:
    """What attempts needed while they ran."""
    for folder in _folders(around.home.run):
        if folder.name.startswith(VERIFY):
            if _is_free(around.home.run, folder.name):
                yield Leftover("run", folder.name, size_of(folder), "its verification is over", _removing(folder))
            continue
        attempt = around.attempt(folder.name)
        if attempt is None:
            if _touched(folder) < around.stale_before:
                reason = "its attempt is not known here"
                yield Leftover("run", folder.name, size_of(folder), reason, _removing(folder))
        elif around.is_over(attempt):
            yield Leftover("run", folder.name, size_of(folder), "its attempt is over", _removing(folder))


def _is_free(run: Path, name: str) -> bool:
    """Whether nobody verifies there."""
    locks = KeyLocks(run)
    try:
        with locks.own(name):
            locks.forget(name)
    except BusyError:
        return False
    return True


def sockets(around: Premises) -> Iterator[Leftover]:
    """What services that are gone have left, this user's of every project."""
    for folder in deserted(around.sockets) if around.sockets is not None else ():
        yield Leftover("socket", folder.name, size_of(folder), "nobody listens there", _removing(folder))


def evidence(around: Premises) -> Iterator[Leftover]:
    """Evidence of tasks that are over, where somebody has said how long it is kept."""
    days = around.limits.evidence_days
    if days is None:
        return
    before = around.now - timedelta(days=days)
    for folder in (each for month in _folders(around.home.evidence / "attempts") for each in _folders(month)):
        attempt = around.attempt(folder.name)
        over = around.finished_at(attempt) if attempt is not None else None
        if attempt is not None and over is not None and over < before:
            reason = f"its task is over for more than {days} days"
            size = size_of(folder)
            yield Leftover("evidence", folder.name, size, reason, _erasing(around, attempt, folder))


def pipe_runs(around: Premises) -> Iterator[Leftover]:
    """Runs of pipes that nobody has touched for long, as one: they are rows, and free room in the store."""
    count, size = around.store.old_runs(around.stale_before)
    if count:
        reason = f"they did not move for more than {around.limits.keep_days} days"
        yield Leftover("pipe", f"{count} run{'' if count == 1 else 's'}", size, reason, _forgetting_runs(around))


def indexes(around: Premises) -> Iterator[Leftover]:
    """Indexes of folders that were asked about once, such as a `--root`; whoever asks again makes one again."""
    for file in sorted(around.home.folder.glob("graph-*.db")):
        if _touched(file) < around.stale_before:
            files = [file, *(file.with_name(f"{file.name}{ending}") for ending in ("-wal", "-shm", ".lock"))]
            reason = f"nothing was written there for more than {around.limits.keep_days} days"
            yield Leftover("index", file.name, size_of(file), reason, _unlinking(files))


def _unlinking(files: Iterable[Path]) -> Callable[[], bool]:
    def act() -> bool:
        for file in files:
            file.unlink(missing_ok=True)
        return True

    return act


def _forgetting_runs(around: Premises) -> Callable[[], bool]:
    def act() -> bool:
        count, _ = around.store.old_runs(around.stale_before)
        if not count:
            return False
        body: dict[str, object] = {"runs": count, "before": around.stale_before.isoformat()}
        around.store.append(NewEntry(kind="pipe_runs_removed", actor=around.actor, subject="pipe", body=body))
        while around.store.forget_runs(around.stale_before):
            pass
        return True

    return act


def _erasing(around: Premises, attempt: TaskAttempt, folder: Path) -> Callable[[], bool]:
    def act() -> bool:
        # Said before it is done: a row about files that are still there is harmless, the other way round is not.
        body = {"task_id": attempt.task_id, "folder": keys_of(attempt.attempt_id, attempt.started_at).folder}
        entry = NewEntry(kind="evidence_removed", actor=around.actor, subject=attempt.attempt_id, body=body)
        around.store.append(entry)
        remove(folder)
        return True

    return act


def _removing(folder: Path) -> Callable[[], bool]:
    def act() -> bool:
        remove(folder)
        return True

    return act


def _folders(above: Path) -> Iterable[Path]:
    try:
        return sorted(each for each in above.iterdir() if each.is_dir() and not each.is_symlink())
    except OSError:
        return ()


def _touched(folder: Path) -> datetime:
    try:
        return datetime.fromtimestamp(folder.lstat().st_mtime, UTC)
    except OSError:
        return datetime.now(UTC)
