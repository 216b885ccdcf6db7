"""Skills of packages: how an agent calls atoms, made from their pages. And the block that a project's AGENTS.md has.

Pages are hostile text: what is taken from them stands in one line each, and cannot begin or end a marked block.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from keisei.library.atom_spec import LINK
from keisei.library.document import parse_frontmatter
from keisei.library.source import read_source
from keisei.records.atom_spec import AtomRow, AtomSpec
from keisei.records.error import AuthorError
from keisei.records.problem import Problem, printable, tidy
from keisei.rules.atom_effect import only_reads
from keisei.rules.atom_tool import READ, RUN, tool_name

BEGIN = "<!-- keisei atoms: begin -->"
END = "<!-- keisei atoms: end -->"
LONGEST_DESCRIPTION = 1024
MOST_GOTCHAS = 12
MOST_FIELDS = 40
LONGEST_EXAMPLE = 1000


def skill_page(package: str, specs: Sequence[AtomSpec]) -> str:
    """The SKILL.md of a package: its verbs, how each is called, how it fails, what to know.

    The same pages make the same text. A page that cannot be read any more is told without its gotchas.
    """
    ordered = sorted(specs, key=lambda spec: spec.id)
    points = {spec.id: gotchas(spec) for spec in ordered}
    shared = [
        each for each in points[ordered[0].id] if len(ordered) > 1 and all(each in found for found in points.values())
    ]
    lines = [
        "---",
        f"name: {package}",
        f"description: {json.dumps(_description(package, ordered), ensure_ascii=False)}",
        "---",
        "",
        f"# {package}",
        "",
        "<!-- made by `keisei atom skills`: edits are lost -->",
        "",
        "Each verb takes one JSON object and gives one JSON object; a stream gives one on each line. From a shell:",
        "",
        f"    keisei atom invoke {package}::VERB --input '{{...}}'",
        "",
        'Exit 0: `{"result": ..., "metadata": ...}`. Any other: `{"error": {"kind": ..., "message": ...}}`.',
        "2: the verb failed, with a `code` from its list; or there is no such atom, input or output do not fit their",
        "schema, or the call was refused. 1: the input is no JSON, a fault of the machine, or killed. 5: out of time.",
        "127: no program for it. 130: canceled.",
        f"Over MCP: the tool that is named, or `{READ}` and `{RUN}` with `atom` and `input`.",
        f"`keisei atom show {package}::VERB` tells the schemas.",
        *(["", *(f"- {_line(point)}" for point in shared)] if shared else []),
    ]
    for spec in ordered:
        own = [f"- note: {_line(point)}" for point in points[spec.id] if point not in shared]
        lines += ["", f"## {spec.verb}", "", *_verb(spec), *own]
    return "\n".join(lines) + "\n"


def _description(package: str, specs: Sequence[AtomSpec]) -> str:
    verbs = ", ".join(spec.verb for spec in specs)
    words = ", ".join(dict.fromkeys(tidy(word) for spec in specs for word in spec.manifest.keywords))
    text = f"How to call the atoms of {package}: {verbs}."
    text += f" Use when the work is about: {words}." if words else ""
    return text if len(text) <= LONGEST_DESCRIPTION else text[: LONGEST_DESCRIPTION - 1] + "…"


def _verb(spec: AtomSpec) -> Iterator[str]:
    manifest = spec.manifest
    yield _line(spec.summary or spec.id)
    if manifest.deprecated:
        yield from ("", f"Deprecated: {_line(manifest.deprecated)}")
    yield from ("", f"    keisei atom invoke {spec.id} --input {_example(spec)}", "")
    effects = ", ".join(f"{each.op} {each.domain}" for each in manifest.side_effects) or "none"
    changes = "changes nothing" if only_reads(manifest) else "changes something"
    yield f"- {manifest.kind}, {changes}; effects: {_line(effects)}; tool `{tool_name(spec.id)}`"
    yield from _fields(spec.input_schema)
    for error in manifest.errors:
        yield f"- fails with `{error.code}`: {_line(error.description)}"


def _example(spec: AtomSpec) -> str:
    """The first example of the input, as a shell takes it; JSON has other words for what could open a comment."""
    examples = spec.input_schema.get("examples")
    given = json.dumps(examples[0] if isinstance(examples, list) and examples else {}, ensure_ascii=False)
    short = given if len(given) <= LONGEST_EXAMPLE else "{...}"
    return printable(quote(short.replace("<!--", "\\u003c!--").replace("-->", "--\\u003e")))


def _fields(schema: dict[str, Any]) -> Iterator[str]:
    """The input, field by field; a schema may say it in any other way, then nothing is told here."""
    properties, required = schema.get("properties"), schema.get("required")
    needed = required if isinstance(required, list) else []
    for name, field in list(properties.items() if isinstance(properties, dict) else ())[:MOST_FIELDS]:
        about = field.get("description") if isinstance(field, dict) else None
        must = ", required" if name in needed else ""
        yield f"- input `{_line(name)}`{must}{f': {_line(about)}' if isinstance(about, str) else ''}"


def gotchas(spec: AtomSpec) -> list[str]:
    """The points under `## Gotchas`, each in one line."""
    try:
        body = parse_frontmatter(read_source(Path(spec.page)))[1]
    except AuthorError:
        return []
    points: list[str] = []
    inside = False
    for line in body.splitlines():
        if line.startswith("## "):
            inside = line[3:].strip() == "Gotchas"
        elif inside and line.startswith("- "):
            points.append(line[2:])
        elif inside and line.strip() and points:
            points[-1] += f" {line.strip()}"
    return [LINK.sub(r"`\1`", point) for point in points[:MOST_GOTCHAS]]


def agents_block(rows: Iterable[AtomRow]) -> str:
    """What AGENTS.md tells of the atoms, between its two markers: a line for each package, without a last line end."""
    verbs: dict[str, list[str]] = {}
    for row in sorted(rows, key=lambda row: row.atom):
        if not row.deprecated:
            package, _, verb = row.atom.partition("::")
            verbs.setdefault(package, []).append(verb)
    lines = [
        BEGIN,
        "## Atoms",
        "",
        "Verbs that are ready to be called, with checked input and output. Prefer one of them to a script of your own.",
        "An ID is `package::verb`: `keisei atom show ID` tells how it is called and how it fails, and",
        "`keisei atom invoke ID --input '{...}'` calls it. Over MCP `atoms_search` finds it, or it is the",
        "tool `package__verb`.",
        "",
        *(f"- `{package}`: {', '.join(found)}" for package, found in verbs.items()),
        END,
    ]
    return "\n".join(lines)


def with_block(text: str, block: str, shown: str = "AGENTS.md") -> str:
    """The text with this block in the place of its own, or at its end; everything else stays as it is.

    The block takes the line ends of the one it replaces, else of the first line. Raises AuthorError that names the line
    where a marker is alone, stands twice or in the wrong order; `shown` is what the file is called then.
    """
    lines = re.split(r"(?<=\n)", text)
    begins, ends = ([at for at, line in enumerate(lines) if line.strip() == mark] for mark in (BEGIN, END))
    if not begins and not ends:
        end = _line_end(lines[0])
        return text + _gap(text, end) + block.replace("\n", end) + end
    if problem := _unfit(begins, ends):
        raise AuthorError([Problem(code="marked-block", path=shown, line=problem[0] + 1, column=1, message=problem[1])])
    first, last = begins[0], ends[0]
    after = lines[last][len(lines[last].rstrip("\r\n")) :]
    made = block.replace("\n", _line_end(lines[first]))
    return "".join(lines[:first]) + made + after + "".join(lines[last + 1 :])


def _line_end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n"


def _gap(text: str, end: str) -> str:
    """What stands between the author's text and ours: an empty line."""
    if not text or text.endswith(end * 2):
        return ""
    return end if text.endswith("\n") else end * 2


def _unfit(begins: Sequence[int], ends: Sequence[int]) -> tuple[int, str] | None:
    """The line that is wrong, from 0, and why; None where there is one of each, the beginning first."""
    for found, mark in ((begins, BEGIN), (ends, END)):
        if len(found) > 1:
            return found[1], f"`{mark}` stands here a second time"
    if not ends:
        return begins[0], f"`{BEGIN}` is never closed by `{END}`"
    if not begins or begins[0] > ends[0]:
        return ends[0], f"`{END}` closes nothing: no `{BEGIN}` stands before it"
    return None


def _line(text: str) -> str:
    """Text of a page as one line that opens and closes no comment."""
    return tidy(" ".join(text.split())).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
