"""Orders about locks: what is written is made first, then the ledger's row, then the marker, and nobody else meanwhile.

Whoever is killed in between leaves a row without its marker: the order has not been carried out, and is given again. A
marker whose row is missing, as after the ledger was restored, gets it when the same order is given again.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, NamedTuple

from keisei.cli.output import write_whole
from keisei.cli.surroundings import open_catalog
from keisei.engine.ports import Store
from keisei.library.package import Package, packages_of
from keisei.library.schema_lock import (
    Lock,
    locked_files,
    locks_folder,
    marker,
    marker_bytes,
    new_lock,
    own_name,
    read_lock,
    read_locks,
    revoked_lock,
)
from keisei.library.seed_lock import FOLDER, SeedLock, revoked_page, seed_locks
from keisei.records.error import OperatorError, WorldFault
from keisei.records.ledger import LedgerEntry
from keisei.records.move import EntryQuery, NewEntry
from keisei.records.schema_lock import SchemaLock
from keisei.workspace.lock import KeyLocks

LOCKED: Final = "schema_locked"
REVOKED: Final = "schema_revoked"
KEY: Final = "schema-locks"
PATIENCE_S: Final = 10.0
MOST: Final = 200
"""Rows about one name that are looked through, the newest first."""


class Bench(NamedTuple):
    """What an order is carried out on."""

    store: Store
    root: Path
    """The project's root, resolved."""
    run: Path
    """Where this machine keeps what guards the project."""
    actor: str
    """Who gives the order."""


class Done(NamedTuple):
    """An order that was carried out."""

    name: str
    marker: Path
    row: LedgerEntry
    is_late: bool = False
    """Whether the marker was there, and only its row was missing."""


def now() -> datetime:
    """This second, in UTC."""
    return datetime.now(UTC).replace(microsecond=0)


@contextmanager
def _alone(bench: Bench) -> Iterator[None]:
    locks = KeyLocks(bench.run)
    with locks.own(KEY, PATIENCE_S):
        try:
            yield
        finally:
            locks.forget(KEY)


def lock_schema(bench: Bench, given: str, until: date) -> Done:
    """Lock it as it is. Raises OperatorError, AuthorError, WorldFault; then no marker is new."""
    name = own_name(bench.root, given)
    folder = locks_folder(bench.root)
    with _alone(bench):
        today = now().date()
        standing = [each for each in read_locks(bench.root)[0] if each.record.name == name and each.holds(today)]
        if standing:
            return _late(bench, standing[0], until)
        path = marker(bench.root, name)
        _check_free(path, name)
        files = locked_files(bench.root, name, _packages())
        record = new_lock(name, until, bench.actor, now(), files)
        raw = marker_bytes(path, record)
        row = bench.store.append(_locked_row(record, bench.actor))
        _write(folder, path, raw)
        return Done(name, path, row)


def _late(bench: Bench, lock: Lock, until: date) -> Done:
    """The row of a lock that has none. Raises OperatorError where there is nothing to be done."""
    record = lock.record
    if record.until != until or row_of(bench.store, LOCKED, record.name, record.sha256) is not None:
        hint = f"`keisei schema revoke {record.name} --reason ...` ends it"
        raise OperatorError(f"`{record.name}` is locked until {record.until} already", hint)
    return Done(record.name, lock.path, bench.store.append(_locked_row(record, bench.actor)), is_late=True)


def _check_free(path: Path, name: str) -> None:
    """Raises OperatorError for a marker of something else, AuthorError for one that cannot be read."""
    if os.path.lexists(path) and (other := read_lock(path).record.name) != name:
        raise OperatorError(f"`{path.name}` is the marker of `{other}`", "give it another name")


def _locked_row(record: SchemaLock, actor: str) -> NewEntry:
    body = {
        "until": str(record.until),
        "files": {each.path: each.sha256 for each in record.files},
        "locked_by": record.actor,
        "locked_at": record.locked_at.isoformat(),
        "sha256": record.sha256,
    }
    return NewEntry(kind=LOCKED, actor=actor, subject=record.name, body=body)


