"""`keisei sage` and `kei-sage`: what is authored, found, ranked, related and drawn."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from keisei import __version__
from keisei.cli.output import emit_json, json_option, table, write_whole
from keisei.cli.sage_table import show_hits
from keisei.cli.surroundings import kit_root_option, root_option, say, settings, warn
from keisei.contracts.words import nearest
from keisei.records.sage import Direction, EdgeKind, NodeKind, PictureForm

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from keisei.records.sage import Ancestor, Node
    from keisei.wiring.sage import Sage

F = TypeVar("F", bound=Callable[..., Any])
DEEPEST = 10
MOST = 10_000
TELLING = 20
"""Warnings about broken files that are told one by one."""


class _Edges(click.ParamType[tuple[EdgeKind, ...]]):
    """Kinds of edges, separated by commas; `all` for every one."""

    name = "edges"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[EdgeKind, ...]:  # noqa: ANN401 - click's own
        if isinstance(value, tuple):
            return value
        known: tuple[EdgeKind, ...] = get_args(EdgeKind)
        words = [word.strip() for word in str(value).split(",")]
        unknown = next((word for word in words if word not in (*known, "all")), None)
        if unknown is not None:
            hint = nearest(unknown, known) or f"there are {', '.join(known)}, all"
            self.fail(f"`{unknown}` is no kind of edge ({hint})", param, ctx)
        return tuple(kind for kind in known if kind in words or "all" in words)


def _node_option(command: F) -> F:
    choice = click.Choice(get_args(NodeKind))
    return click.option("--node", "nodes", multiple=True, type=choice, help="Only these; may be given again.")(command)


def _edges_option(default: str) -> Callable[[F], F]:
    text = "Which edges count, separated by commas: related, body, uses, lineage, domain, feeds, together, or all."
    return click.option("--edges", type=_Edges(), default=default, show_default=True, metavar="KINDS", help=text)


def _direction_option(command: F) -> F:
    return click.option(
        "--direction",
        type=click.Choice(get_args(Direction)),
        default="both",
        show_default=True,
        help="Along the edges, against them, or both.",
    )(command)


def _corpus_options(command: F) -> F:
    return root_option(kit_root_option(command))


@click.group("sage", context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def group() -> None:
    """Find, rank, relate and draw what is authored.

    Atoms, capabilities, roles, skills, workflows, task types and rules of all layers are kept in an index that follows
    their files. It may be deleted at any time.
    """


program = click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(group)


@group.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Only atoms of this kind: command, query, stream, transform."
)
@_node_option
@click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True, help="At most so many.")
@_corpus_options
@json_option
@click.pass_context
def search(  # noqa: PLR0913, PLR0917 - click hands every option over
    ctx: click.Context,
    text: tuple[str, ...],
    kinds: tuple[str, ...],
    nodes: tuple[NodeKind, ...],
    limit: int,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """What fits TEXT, the best first. Any text may be asked; beginnings of words and misspelt ones are understood."""
    _check_words(ctx, text)
    _check_kinds(kinds)
    with _open(roots, kit_root) as sage:
        found = sage.search(" ".join(text), nodes=nodes, kinds=kinds, limit=limit)
    if as_json:
        emit_json(_data(found))
        return 0
    for word, instead in found.repaired.items():
        say(f"nothing says `{word}`; looked for {', '.join(f'`{each}`' for each in instead)}")
    show_hits(found.hits)
    return 0


def _check_words(ctx: click.Context, text: tuple[str, ...]) -> None:
    """A word that is nearly an option is a misspelt one, and not asked for."""
    options = [name for each in ctx.command.params for name in each.opts if name.startswith("--")]
    for word in text:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in options and (hint := nearest(name, options)):
            raise click.UsageError(f"no such option: {name} ({hint})", ctx)


def _check_kinds(kinds: tuple[str, ...]) -> None:
    from keisei.records.atom import AtomKind

    known = get_args(AtomKind)
    for kind in kinds:
        if kind not in known:
            raise click.UsageError(f"`{kind}` is no kind of atom: {nearest(kind, known) or ', '.join(known)}")


@group.command("rank-atoms")
@_edges_option("related,body")
@_node_option
@click.option("--limit", type=click.IntRange(1, MOST * 100), help="At most so many; all of them unless given.")
@_corpus_options
@json_option
def rank_atoms(  # noqa: PLR0913, PLR0917 - as above
    edges: tuple[EdgeKind, ...],
    nodes: tuple[NodeKind, ...],
    limit: int | None,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Atoms by how much leads to them (PageRank over their links). --node ranks other things, or several kinds."""
    with _open(roots, kit_root) as sage:
        found = sage.ranked(nodes=nodes or ("atom",), edges=edges, limit=limit)
    if as_json:
        emit_json([_data(each) for each in found])
    else:
        table(("rank", "id", "title"), [(f"{each.rank:.6f}", each.node.id, each.node.title) for each in found])
    return 0


@group.command("related")
@click.argument("name", metavar="ID")
@click.option("--depth", type=click.IntRange(1, DEEPEST), default=2, show_default=True, help="How many steps away.")
@click.option(
    "--by",
    type=click.Choice(["links", "rank"]),
    default="links",
    show_default=True,
    help="By the number of steps, or by a walk that always returns to ID.",
)
@_edges_option("related,body,uses,lineage")
@_node_option
@_direction_option
@click.option("--limit", type=click.IntRange(1, MOST), default=100, show_default=True, help="At most so many.")
@_corpus_options
@json_option
def related(name: str, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool, **question: Any) -> int:  # noqa: ANN401 - options by name
    """What ID leads to, and what leads to it."""
    with _open(roots, kit_root) as sage:
        found = sage.related(name, **question)
    if as_json:
        emit_json([_data(each) for each in found])
        return 0
    rows = [(each.depth, each.node.id, each.direction, ",".join(each.by), each.node.title) for each in found]
    table(("depth", "id", "direction", "by", "title"), rows)
    return 0


