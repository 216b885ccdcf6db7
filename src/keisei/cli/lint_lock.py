"""Locks in lint: what a project's own markers promise, and what those of the original promised since they stood."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from keisei.library.atom_since import check_since
from keisei.library.catalog import Catalog
from keisei.library.lint import Report
from keisei.library.package import Package, packages_of
from keisei.library.schema_lock import check_locks, lock_files, under_lock
from keisei.library.seed_lock import SeedLock, seed_locks
from keisei.library.source import shown_path
from keisei.library.telling import bounded
from keisei.records.error import OperatorError, WorldFault
from keisei.records.problem import Problem


def lint_locks(catalog: Catalog, report: Report) -> None:
    """Add every promise under a lock in force that is not kept."""
    for root, packages in _roots(catalog):
        today = datetime.now(UTC).date()
        if lock_files(root):
            report.problems.extend(bounded(check_locks(root, packages, today)))
        for lock in seed_locks(root, today):
            if lock.state == "holds" and packages:
                report.problems.extend(bounded(_since(lock, packages)))


def _roots(catalog: Catalog) -> Iterator[tuple[Path, list[Package]]]:
    """Each project or kit root with its packages: locks stand where their authors do."""
    found: dict[Path, list[Package]] = {}
    for layer in catalog.layers:
        if layer.name not in ("kit", "user"):
            root = layer.folder.parent if layer.folder.name == ".keisei" else layer.folder
            found.setdefault(root.resolve(), []).extend(packages_of(layer))
    yield from found.items()


def _since(lock: SeedLock, packages: list[Package]) -> Iterator[Problem]:
    """What was promised when the marker was added, and is not kept. A comparison that cannot be made is an error."""
    from keisei.cli.lint_past import added_in, past_of

    end = f"`keisei schema revoke {lock.name} --reason ...` ends the lock"
    where = shown_path(lock.path)
    if lock.fault is not None:
        yield Problem(code="undecided-change", path=where, message=lock.fault, hint=end, severity="warning")
    try:
        revision = added_in(lock.path)
        if revision is None:
            message = "the lock is in no commit yet, and holds from the one on that adds it"
            yield Problem(code="undecided-change", path=where, message=message, hint="commit it", severity="warning")
            return
        with past_of(revision, [package.folder for package in packages]) as past:
            for problem in check_since(packages, past._replace(name=lock.name)):
                yield under_lock(problem, end)
    except (OperatorError, WorldFault) as error:
        message = f"the lock cannot be compared: {error.message}"
        hint = f"{error.hint}; {end}" if error.hint else end
        yield Problem(code="undecided-change", path=where, message=message, hint=hint)
