"""`list-atoms` as a click command: the ordinary way to the list."""

from pathlib import Path

import click

from keisei.cli.atom_list import KINDS, STABILITIES, chosen, listed, show
from keisei.cli.output import json_option
from keisei.cli.surroundings import kit_root_option, root_option, settings


@click.command("list-atoms")
@click.option("--kind", type=click.Choice(KINDS), help="Only atoms of this kind.")
@click.option("--crate", "--package", metavar="NAME", help="Only the atoms of this package.")
@click.option("--stability", type=click.Choice(STABILITIES), help="Only atoms that are this stable.")
@root_option
@kit_root_option
@json_option
def command(  # noqa: PLR0913, PLR0917 - click hands every option over
    kind: str | None,
    crate: str | None,
    stability: str | None,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Every atom there is, by id. A page that cannot be used is skipped with a warning; `lint atoms` tells it all."""
    rows, problems = listed(settings(), roots=roots, kit_root=kit_root, package=crate)
    show(chosen(rows, kind=kind, stability=stability), problems, as_json=as_json)
    return 0
