"""`keisei ledger export` and `import`: the whole ledger as a file, and back."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from keisei.cli.desk import actor, desk
from keisei.cli.ledger_verify import checkpoints_hold
from keisei.cli.output import emit_json, json_option
from keisei.records.error import WorldFault

SQLITE = b"SQLite format 3\x00"


@click.command("export")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
def export(file: Path) -> int:
    """Write the ledger as JSON Lines to FILE, or to stdout. A ledger that does not hold is not exported."""
    from keisei.wiring.ledger_export import export_lines
    from keisei.wiring.signing import origin

    with desk() as opened:
        lines = export_lines(opened.store, origin(opened.home.name))
        if str(file) == "-":
            for line in lines:
                sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
        else:
            _write(file, lines)
    return 0


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@json_option
def import_file(file: Path, as_json: bool) -> int:
    """Take in an exported ledger, or the original's ledger.sqlite. All or nothing; the same again changes nothing.

    An export is proved first, row by row and checkpoint by checkpoint. It goes into a ledger that is empty, or that it
    goes on from. Agents of the original become rows by hand.
    """
    from keisei.wiring.ledger_import import import_ledger
    from keisei.wiring.signing import origin

    with desk() as opened:
        if _begins(file) == SQLITE:
            told, words = _agents(opened.store, file)
        else:
            done = import_ledger(opened.store, origin(opened.home.name), file)
            told = done._asdict()
            words = f"imported {done.rows} rows; {done.known} were known; {checkpoints_hold(done.checkpoints)}"
    if as_json:
        emit_json(told)
    else:
        click.echo(words)
    return 0


def _agents(store: Any, file: Path) -> tuple[dict[str, Any], str]:  # noqa: ANN401 - a store
    from keisei.records.problem import printable
    from keisei.store.foreign import read_agents
    from keisei.wiring.ledger_import_agents import take_over_agents

    done = take_over_agents(store, read_agents(file), actor())
    told = {**done._asdict(), "left_out": [{"agent_id": name, "why": why} for name, why in done.left_out]}
    left = "".join(f"\nleft out {printable(name)}: {printable(why)}" for name, why in done.left_out)
    return told, f"imported {done.rows} rows of {done.agents} agents{left}"


def _begins(file: Path) -> bytes:
    """The first bytes of a file; none where it is no file, which is told later."""
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as opened:
            return opened.read(len(SQLITE))
    except (OSError, ValueError):
        return b""


def _write(path: Path, lines: Iterable[bytes]) -> None:
    """The whole file or nothing: written beside, then moved over."""
    import tempfile

    waiting = None
    try:
        handle, waiting = tempfile.mkstemp(prefix=f".{path.name[:100]}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.writelines(lines)
        Path(waiting).chmod(0o644)
        Path(waiting).replace(path)
        waiting = None
    except (OSError, ValueError) as error:
        why = (error.strerror or str(error)).lower() if isinstance(error, OSError) else str(error)
        raise WorldFault(f"cannot write {path}: {why}", "check the folder and its free space") from error
    finally:
        if waiting is not None:
            Path(waiting).unlink(missing_ok=True)
