"""What a verb's help tells of its page: gotchas, errors, an example. Pages are hostile text."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from keisei.records.error import AuthorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.atom_spec import AtomSpec


def sections(body: str) -> dict[str, list[str]]:
    """The lines under each `## Heading`."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in body.splitlines():
        if line.startswith("## "):
            lines = found.setdefault(line[3:].strip(), [])
        else:
            lines.append(line)
    return found


def example(body: str) -> list[str]:
    """The lines of its example that are code: indented, or between fences."""
    lines, fenced = [], False
    for line in sections(body).get("Example", []):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            lines.append(line if fenced else line[4:])
    return lines


def bullets(body: str, heading: str) -> list[str]:
    """The points of a list, each as one line."""
    from keisei.library.atom_spec import LINK

    points: list[str] = []
    for line in sections(body).get(heading, []):
        if line.startswith("- "):
            points.append(line[2:])
        elif line.strip() and points:
            points[-1] += f" {line.strip()}"
    return [LINK.sub(r"\1", point) for point in points]


def write_page(spec: "AtomSpec", formatter: click.HelpFormatter) -> None:
    """Example, gotchas and errors, as far as there are any."""
    body = _body(spec)
    if code := example(body):
        with formatter.section("Example"):
            for line in code:
                formatter.write(f"{' ' * formatter.current_indent}{printable(line)}\n")
    if points := bullets(body, "Gotchas"):
        with formatter.section("Gotchas"):
            formatter.write_dl([("-", printable(point)) for point in points])
    if spec.manifest.errors:
        with formatter.section("Errors"):
            formatter.write_dl([(each.code, printable(each.description)) for each in spec.manifest.errors])


def _body(spec: "AtomSpec") -> str:
    from keisei.library.document import parse_frontmatter
    from keisei.library.source import read_source

    try:
        return parse_frontmatter(read_source(Path(spec.page)))[1]
    except AuthorError:  # gone since it was found
        return ""
