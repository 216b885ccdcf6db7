"""Output: JSON for machines, tables for people, plain columns for pipes."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from keisei.records.error import WorldFault

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """`--json`, on every command that reads."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def emit_json(value: object) -> None:
    """Data on stdout, and nothing else there."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Rows for people on a terminal; aligned columns, never cut, where the output goes elsewhere."""
    cells = [[str(cell) for cell in row] for row in rows]
    if sys.stdout.isatty():
        _rich(headers, cells)
        return
    widths = [max(len(row[column]) for row in [list(headers), *cells]) for column in range(len(headers))]
    for row in [list(headers), *cells]:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _rich(headers: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    grid = Table(*headers, box=None, pad_edge=False, header_style="bold")
    for row in cells:
        grid.add_row(*(Text(cell) for cell in row))
    Console().print(grid)


def write_whole(path: Path, content: bytes) -> None:
    """The whole file or nothing: written beside, then moved over. A symlink in its place is replaced, not followed.

    A device or a pipe, also behind a symlink as /dev/stdout is, is written to.
    """
    import tempfile

    waiting = None
    try:
        if _takes_bytes(path):
            path.write_bytes(content)
            return
        handle, waiting = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(waiting).chmod(0o644)
        Path(waiting).replace(path)
    except OSError as error:
        if waiting is not None:
            Path(waiting).unlink(missing_ok=True)
        message = f"cannot write {path}: {(error.strerror or str(error)).lower()}"
        raise WorldFault(message, "check the folder and its free space") from error


def _takes_bytes(path: Path) -> bool:
    """Whether a device, a pipe or a socket stands there."""
    import stat

    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)
