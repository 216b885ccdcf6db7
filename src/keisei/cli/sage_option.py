"""What every question of Sage may say: which corpus, which nodes, which edges; and what it is asked of."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click

from keisei.cli.output import emit_json, table
from keisei.cli.surroundings import kit_root_option, root_option, say, settings, warn
from keisei.contracts.words import nearest
from keisei.records.sage import Direction, EdgeKind, NodeKind

if TYPE_CHECKING:
    from keisei.records.sage import Node
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


def node_option(command: F) -> F:
    """`--node`, wherever kinds of things are chosen."""
    choice = click.Choice(get_args(NodeKind))
    return click.option("--node", "nodes", multiple=True, type=choice, help="Only these; may be given again.")(command)


def edges_option(default: str) -> Callable[[F], F]:
    """`--edges` with what it is unless given."""
    kinds = "related, body, uses, lineage, domain, feeds, supplies, together, or all"
    text = f"Which edges count, separated by commas: {kinds}."
    return click.option("--edges", type=_Edges(), default=default, show_default=True, metavar="KINDS", help=text)


def direction_option(command: F) -> F:
    """`--direction`, wherever edges are followed."""
    return click.option(
        "--direction",
        type=click.Choice(get_args(Direction)),
        default="both",
        show_default=True,
        help="Along the edges, against them, or both.",
    )(command)


def corpus_options(command: F) -> F:
    """`--root` and `--kit-root`."""
    return root_option(kit_root_option(command))


@contextmanager
def opened(roots: tuple[Path, ...], kit_root: Path | None) -> "Iterator[Sage]":
    """What is authored here, the index up to date. What cannot be read, and why nothing is kept, is told on stderr."""
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.sage import open_sage

    with open_sage(settings(), roots=roots, kit_root=kit_root, start=working_directory(), fresh=False) as sage:
        problems = sage.refresh().problems
        for problem in problems[:TELLING]:
            warn(problem)
        if len(problems) > TELLING:
            say(f"{len(problems) - TELLING} more files cannot be read; `keisei lint` tells them all")
        yield sage
        tell_why(sage)


def tell_why(sage: "Sage") -> None:
    """Where the index is in memory, why, on stderr."""
    if sage.why:
        say(f"the index is not kept: {sage.why}")


def show_nodes(nodes: "list[Node]", *, as_json: bool) -> None:
    """Things as a table, or as JSON."""
    if as_json:
        emit_json([data(each) for each in nodes])
    else:
        table(("id", "kind", "title"), [(each.id, each.kind or each.node, each.title) for each in nodes])


def data(value: object) -> Any:  # noqa: ANN401 - plain JSON
    """A record as plain data."""
    from msgspec import to_builtins

    return to_builtins(value)