@group.command("graph")
@click.argument("name", metavar="ID")
@click.option("--depth", type=click.IntRange(0, DEEPEST), default=2, show_default=True, help="How many steps away.")
@click.option(
    "--format",
    "form",
    type=click.Choice(get_args(PictureForm)),
    default="graphml",
    show_default=True,
    help="What to write.",
)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, whole or not at all.")
@_edges_option("related,body,uses,lineage")
@_node_option
@_direction_option
@click.option("--most", type=click.IntRange(1, MOST), default=500, show_default=True, help="At most so many things.")
@_corpus_options
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
def graph(  # noqa: PLR0913, PLR0917 - as above
    name: str,
    form: PictureForm,
    out: Path | None,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    as_json: bool,
    **question: Any,  # noqa: ANN401 - options by name
) -> int:
    """The graph around ID as GraphML, Graphviz, Mermaid, JSON or a picture."""
    with _open(roots, kit_root) as sage:
        picture = sage.picture(name, **question)
        text = sage.drawn(picture, "json" if as_json else form)
    if picture.left_out:
        say(f"{picture.left_out} more are near enough and left out; --most takes more of them in")
    if out is None:
        click.echo(text, nl=False)
    else:
        write_whole(out, text.encode("utf-8"))
    return 0


@group.command("facet-query")
@click.argument("wanted", nargs=-1, metavar="[FACET=VALUE]...")
@_node_option
@_corpus_options
@json_option
def facet_query(
    wanted: tuple[str, ...], nodes: tuple[NodeKind, ...], roots: tuple[Path, ...], kit_root: Path | None, as_json: bool
) -> int:
    """What has these values in its taxonomy; without any, which facets and values there are."""
    pairs = dict(_pair(word) for word in wanted)
    with _open(roots, kit_root) as sage:
        if pairs:
            _show_nodes(sage.facets(pairs, nodes), as_json=as_json)
            return 0
        counts = sage.facet_counts(nodes)
    if as_json:
        emit_json([_data(each) for each in counts])
    else:
        table(("facet", "value", "count"), [(each.facet, each.value, each.count) for each in counts])
    return 0


def _pair(word: str) -> tuple[str, str]:
    facet, equals, value = word.partition("=")
    if not equals or not facet or not value:
        raise click.UsageError(f"`{word}` is no FACET=VALUE, for example `layer=policy`")
    return facet, value


@group.command("lineage")
@click.argument("name", metavar="ID")
@_corpus_options
@json_option
def lineage(name: str, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """What ID was made from, and what was made from it."""
    with _open(roots, kit_root) as sage:
        found = sage.lineage(name)
    if as_json:
        emit_json([_data(each) for each in found])
    else:
        table(("generation", "name", "title"), [(each.generation, each.name, _told(each)) for each in found])
    return 0


def _told(member: "Ancestor") -> str:
    return member.node.title if member.node is not None else "(not there)"


@group.command("author")
@click.argument("creator", metavar="[NAME]", required=False)
@_corpus_options
@json_option
def author(creator: str | None, roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """What NAME made, as lineages say; without a name, who made how much."""
    with _open(roots, kit_root) as sage:
        if creator is not None:
            _show_nodes(sage.authored_by(creator), as_json=as_json)
            return 0
        counts = sage.creators()
    if as_json:
        emit_json([{"creator": name, "count": count} for name, count in counts])
    else:
        table(("creator", "count"), counts)
    return 0


@group.command("index")
@_corpus_options
@json_option
def index(roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Bring the index up to date, as every command does, and tell where it is and what it holds."""
    with _open(roots, kit_root) as sage:
        (nodes, links), file = sage.tally(), sage.file
    if as_json:
        emit_json({"index": None if file is None else str(file), "nodes": nodes, "links": links})
        return 0
    table(("what", "count"), [*nodes.items(), *((f"{kind} links", count) for kind, count in links.items())])
    click.echo(f"index: {file or 'in memory'}")
    return 0


@group.command("watch")
@_corpus_options
@json_option
def watch(roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Follow changes until interrupted: the index is brought up to date with each, and each is told."""
    from keisei.cli.sage_table import follow

    with _open(roots, kit_root, quiet=True) as sage:
        return follow(sage, as_json=as_json)


def _open(roots: tuple[Path, ...], kit_root: Path | None, *, quiet: bool = False) -> "AbstractContextManager[Sage]":
    """What is authored here, the index up to date. What cannot be read is told on stderr, unless `quiet`."""
    from contextlib import contextmanager

    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.sage import open_sage

    @contextmanager
    def opened() -> Any:  # noqa: ANN401 - a generator of Sage
        with open_sage(settings(), roots=roots, kit_root=kit_root, start=working_directory(), fresh=False) as sage:
            if not quiet:
                problems = sage.refresh().problems
                for problem in problems[:TELLING]:
                    warn(problem)
                if len(problems) > TELLING:
                    say(f"{len(problems) - TELLING} more files cannot be read; `keisei lint` tells them all")
                if sage.vault.why:
                    say(f"the index is not kept: {sage.vault.why}")
            yield sage

    return opened()


def _show_nodes(nodes: "list[Node]", *, as_json: bool) -> None:
    if as_json:
        emit_json([_data(each) for each in nodes])
    else:
        table(("id", "kind", "title"), [(each.id, each.kind or each.node, each.title) for each in nodes])


def _data(value: object) -> Any:  # noqa: ANN401 - plain JSON
    from msgspec import to_builtins

    return to_builtins(value)
