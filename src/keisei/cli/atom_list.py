"""`kei-runtime list-atoms` and `keisei atom list`: which atoms there are, by id.

The short way answers a plain question without click, because a list is asked for often.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keisei.settings import Settings, read_settings

if TYPE_CHECKING:
    from keisei.records.problem import Problem

CHOICES = frozenset({"kind", "stability", "crate"})
COLUMNS = ("id", "kind", "stability", "path")
Row = dict[str, Any]


def short_list(words: Sequence[str]) -> int | None:
    """Answer a plain question; None where there is more to it, nothing is written then."""
    asked = _asked(words)
    if asked is None or sys.stdout is None or sys.stderr is None:
        return None
    try:
        found = listed(read_settings(), **asked["where"])
    except Exception:  # noqa: BLE001 - the ordinary way meets it again, and knows the words for it
        return None
    except KeyboardInterrupt:
        return 130
    rows = chosen(found.rows, **asked["which"])
    if not rows:  # perhaps for a word that is none, which the ordinary way knows
        return None
    try:
        show(found, rows, as_json=asked["as_json"])
    except BrokenPipeError:  # a reader that went away, as `head` does
        return _silenced(0)
    except OSError as error:
        _write(sys.stderr, f"error: {(error.strerror or str(error)).lower()}: while writing\n")
        return _silenced(1)
    except KeyboardInterrupt:
        return _silenced(130)
    return 0


def _silenced(code: int) -> int:
    """Nothing more can be written; keep Python from trying when it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return code


def _asked(words: Sequence[str]) -> dict[str, Any] | None:
    """The options, where they are plain and right; None otherwise."""
    which: dict[str, str] = {}
    roots: list[Path] = []
    as_json = False
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word == "--json":
            as_json = True
            continue
        option, equals, value = word.partition("=")
        if not equals:
            value = waiting.pop(0) if waiting else ""
        name = option.removeprefix("--")
        if not value or not option.startswith("--") or value.startswith("-"):
            return None
        if name == "root":
            roots.append(Path(value))
        elif name in CHOICES:
            which[name] = value
        else:
            return None
    return {"where": {"roots": roots, "package": which.get("crate")}, "which": which, "as_json": as_json}


class Listing(NamedTuple):
    """What there is."""

    rows: list[Row]
    """Every atom as data, by id."""
    problems: "list[Problem]"
    """A warning for each one that had to be left out."""
    empty: list[Path]
    """Folders that were named and hold no package."""


def listed(
    settings: Settings,
    *,
    roots: Sequence[Path] = (),
    kit_root: Path | None = None,
    package: str | None = None,
) -> Listing:
    """Every atom, or those of one package. Raises OperatorError."""
    from keisei.graph.index import Index
    from keisei.wiring.atom_walk import Walk, find_grounds, find_index

    start = Path.cwd()
    index = find_index(settings, start)
    grounds = find_grounds(settings, roots=roots, kit_root=kit_root, start=start)
    found, problems = Walk(grounds, Index(index) if index is not None else None).listed(package)
    rows = [{**each.body, "path": each.path, "layer": each.place.layer} for each in found]
    empty = [root for root, ground in zip(roots, grounds, strict=False) if next(ground.places(), None) is None]
    return Listing(rows, problems, empty)


def chosen(
    rows: Sequence[Row], *, kind: str | None = None, crate: str | None = None, stability: str | None = None
) -> list[Row]:
    """The rows that were asked for."""
    return [
        row
        for row in rows
        if kind in (None, row["kind"])
        and stability in (None, row["stability"])
        and crate in (None, row["atom"].partition("::")[0])
    ]


def show(found: Listing, rows: Sequence[Row], *, as_json: bool) -> None:
    """The rows on stdout: JSON, a table on a terminal, lines with tabs elsewhere. What is left out on stderr."""
    for root in found.empty:
        _write(sys.stderr, f"warn: no package in {_printable(str(root))}: a page is DIR/PACKAGE/atoms/VERB.md there\n")
    for problem in found.problems:
        _write(sys.stderr, f"warn: skip {_printable(problem.place)}: {_printable(problem.message)}\n")
    if as_json:
        _write(sys.stdout, json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n")
        return
    cells = [[_printable(row[name]) for name in ("atom", "kind", "stability", "path")] for row in rows]
    if not sys.stdout.isatty():
        _write(sys.stdout, "".join("\t".join(row) + "\n" for row in cells))
        return
    table = [list(COLUMNS), *cells]
    widths = [max(len(row[column]) for row in table) for column in range(len(COLUMNS))]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table)
    _write(sys.stdout, "".join(f"{line}\n" for line in lines))


def _write(stream: Any, text: str) -> None:  # noqa: ANN401 - stdout, stderr, or what a test put in their place
    """All of a text, also where the stream cannot say each character."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _printable(text: str) -> str:
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode("ascii") for each in text)
