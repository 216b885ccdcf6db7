"""`kei-migrate`: the databases of packages, which migrations ran on them, and the ones that are still to run."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.error import KeiseiError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.wiring.migrate_verb import Standing

HELP = {"help_option_names": ["-h", "--help"]}

group = click.Group(
    "migrate",
    help="Databases of packages: which migrations ran, which are missing. Status, up.",
    context_settings=HELP,
)


@group.command("status")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@root_option
@kit_root_option
@json_option
def status(packages: tuple[str, ...], roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Where each database is, and how far it has come. Exits 1 where one cannot be used."""
    from keisei.wiring.migrate_verb import standings

    return _told(standings(settings(), packages, roots=roots, kit_root=kit_root), as_json=as_json)


@group.command("up")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--dry-run", is_flag=True, help="Only tell what would run.")
@root_option
@kit_root_option
@json_option
def up(packages: tuple[str, ...], dry_run: bool, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Make the databases and run what is missing, each migration in one transaction. Exits 1 where one fails."""
    from keisei.wiring.migrate_verb import standings

    return _told(standings(settings(), packages, up=not dry_run, roots=roots, kit_root=kit_root), as_json=as_json)


def _told(rows: "list[Standing]", *, as_json: bool) -> int:
    """Print the lines, and the errors on stderr. The exit code."""
    from keisei.wiring.migrate_verb import names

    failed = [row for row in rows if isinstance(row.state, KeiseiError)]
    if as_json:
        emit_json([row.data() for row in rows])
    else:
        for row in rows:
            for name in names(row.ran):
                click.echo(f"ran {row.package.name} {name}")
        table(("package", "status", "newest", "missing", "database"), [_cells(row) for row in rows])
        for row in failed:
            _complain(row)
    return 1 if failed else 0


def _complain(row: "Standing") -> None:
    from keisei.cli.door import complain

    error = row.state
    if isinstance(error, KeiseiError):
        complain(f"{row.package.name}: {error.message}", error.hint)


def _cells(row: "Standing") -> tuple[str, ...]:
    from keisei.wiring.migrate_verb import names

    if row.state is None or isinstance(row.state, KeiseiError):
        return (row.package.name, row.word, "", "", "")
    applied, missing = row.state.applied, row.state.missing
    newest = f"{applied[-1].version:04}" if applied else "-"
    return (row.package.name, row.word, newest, ", ".join(names(missing)) or "-", printable(str(row.state.path)))
