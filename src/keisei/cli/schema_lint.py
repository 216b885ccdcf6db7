"""`kei-schema-lint`: the original's lines and exit codes, our rules."""

from pathlib import Path

import click

from keisei.cli.lint import PRINTED
from keisei.cli.lint_atoms import AtomOrder, Shelf, checked_atoms, open_shelf
from keisei.cli.surroundings import kit_root_option, open_catalog, root_option
from keisei.library.atom import Judged
from keisei.library.source import shown_path
from keisei.records.problem import Problem, printable


@click.command("kei-schema-lint")
@root_option
@click.option("--crate", metavar="PACKAGE", help="Check this package only.")
@click.option("--since", metavar="REV", help="Also tell what breaks what was promised at that git revision.")
@click.option("--fix", is_flag=True, help="First mend what needs no decision.")
@click.option("--format", "form", type=click.Choice(sorted(PRINTED)), help="As `keisei lint atoms` prints it.")
@kit_root_option
def command(  # noqa: PLR0913, PLR0917 - a command has its options
    roots: tuple[Path, ...], crate: str | None, since: str | None, fix: bool, form: str | None, kit_root: Path | None
) -> int:
    """Check atoms: one line a file, `PASS` or `FAIL` with what is wrong. Exit 2 where one fails.

    With --since, --fix or --format it prints as `keisei lint atoms` does: lines, columns, hints and warnings.
    """
    catalog = open_catalog(kit_root, quiet=True)
    if since is not None or fix or form is not None:
        report, mended = checked_atoms(catalog, AtomOrder(roots, crate, since, fix))
        PRINTED[form or "text"](report, mended, report.failed)
        return 2 if report.failed else 0
    return _lines(open_shelf(catalog, roots, crate))


def _lines(shelf: Shelf) -> int:
    failed = False
    for each in shelf.judged():
        errors = [_told(problem, each) for problem in each.problems if problem.severity == "error"]
        failed = failed or bool(errors)
        if errors:
            click.echo(f"FAIL\t{_shown(each.path)}\t{' | '.join(errors)}")
        elif each.path.suffix == ".md":
            click.echo(f"PASS\t{_shown(each.path)}")
    return 2 if failed else 0


def _told(problem: Problem, judged: Judged) -> str:
    """The sentence; of a file that the page only names, with its name."""
    own = problem.path == shown_path(judged.path)
    return problem.message if own else f"{printable(Path(problem.path).name)}: {problem.message}"


def _shown(path: Path) -> str:
    return printable(str(path))
