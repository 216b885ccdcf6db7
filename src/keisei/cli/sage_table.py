"""What Sage finds, for people: hits with their words marked, an index in numbers, changes as they come."""

import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from keisei.cli.output import table
from keisei.cli.surroundings import say, warn
from keisei.records.sage import Hit

if TYPE_CHECKING:
    from keisei.wiring.sage import Sage
    from keisei.wiring.sage_refresh import Refreshed


def show_hits(hits: Sequence[Hit]) -> None:
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


def follow(sage: "Sage", *, as_json: bool) -> int:
    """Tell every change until interrupted."""
    from keisei.wiring.sage_watch import followed

    stop = threading.Event()
    first = True
    for done in followed(sage, stop):
        for problem in done.problems if first else ():
            warn(problem)
        if first:
            say(f"following {len(sage.watched())} folders; Ctrl-C ends it")
            first = False
        _tell(done, as_json=as_json)
    return 0


def _tell(done: "Refreshed", *, as_json: bool) -> None:
    for change, keys in (("changed", done.changed), ("gone", done.gone)):
        for node, name in keys:
            if as_json:
                import json

                click.echo(json.dumps({"change": change, "node": node, "name": name}, ensure_ascii=False))
            else:
                click.echo(f"{change}  {node}  {name}")
    sys.stdout.flush()
