"""`keisei atom skills`: packages as skills of an agent, and the block of AGENTS.md."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, root_option, say, settings, warn
from keisei.records.error import AuthorError, OperatorError

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomRow, AtomSpec
    from keisei.wiring.atoms import Shelf

LONGEST = 64
"""Characters of a skill's name; a package may have a longer one."""
DIFFERS = 1
"""Exit code of `--check` where a file is not what it would be made to."""


class Target(NamedTuple):
    """One file that is made."""

    folder: Path
    name: str
    content: bytes
    before: bytes | None
    """What stands there; None for nothing."""

    @property
    def shown(self) -> str:
        """Its path, as messages name it."""
        from keisei.library.source import shown_path

        return shown_path(self.folder / self.name)

    @property
    def state(self) -> str:
        """What is to be done."""
        return "missing" if self.before is None else "same" if self.before == self.content else "differs"


@click.command("skills")
@click.argument("packages", nargs=-1, metavar="[PACKAGE]...")
@click.option("--out", type=click.Path(path_type=Path), help="A folder of skills: DIR/PACKAGE/SKILL.md is written.")
@click.option("--agents-md", type=click.Path(path_type=Path), help="A file whose marked block is written.")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 where a file would change.")
@root_option
@kit_root_option
@json_option
def command(  # noqa: PLR0913, PLR0917 - click hands every option over
    packages: tuple[str, ...],
    out: Path | None,
    agents_md: Path | None,
    check: bool,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Make one SKILL.md for each package, or those that are named, and a marked block for AGENTS.md.

    Without --out and --agents-md the skills are printed. Each file is written whole or not at all; in FILE everything
    outside of the block stays as it is. A page that cannot be used is left out, with a warning.
    """
    from keisei.wiring.atoms import open_shelf

    if check and out is None and agents_md is None:
        raise click.UsageError("--check needs --out or --agents-md")
    shelf = open_shelf(settings(), roots=roots, kit_root=kit_root)
    rows = _rows(shelf, packages)
    pages = {} if out is None and agents_md is not None else _pages(shelf, rows)
    if out is None and agents_md is None:
        _show(pages, as_json=as_json)
        return 0
    targets = _skills(out, pages) if out is not None else []
    if agents_md is not None:
        targets.append(_agents(agents_md, rows))
    if not check:
        _write(targets)
    _tell(targets, check=check, as_json=as_json)
    return DIFFERS if check and any(each.state != "same" for each in targets) else 0


def _rows(shelf: "Shelf", packages: Sequence[str]) -> "list[AtomRow]":
    """The atoms of these packages, or of all. Raises OperatorError for one that nobody has."""
    from keisei.contracts.words import nearest

    rows, problems = shelf.rows()
    for problem in problems:
        warn(problem)
    names = {row.atom.partition("::")[0] for row in rows}
    for package in packages:
        if package not in names:
            hint = nearest(package, names) or "`keisei atom list` tells which there are"
            raise OperatorError(f"no package with atoms is called `{package}`", hint)
    return [row for row in rows if not packages or row.atom.partition("::")[0] in packages]


def _pages(shelf: "Shelf", rows: "Sequence[AtomRow]") -> dict[str, str]:
    """The skill of each package. An atom that cannot be used is told, and left out."""
    from keisei.library.package_skill import skill_page

    found: dict[str, list[AtomSpec]] = {}
    for row in rows:
        try:
            spec = shelf.atom(row.atom)
        except AuthorError as error:
            for problem in error.problems:
                warn(problem)
            continue
        found.setdefault(spec.package.name, []).append(spec)
    for package in [name for name in found if len(name) > LONGEST]:
        say(f"package `{package}` is left out: a skill's name has at most {LONGEST} characters")
        del found[package]
    return {package: skill_page(package, specs) for package, specs in sorted(found.items())}


def _skills(out: Path, pages: dict[str, str]) -> list[Target]:
    from keisei.library.skill_file import current

    folder = out.resolve()  # a person may name a symlink; behind it there is none
    return [
        Target(folder / package, "SKILL.md", page.encode(), current(folder / package / "SKILL.md"))
        for package, page in pages.items()
    ]


def _agents(path: Path, rows: "Sequence[AtomRow]") -> Target:
    """The file with its block renewed. Raises AuthorError where its markers do not fit, or it is no text."""
    from keisei.library.package_skill import agents_block, with_block
    from keisei.library.skill_file import current
    from keisei.library.source import read_source, shown_path

    if not path.name:
        raise OperatorError(f"`{path}` is not a file", "name a file such as AGENTS.md")
    path = path.parent.resolve() / path.name
    before = current(path)
    text = "" if before is None else read_source(path).text
    made = with_block(text, agents_block(rows), shown_path(path))
    return Target(path.parent, path.name, made.encode(), before)


def _write(targets: Sequence[Target]) -> None:
    from keisei.library.skill_file import write_in

    for each in targets:
        if each.state != "same":
            write_in(each.folder, each.name, each.content)


def _show(pages: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        emit_json([{"package": package, "page": page} for package, page in pages.items()])
    else:
        click.echo("\n".join(pages.values()), nl=False)


def _tell(targets: Sequence[Target], *, check: bool, as_json: bool) -> None:
    """What was done, or is to be done."""
    if as_json:
        emit_json([{"path": each.shown, "state": _done(each, check=check)} for each in targets])
        return
    for each in targets:
        if each.state != "same":
            click.echo(f"{_done(each, check=check)}: {each.shown}")


def _done(target: Target, *, check: bool) -> str:
    return target.state if check or target.state == "same" else "written"
