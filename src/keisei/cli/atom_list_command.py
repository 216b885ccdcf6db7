"""`list-atoms` as a click command: the ordinary way to the list."""

from pathlib import Path
from typing import get_args

import click

from keisei.cli.atom_list import chosen, listed, show
from keisei.cli.output import json_option
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.atom import AtomKind, Stability


@click.command("list-atoms")
@click.option("--kind", type=click.Choice(get_args(AtomKind)), help="Only atoms of this kind.")
@click.option("--crate", "--package", metavar="NAME", help="Only the atoms of this package.")
@click.option("--stability", type=click.Choice(get_args(Stability)), help="Only atoms that are this stable.")
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
    found = listed(settings(), roots=roots, kit_root=kit_root, package=crate)
    show(found, chosen(found.rows, kind=kind, stability=stability), as_json=as_json)
    return 0
