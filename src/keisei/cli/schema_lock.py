"""`keisei schema lock`, `revoke` and `locks`: promises about an author's own schemas, until a day."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.desk import WORDS, actor, desk, operator
from keisei.cli.output import emit_json, json_option, table
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.cli.desk import Desk
    from keisei.cli.schema_lock_order import Bench
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
@click.argument("name", type=WORDS)
@click.option("--until", type=Day(), required=True, help="The last day on which it holds.")
@json_option
def lock(name: str, until: date, as_json: bool) -> int:
    """Promise that NAME does not break before a day.

    NAME is an atom `package::verb`, a package of atoms, or the path of a schema file. A marker in `.keisei/locks/`
    keeps it as it is; from then on a breaking change fails `keisei lint` until the lock is revoked. Additions stay
    allowed.
    """
    from keisei.cli.schema_lock_order import lock_schema

    with desk() as opened:
        bench = _bench(opened)
        done = lock_schema(bench, name, until)
    where = str(done.marker.relative_to(bench.root))
    if as_json:
        files = done.row.body["files"]
        emit_json({"name": done.name, "until": str(until), "marker": where, "files": files, "row": done.row.seq})
    elif done.is_late:
        click.echo(f"{printable(done.name)} was locked until {until}, and has its row now: row {done.row.seq}")
    else:
        click.echo(f"locked {printable(done.name)} until {until}: {where}")
    return 0


@click.command("revoke")
@click.argument("name", type=WORDS)
@click.option("--reason", type=WORDS, required=True, help="Why; it stands in the marker and in the ledger.")
@json_option
def revoke(name: str, reason: str, as_json: bool) -> int:
    """End the lock of NAME, with a reason."""
    from keisei.cli.schema_lock_order import revoke_lock

    operator()
    if not reason.strip() or len(reason) > LONGEST:
        raise OperatorError(f"a reason has 1 to {LONGEST} characters", "say why in a sentence")
    with desk() as opened:
        bench = _bench(opened)
        done = revoke_lock(bench, name, reason)
    where = str(done.marker.relative_to(bench.root))
    if as_json:
        emit_json({"name": done.name, "reason": reason, "row": done.row.seq, "marker": where})
    else:
        click.echo(f"revoked the lock of {printable(done.name)}: row {done.row.seq}")
    return 0


@click.command("locks")
@json_option
def locks(as_json: bool) -> int:
    """Every lock of the project, whether it holds, and where the ledger has no row of it."""
    from keisei.library.schema_lock import read_locks
    from keisei.library.seed_lock import seed_locks

    with desk() as opened:
        bench = _bench(opened)
        found, broken = read_locks(bench.root)
        rows = [(each.record.name, str(each.record.until), _state(bench, each), each.path) for each in found]
    rows += [("-", "-", f"cannot be read: {error.problems[0].message}", path) for path, error in broken]
    rows += [
        (each.name, each.until or "-", f"{each.state}; {each.fault}" if each.fault else each.state, each.path)
        for each in seed_locks(bench.root, _today())
    ]
    cells = [(*row[:3], str(row[3].relative_to(bench.root))) for row in rows]
    if as_json:
        emit_json([dict(zip(("name", "until", "state", "marker"), row, strict=True)) for row in cells])
    else:
        table(("name", "until", "state", "marker"), [tuple(map(printable, row)) for row in cells])
    return 0


def _state(bench: "Bench", lock: "Lock") -> str:
    from keisei.cli.schema_lock_order import LOCKED, REVOKED, row_of

    record, revoked = lock.record, lock.record.revoked
    state = "holds" if lock.holds(_today()) else "has ended"
    if revoked is not None:
        state = f"revoked: {revoked.reason}"
    lacks = [] if row_of(bench.store, LOCKED, record.name, record.sha256) else ["lock"]
    if revoked is not None and not row_of(bench.store, REVOKED, record.name, revoked.sha256):
        lacks.append("revocation")
    return f"{state} (the ledger here has no row of this {' and '.join(lacks)})" if lacks else state


def _bench(opened: "Desk") -> "Bench":
    from keisei.cli.schema_lock_order import Bench

    return Bench(opened.store, _root(opened), opened.home.run, actor())


def _root(opened: "Desk") -> Path:
    if opened.home.root is None:
        raise OperatorError(
            "there is no project here", "locks stand beside a keisei.toml: `keisei schema lock` in a project"
        )
    return opened.home.root.resolve()


def _today() -> date:
    return datetime.now(UTC).date()
