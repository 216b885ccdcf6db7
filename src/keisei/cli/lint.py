"""`keisei lint`."""

from pathlib import Path

import click

from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.contracts.check import data_of
from keisei.library.catalog import Catalog
from keisei.library.lint import PLURALS, Report, lint, lint_runtime, lint_task
from keisei.records.error import OperatorError


@click.command("lint")
@click.argument("kind", default="all", type=click.Choice([*PLURALS, "all"]), metavar="[KIND]")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@kit_root_option
@json_option
def command(kind: str, files: tuple[Path, ...], strict: bool, kit_root: Path | None, as_json: bool) -> int:
    """Check authored files; every problem at once.

    KIND is atoms, capabilities, roles, tasks, skills, workflows, profiles, task-types, agents, project or all. FILES
    are task files, or the original's runtime.json. The shipped kit is checked where there is no other layer.
    """
    catalog = open_catalog(kit_root, quiet=True)
    if files:
        report = Report()
        for path in files:
            _file(catalog, path, kind, report)
    else:
        own = [layer for layer in catalog.layers if layer.name != "kit"]
        report = lint(catalog, PLURALS.values() if kind == "all" else [PLURALS[kind]], own or catalog.layers)
    if kit_root is not None and kind == "all" and not report.files:
        message = f"there is nothing to check in the kit root `{kit_root}`"
        raise OperatorError(message, "name the folder that holds `_capabilities/` and `_roles/`, or `capabilities/`")
    problems = report.ordered
    failed = report.failed or (strict and bool(problems))
    if as_json:
        emit_json({"ok": not failed, "files": report.files, "problems": [data_of(problem) for problem in problems]})
    else:
        for problem in problems:
            click.echo(problem.render())
        click.echo(_summary(report))
    return 1 if failed else 0


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
