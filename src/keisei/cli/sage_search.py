"""`search`: any text, and what of everything authored fits it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.sage_option import MOST, corpus_options, data, node_option, opened
from keisei.cli.surroundings import say
from keisei.contracts.words import nearest
from keisei.records.atom import AtomKind
from keisei.records.sage import Hit, NodeKind


@click.command("search", context_settings={"ignore_unknown_options": True})
@click.argument("text", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Only atoms of this kind: command, query, stream, transform."
)
@node_option
@click.option("--limit", type=click.IntRange(1, MOST), default=20, show_default=True, help="At most so many.")
@corpus_options
@json_option
@click.pass_context
def command(  # noqa: PLR0913, PLR0917 - click hands every option over
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
    with opened(roots, kit_root) as sage:
        found = sage.search(" ".join(text), nodes=nodes, kinds=kinds, limit=limit)
    if as_json:
        emit_json(data(found))
        return 0
    for word, instead in found.repaired.items():
        say(f"nothing says `{word}`; looked for {', '.join(f'`{each}`' for each in instead)}")
    for word in found.unknown:
        say(f"nothing says `{word}`")
    if not found.hits:
        say("nothing found")
    _show(found.hits)
    return 0


def _check_words(ctx: click.Context, text: tuple[str, ...]) -> None:
    """A word that is nearly an option is a misspelt one, and not asked for."""
    options = [name for each in ctx.command.params for name in each.opts if name.startswith("--")]
    for word in text:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in options and (hint := nearest(name, options)):
            raise click.UsageError(f"no such option: {name} ({hint})", ctx)


def _check_kinds(kinds: tuple[str, ...]) -> None:
    known = get_args(AtomKind)
    for kind in kinds:
        if kind not in known:
            raise click.UsageError(f"`{kind}` is no kind of atom: {nearest(kind, known) or ', '.join(known)}")


def _show(hits: Sequence[Hit]) -> None:
    """Hits with the text around the words on a terminal; one line each elsewhere."""
    if not sys.stdout.isatty():
        table(("id", "kind", "title"), [(hit.node.id, hit.node.kind or hit.node.node, hit.node.title) for hit in hits])
        return
    for hit in hits:
        old = click.style("  deprecated", fg="yellow") if hit.node.deprecated else ""
        click.echo(f"{click.style(hit.node.id, bold=True)}  {hit.node.kind or hit.node.node}{old}")
        click.echo(f"    {_marked(hit)}")


def _marked(hit: Hit) -> str:
    parts, end = [], 0
    for start, stop in hit.marks:
        parts += [hit.snippet[end:start], click.style(hit.snippet[start:stop], fg="cyan", bold=True)]
        end = stop
    return "".join(parts) + hit.snippet[end:]
