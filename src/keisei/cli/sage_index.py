"""`index` and `watch`: the index itself."""

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.sage_option import corpus_options, opened, tell_why
from keisei.cli.surroundings import say, settings, warn

if TYPE_CHECKING:
    from keisei.wiring.sage import Sage
    from keisei.wiring.sage_refresh import Refreshed


@click.command("index")
@corpus_options
@json_option
def index(roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Bring the index up to date, as every command does, and tell where it is and what it holds."""
    with opened(roots, kit_root) as sage:
        (nodes, links), file = sage.tally(), sage.file
    if as_json:
        emit_json({"index": None if file is None else str(file), "nodes": nodes, "links": links})
        return 0
    table(("what", "count"), [*nodes.items(), *((f"{kind} links", count) for kind, count in links.items())])
    click.echo(f"index: {file or 'in memory'}")
    return 0


@click.command("watch")
@corpus_options
@json_option
def watch(roots: tuple[Path, ...], kit_root: Path | None, as_json: bool) -> int:
    """Follow changes until interrupted: the index is brought up to date with each, and each is told."""
    from keisei.wiring.atom_runtime import working_directory
    from keisei.wiring.sage import open_sage

    with open_sage(settings(), roots=roots, kit_root=kit_root, start=working_directory(), fresh=False) as sage:
        return _follow(sage, as_json=as_json)


def _follow(sage: "Sage", *, as_json: bool) -> int:
    """Tell every change until interrupted."""
    from keisei.wiring.sage_watch import followed

    first = True
    for done in followed(sage, threading.Event()):
        for problem in done.problems if first else ():
            warn(problem)
        if first:
            tell_why(sage)
            say(f"following {len(sage.watched())} folders; Ctrl-C ends it")
            first = False
        _tell(done, as_json=as_json)
    return 0


def _tell(done: "Refreshed", *, as_json: bool) -> None:
    for change, keys in (("changed", done.changed), ("gone", done.gone)):
        for node, name in keys:
            if as_json:
                click.echo(json.dumps({"change": change, "node": node, "name": name}, ensure_ascii=False))
            else:
                click.echo(f"{change}  {node}  {name}")
    sys.stdout.flush()
