"""`keisei schema lock`, `revoke` and `locks`: promises about an author's own schemas, until a day."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.desk import actor, desk
from keisei.cli.output import emit_json, json_option, table, write_whole
from keisei.records.error import OperatorError, WorldFault
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.library.package import Package
    from keisei.library.schema_lock import Lock

LONGEST = 2000
"""Characters of a reason."""


class Day(click.ParamType[date]):
    """A day that has not passed."""

    name = "date"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> date:
        """The day. Fails with a sentence."""
        try:
            day = date.fromisoformat(value)
        except ValueError:
            self.fail(f"`{printable(value)}` is not a day such as 2027-01-31", param, ctx)
        if day < _today():
            self.fail(f"{day} has passed", param, ctx)
        return day


@click.command("lock")
@click.argument("name")
@click.option("--until", type=Day(), required=True, help="The last day on which it holds.")
@json_option
def lock(name: str, until: date, as_json: bool) -> int:
    """Promise that NAME does not break before a day.

    NAME is an atom `package::verb`, a package of atoms, or the path of a schema file. A marker in `.keisei/locks/`
    keeps it as it is; from then on a breaking change fails `keisei lint` until the lock is revoked. Additions stay
    allowed.
    """
    from keisei.library.schema_lock import locked_files, marker, read_lock, text_of
    from keisei.records.move import NewEntry
    from keisei.records.schema_lock import SchemaLock

    with desk() as opened:
        root = _root(opened)
        path = marker(root, name)
        if path.exists() and (old := read_lock(path)).holds(_today()):
            hint = f"`keisei schema revoke {name} --reason ...` ends it"
            raise OperatorError(f"`{name}` is locked until {old.record.until} already", hint)
        files, now = locked_files(root, name, _packages()), datetime.now(UTC).replace(microsecond=0)
        record = SchemaLock(name=name, until=until, actor=actor(), locked_at=now, files=files)
        _write(path, text_of(record))
        body = {"until": str(until), "files": {each.path: each.sha256 for each in record.files}}
        opened.store.append(NewEntry(kind="schema_locked", actor=record.actor, subject=name, body=body))
    if as_json:
        emit_json({"name": name, "until": str(until), "marker": str(path.relative_to(root)), **body})
    else:
        click.echo(f"locked {printable(name)} until {until}: {path.relative_to(root)}")
    return 0


@click.command("revoke")
@click.argument("name")
@click.option("--reason", required=True, help="Why; it stands in the marker and in the ledger.")
@json_option
def revoke(name: str, reason: str, as_json: bool) -> int:
    """End the lock of NAME, with a reason."""
    from msgspec.structs import replace

    from keisei.library.schema_lock import marker, text_of
    from keisei.records.move import NewEntry
    from keisei.records.schema_lock import Revocation

    if not reason.strip() or len(reason) > LONGEST:
        raise OperatorError(f"a reason has 1 to {LONGEST} characters", "say why in a sentence")
    with desk() as opened:
        root = _root(opened)
        path = marker(root, name)
        found = _known(root, name, path)
        who, now = actor(), datetime.now(UTC).replace(microsecond=0)
        body = {"reason": reason, "until": str(found.record.until), "locked_at": found.record.locked_at.isoformat()}
        # the row first: a lock that is over without one would have ended in silence
        row = opened.store.append(NewEntry(kind="schema_revoked", actor=who, subject=name, body=body))
        revoked = Revocation(reason=reason, actor=who, revoked_at=now)
        _write(path, text_of(replace(found.record, revoked=revoked)))
    if as_json:
        emit_json({"name": name, "reason": reason, "row": row.seq, "marker": str(path.relative_to(root))})
    else:
        click.echo(f"revoked the lock of {printable(name)}: row {row.seq}")
    return 0


@click.command("locks")
@json_option
def locks(as_json: bool) -> int:
    """Every lock of the project, and whether it holds."""
    from keisei.library.schema_lock import lock_files, read_lock, seed_locks

    with desk() as opened:
        root = _root(opened)
    found = [read_lock(path) for path in lock_files(root)]
    rows = [
        (each.record.name, str(each.record.until), _state(each), str(each.path.relative_to(root))) for each in found
    ]
    rows += [
        (each.name, each.until or "-", each.state, str(each.path.relative_to(root)))
        for each in seed_locks(root, _today())
    ]
    if as_json:
        emit_json([dict(zip(("name", "until", "state", "marker"), row, strict=True)) for row in rows])
    else:
        table(("name", "until", "state", "marker"), [tuple(map(printable, row)) for row in rows])
    return 0


def _state(lock: "Lock") -> str:
    if lock.record.revoked is not None:
        return f"revoked: {lock.record.revoked.reason}"
    return "holds" if lock.holds(_today()) else "has ended"


def _known(root: Path, name: str, path: Path) -> "Lock":
    from keisei.library.schema_lock import lock_files, read_lock

    if not path.exists():
        names = ", ".join(f"`{read_lock(each).record.name}`" for each in lock_files(root))
        raise OperatorError(f"`{name}` is not locked", f"locked here: {names}" if names else "nothing is locked here")
    found = read_lock(path)
    if found.record.revoked is not None:
        raise OperatorError(f"the lock of `{name}` was revoked already: {found.record.revoked.reason}")
    return found


def _root(opened: "Desk") -> Path:
    if opened.home.root is None:
        raise OperatorError(
            "there is no project here", "locks stand beside a keisei.toml: `keisei schema lock` in a project"
        )
    return opened.home.root.resolve()


def _packages() -> "list[Package]":
    from keisei.cli.surroundings import open_catalog
    from keisei.library.package import packages_of

    layers = [layer for layer in open_catalog(None, quiet=True).layers if layer.name not in ("kit", "user")]
    return [package for layer in layers for package in packages_of(layer)]


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"cannot make the folder {path.parent}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check its permissions") from error
    write_whole(path, text.encode())


def _today() -> date:
    return datetime.now(UTC).date()
