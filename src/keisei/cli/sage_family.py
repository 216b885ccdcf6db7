"""`facet-query`, `lineage` and `author`: what is authored, by what it says of itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.sage_option import corpus_options, data, node_option, opened, show_nodes
from keisei.records.sage import NodeKind

if TYPE_CHECKING:
    from keisei.records.sage import Ancestor


@click.command("facet-query")
@click.argument("wanted", nargs=-1, metavar="[FACET=VALUE]...")
@node_option
@corpus_options
@json_option
def facet_query(
    wanted: tuple[str, ...], nodes: tuple[NodeKind, ...], roots: tuple[Path, ...], kit_root: Path | None, as_json: bool
) -> int:
    """What has these values in its taxonomy; without any, which facets and values there are."""
    pairs = dict(_pair(word) for word in wanted)
    if len(pairs) < len(wanted):
        raise click.UsageError("each facet may be given once")
    with opened(roots, kit_root) as sage:
        if pairs:
            show_nodes(sage.facets(pairs, nodes), as_json=as_json)
            return 0
        counts = sage.facet_counts(nodes)
    if as_json:
        emit_json([data(each) for each in counts])
    else:
        table(("facet", "value", "count"), [(each.facet, each.value, each.count) for each in counts])
    return 0


def _pair(word: str) -> tuple[str, str]:
    facet, equals, value = word.partition("=")
    if not equals or not facet or not value:
        raise click.UsageError(f"`{word}` is no FACET=VALUE, for example `layer=policy`")
    return facet, value


@click.command("lineage")
@click.argument("name", metavar="ID")
@corpus_options
@json_option
def lineage(name: str, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """What ID was made from, and what was made from it."""
    with opened(roots, kit_root) as sage:
        found = sage.lineage(name)
    if as_json:
        emit_json([data(each) for each in found])
    else:
        table(("generation", "name", "title"), [(each.generation, each.name, _told(each)) for each in found])
    return 0


def _told(member: "Ancestor") -> str:
    return member.node.title if member.node is not None else "(not there)"


@click.command("author")
@click.argument("creator", metavar="[NAME]", required=False)
@corpus_options
@json_option
def author(creator: str | None, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """What NAME made, as lineages say; without a name, who made how much."""
    with opened(roots, kit_root) as sage:
        if creator is not None:
            show_nodes(sage.authored_by(creator), as_json=as_json)
            return 0
        counts = sage.creators()
    if as_json:
        emit_json([{"creator": name, "count": count} for name, count in counts])
    else:
        table(("creator", "count"), counts)
    return 0
