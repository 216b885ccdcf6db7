"""`keisei lint`."""

from collections.abc import Callable
from pathlib import Path

import click

from keisei import __version__
from keisei.cli.lint_atoms import AtomOrder, checked_atoms, installed_ids
from keisei.cli.lint_lock import lint_locks
from keisei.cli.output import emit_json, json_option
from keisei.cli.sarif import sarif
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.contracts.check import data_of
from keisei.library.catalog import Catalog
from keisei.library.lint import PLURALS, Report, lint, lint_runtime, lint_task
from keisei.records.error import OperatorError
from keisei.records.problem import printable


@click.command("lint")
@click.argument("kind", default="all", type=click.Choice([*PLURALS, "all"]), metavar="[KIND]")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@click.option(
    "--root",
    "roots",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Atoms: a folder of packages to check instead.",
)
@click.option("--crate", metavar="PACKAGE", help="Atoms: check this package only.")
@click.option("--since", metavar="REV", help="Atoms: also tell what breaks what was promised at that git revision.")
@click.option("--fix", is_flag=True, help="Atoms: first mend what needs no decision.")
@click.option("--format", "form", type=click.Choice(["text", "json", "sarif"]), help="How to print; text if not said.")
@kit_root_option
@json_option
def command(  # noqa: PLR0913, PLR0917 - a command has this many options
    kind: str,
    files: tuple[Path, ...],
    strict: bool,
    roots: tuple[Path, ...],
    crate: str | None,
    since: str | None,
    fix: bool,
    form: str | None,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Check authored files; every problem at once.

    KIND is atoms, capabilities, roles, tasks, skills, workflows, profiles, task-types, agents, project or all. FILES
    are task files, or the original's runtime.json. The shipped kit is checked where there is no other layer.
    """
    form = _form(form, as_json=as_json)
    asked = AtomOrder(roots, crate, since, fix)
    if kind != "atoms" and asked != AtomOrder():
        raise OperatorError("--root, --crate, --since and --fix are for atoms", "write `keisei lint atoms ...`")
    catalog = open_catalog(kit_root, quiet=True)
    report, mended = Report(), list[str]()
    if files:
        for path in files:
            _file(catalog, path, kind, report)
    elif kind == "atoms":
        report, mended = checked_atoms(catalog, asked)
    else:
        own = [layer for layer in catalog.layers if layer.name != "kit"]
        kinds = PLURALS.values() if kind == "all" else [PLURALS[kind]]
        report = lint(catalog, kinds, own or catalog.layers, installed_ids() if kind == "all" else ())
    if kind in ("atoms", "all") and not files and not roots:
        lint_locks(catalog, report)
    if kit_root is not None and kind == "all" and not report.files:
        message = f"there is nothing to check in the kit root `{kit_root}`"
        raise OperatorError(message, "name the folder that holds `_capabilities/` and `_roles/`, or `capabilities/`")
    failed = report.failed or (strict and bool(report.problems))
    PRINTED[form](report, mended, failed)
    return 1 if failed else 0


def _form(form: str | None, *, as_json: bool) -> str:
    if as_json and form not in (None, "json"):
        raise OperatorError(f"--json and --format {form} cannot both be", "say one of them")
    return "json" if as_json else form or "text"


def _text(report: Report, mended: list[str], _failed: bool) -> None:
    for sentence in mended:
        click.echo(f"fixed {printable(sentence)}")
    for problem in report.ordered:
        click.echo(problem.render())
    click.echo(_summary(report))


def _json(report: Report, mended: list[str], failed: bool) -> None:
    told = {"ok": not failed, "files": report.files, "problems": [data_of(problem) for problem in report.ordered]}
    emit_json(told | ({"fixed": mended} if mended else {}))


def _sarif(report: Report, mended: list[str], _failed: bool) -> None:
    for sentence in mended:
        click.echo(f"fixed {printable(sentence)}", err=True)
    emit_json(sarif(report.ordered, __version__))


PRINTED: dict[str, Callable[[Report, list[str], bool], None]] = {"text": _text, "json": _json, "sarif": _sarif}


def _file(catalog: Catalog, path: Path, kind: str, report: Report) -> None:
    if path.suffix == ".json" and kind == "all":
        lint_runtime(path, report)
    elif path.suffix == ".toml" and kind in ("tasks", "all"):
        lint_task(catalog, path, report)
    else:
        message = f"cannot check the file {path} as {kind}"
        raise OperatorError(
            message,
            "name task files after `tasks`; other kinds are found in their layers",
        )


def _summary(report: Report) -> str:
    errors = sum(problem.severity == "error" for problem in report.ordered)
    warnings = len(report.ordered) - errors
    names = {singular: plural for plural, singular in PLURALS.items()} | {
        "atom": "packages",
        "runtime": "runtime files",
    }
    singles = {"atom": "package", "runtime": "runtime file"}
    looked = ", ".join(
        f"{count} {names[kind] if count != 1 else singles.get(kind, kind)}" for kind, count in report.files.items()
    )
    return f"checked {looked or 'nothing'}: {_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