def revoke_lock(bench: Bench, given: str, reason: str) -> Done:
    """End a lock. Raises OperatorError, AuthorError, WorldFault; then it is as it was."""
    with _alone(bench):
        seed = _seed(bench.root, given)
        if seed is not None:
            return _revoke_seed(bench, seed, reason)
        name, folder = own_name(bench.root, given), locks_folder(bench.root)
        lock = _known(bench.root, name)
        if lock.record.revoked is not None:
            return _late_revocation(bench, lock, reason)
        record = revoked_lock(lock.record, reason, bench.actor, now())
        told = _told(bench.store, lock.record, reason)
        if told is not None:  # whoever gave this order was stopped before the marker said so
            record = revoked_lock(lock.record, reason, told.actor, datetime.fromisoformat(told.body["revoked_at"]))
        raw = marker_bytes(lock.path, record)
        row = told or bench.store.append(_revoked_row(record, bench.actor))
        _write(folder, lock.path, raw)
        return Done(name, lock.path, row)


def _late_revocation(bench: Bench, lock: Lock, reason: str) -> Done:
    """The row of a revocation that has none. Raises OperatorError where there is nothing to be done."""
    record = lock.record
    if record.revoked is None or record.revoked.reason != reason or _told(bench.store, record, reason) is not None:
        why = record.revoked.reason if record.revoked is not None else ""
        hint = f"`keisei schema lock {record.name} --until ...` locks it again"
        raise OperatorError(f"the lock of `{record.name}` was revoked already: {why}", hint)
    return Done(record.name, lock.path, bench.store.append(_revoked_row(record, bench.actor)), is_late=True)


def _revoked_row(record: SchemaLock, actor: str) -> NewEntry:
    revoked = record.revoked
    body = {"reason": revoked.reason if revoked else "", "until": str(record.until), "lock": record.sha256}
    if revoked is not None:
        body |= {"revoked_at": revoked.revoked_at.isoformat(), "sha256": revoked.sha256}
    return NewEntry(kind=REVOKED, actor=actor, subject=record.name, body=body)


def _told(store: Store, record: SchemaLock, reason: str) -> LedgerEntry | None:
    """The row that revoked this very lock for this reason."""
    rows = _rows(store, REVOKED, record.name)
    return next(
        (row for row in rows if (row.body.get("lock"), row.body.get("reason")) == (record.sha256, reason)), None
    )


def row_of(store: Store, kind: str, name: str, sha256: str) -> LedgerEntry | None:
    """The ledger's row of what has this sha256; rows by hand do not count."""
    return next((row for row in _rows(store, kind, name) if row.body.get("sha256") == sha256), None)


def _rows(store: Store, kind: str, name: str) -> list[LedgerEntry]:
    return store.find_entries(EntryQuery(kind=kind, subject=name, source="engine", limit=MOST))


def _known(root: Path, name: str) -> Lock:
    """The lock of a name: one in force, else one that is not revoked, else any. Raises OperatorError."""
    found, broken = read_locks(root)
    own = [each for each in found if each.record.name == name]
    if not own:
        names = [each.record.name for each in found] + [each.name for each in seed_locks(root, now().date())]
        hint = f"locked here: {', '.join(f'`{each}`' for each in names)}" if names else "nothing is locked here"
        lost = ", ".join(f"`{path.name}`" for path, _ in broken)
        raise OperatorError(f"`{name}` is not locked", f"{hint}; cannot be read: {lost}" if lost else hint)
    return min(own, key=lambda each: (not each.holds(now().date()), each.record.revoked is not None))


def _seed(root: Path, given: str) -> SeedLock | None:
    """A marker of the original by its name, or by its path from the root."""
    named = os.path.relpath(given, root) if os.path.isabs(given) else os.path.normpath(given)  # noqa: PTH117 - text
    found = seed_locks(root, now().date())
    return next((each for each in found if named in (each.name, each.name.removeprefix(f"{FOLDER}/"))), None)


def _revoke_seed(bench: Bench, seed: SeedLock, reason: str) -> Done:
    if seed.state == "revoked":
        raise OperatorError(f"the lock of `{seed.name}` was revoked already", "a marker with another name locks again")
    raw = revoked_page(bench.root, seed, reason, now().date())
    body = {"reason": reason, "until": seed.until}
    row = bench.store.append(NewEntry(kind=REVOKED, actor=bench.actor, subject=seed.name, body=body))
    write_whole(seed.path, raw)
    return Done(seed.name, seed.path, row)


def _packages() -> list[Package]:
    layers = [layer for layer in open_catalog(None, quiet=True).layers if layer.name not in ("kit", "user")]
    return [package for layer in layers for package in packages_of(layer)]


def _write(folder: Path, path: Path, raw: bytes) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {folder}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check its permissions") from error
    write_whole(path, raw)
