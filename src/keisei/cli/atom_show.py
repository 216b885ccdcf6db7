"""`keisei atom show`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.invoke import UNKNOWN
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, root_option, settings
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomSpec
    from keisei.wiring.atoms import Shelf


@click.command("show")
@click.argument("atom_id", metavar="ID")
@root_option
@kit_root_option
@json_option
def command(atom_id: str, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """One atom: its page, its schemas, what its effects mean, and where it stands."""
    from keisei.rules.atom_telling import atom_data
    from keisei.wiring.atoms import open_shelf

    spec = found_atom(open_shelf(settings(), roots=roots, kit_root=kit_root), atom_id)
    if as_json:
        emit_json(atom_data(spec))
    else:
        click.echo(_text(spec))
    return 0


def found_atom(shelf: "Shelf", atom_id: str) -> "AtomSpec":
    """The atom. One that nobody has is told, and exits 2. Raises AuthorError."""
    from keisei.cli.door import say_error
    from keisei.records.error import MissingAtom

    try:
        return shelf.atom(atom_id)
    except MissingAtom as error:
        say_error(error)
        raise click.exceptions.Exit(UNKNOWN) from error


def _text(spec: "AtomSpec") -> str:
    import json

    from keisei.library.document import parse_frontmatter
    from keisei.library.source import read_source, shown_path
    from keisei.rules.atom_telling import decisions

    manifest, package = spec.manifest, spec.package
    effects = ", ".join(f"{each.op} {each.domain}" for each in manifest.side_effects) or "none, it is pure"
    runs = shown_path(Path(spec.function)) if spec.function else f"the program `{package.name}`"
    lines = [
        f"{spec.id}: {manifest.kind}, version {manifest.version}, {manifest.stability}",
        *([f"deprecated: {manifest.deprecated}"] if manifest.deprecated else []),
        f"page: {shown_path(Path(spec.page))}",
        f"runs: {runs} ({package.metadata.backend})",
        f"effects: {effects}",
        *(f"{name}: {sentence}" for name, sentence in decisions(manifest).items()),
        f"time: at most {manifest.timeout_ms / 1000:g} s",
        *(f"fails: {each.code} ({each.http_analog or '-'}): {each.description}" for each in manifest.errors),
        f"input: {json.dumps(spec.input_schema, indent=2, ensure_ascii=False)}",
        f"output: {json.dumps(spec.output_schema, indent=2, ensure_ascii=False)}",
        "",
        parse_frontmatter(read_source(Path(spec.page)))[1].strip("\n"),
    ]
    return "\n".join(printable(line) for line in "\n".join(lines).split("\n"))
