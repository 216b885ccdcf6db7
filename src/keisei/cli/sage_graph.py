"""`rank-atoms`, `related` and `graph`: what is authored, along its edges."""

from pathlib import Path
from typing import Any, get_args

import click
from click.core import ParameterSource

from keisei.cli.output import emit_json, json_option, table, write_whole
from keisei.cli.sage_option import (
    DEEPEST,
    MOST,
    corpus_options,
    data,
    direction_option,
    edges_option,
    node_option,
    opened,
)
from keisei.cli.surroundings import say
from keisei.records.sage import EdgeKind, NodeKind, PictureForm


@click.command("rank-atoms")
@edges_option("related,body")
@node_option
@click.option("--limit", type=click.IntRange(1, MOST * 100), help="At most so many; all of them unless given.")
@corpus_options
@json_option
def rank_atoms(  # noqa: PLR0913, PLR0917 - click hands every option over
    edges: tuple[EdgeKind, ...],
    nodes: tuple[NodeKind, ...],
    limit: int | None,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Atoms by how much leads to them (PageRank over their links). --node ranks other things, or several kinds."""
    with opened(roots, kit_root) as sage:
        found = sage.ranked(nodes=nodes or ("atom",), edges=edges, limit=limit)
    if as_json:
        emit_json([data(each) for each in found])
    else:
        table(("rank", "id", "title"), [(f"{each.rank:.6f}", each.node.id, each.node.title) for each in found])
    return 0


@click.command("related")
@click.argument("name", metavar="ID")
@click.option("--depth", type=click.IntRange(1, DEEPEST), default=2, show_default=True, help="How many steps away.")
@click.option(
    "--by",
    type=click.Choice(["links", "rank"]),
    default="links",
    show_default=True,
    help="By the number of steps, or by a walk that always returns to ID.",
)
@edges_option("related,body,uses,lineage")
@node_option
@direction_option
@click.option("--limit", type=click.IntRange(1, MOST), default=100, show_default=True, help="At most so many.")
@corpus_options
@json_option
def related(name: str, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool, **question: Any) -> int:  # noqa: ANN401 - options by name
    """What ID leads to, and what leads to it."""
    with opened(roots, kit_root) as sage:
        found = sage.related(name, **question)
    if as_json:
        emit_json([data(each) for each in found])
        return 0
    rows = [(each.depth, each.node.id, each.direction, ",".join(each.by), each.node.title) for each in found]
    table(("depth", "id", "direction", "by", "title"), rows)
    return 0


@click.command("graph")
@click.argument("name", metavar="ID")
@click.option("--depth", type=click.IntRange(1, DEEPEST), default=2, show_default=True, help="How many steps away.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(PictureForm)),
    default="graphml",
    show_default=True,
    help="What to write.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, whole or not at all.")
@edges_option("related,body,uses,lineage")
@node_option
@direction_option
@click.option("--most", type=click.IntRange(1, MOST), default=500, show_default=True, help="At most so many things.")
@corpus_options
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.pass_context
def graph(  # noqa: PLR0913, PLR0917 - as above
    ctx: click.Context,
    /,
    name: str,
    form: PictureForm,
    out: Path | None,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
    **question: Any,  # noqa: ANN401 - options by name
) -> int:
    """The graph around ID as GraphML, Graphviz, Mermaid, JSON or a picture."""
    if as_json and form != "json" and ctx.get_parameter_source("form") is not ParameterSource.DEFAULT:
        raise click.UsageError(f"--json is --format json, and --format {form} is something else")
    with opened(roots, kit_root) as sage:
        picture = sage.picture(name, **question)
        text, part = sage.drawn(picture, "json" if as_json else form)
    if part.left_out > picture.left_out:
        say(f"{part.left_out} more are near enough and left out: {form} holds no more than this")
    elif part.left_out:
        say(f"{part.left_out} more are near enough and left out; --most takes more of them in")
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode("utf-8"))
    return 0
