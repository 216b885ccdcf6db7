"""The text of a unified diff: hunks written down, and read again."""

import re
from collections.abc import Iterator

from kei_text.context import Context
from kei_text.hunk import Hunk

HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@", re.ASCII)
UNENDED = "\\ No newline at end of file"
"""What stands behind a line that nothing ends."""


def written(hunks: list[Hunk], old_name: str, new_name: str) -> str:
    """The unified diff; empty without hunks."""
    if not hunks:
        return ""
    return "".join([f"--- {old_name}\n+++ {new_name}\n", *(part for hunk in hunks for part in _parts(hunk))])


def _parts(hunk: Hunk) -> Iterator[str]:
    yield f"@@ -{_range(hunk.at, len(hunk.old()))} +{_range(hunk.new_at, len(hunk.new()))} @@\n"
    for sign, line in hunk.marked:
        yield sign + line if line.endswith("\n") else f"{sign}{line}\n{UNENDED}\n"


def _range(at: int, count: int) -> str:
    """A range as every tool writes it: without lines it names the line before."""
    if count == 1:
        return str(at + 1)
    return f"{at + 1 if count else at},{count}"


def read_hunks(context: Context, diff: str) -> list[Hunk]:
    """The hunks of a diff of one file; what stands before the first is not looked at. Raises BadDiff."""
    lines = diff.split("\n")
    at = next((index for index, line in enumerate(lines) if line.startswith("@@ ")), len(lines))
    if at == len(lines) and diff.strip():
        raise context.error("BadDiff", "there is no hunk: no line begins with `@@ `")
    hunks: list[Hunk] = []
    while at < len(lines):
        if not lines[at]:
            at += 1
            continue
        hunk, at = _read_hunk(context, lines, at)
        hunks.append(hunk)
    return hunks


def _read_hunk(context: Context, lines: list[str], at: int) -> tuple[Hunk, int]:
    header = HEADER.match(lines[at])
    if header is None:
        raise context.error("BadDiff", f"line {at + 1}: a hunk is expected here, of one file: `@@ -1,2 +1,2 @@`")
    start, count, new_start, new_count = (int(found) if found is not None else 1 for found in header.groups())
    left, new_left, marked = count, new_count, list[tuple[str, str]]()
    at += 1
    while left or new_left or (at < len(lines) and lines[at].startswith("\\")):
        sign, line = _signed(context, lines, at, marked)
        at += 1
        if sign == "\\":
            marked[-1] = (marked[-1][0], marked[-1][1].removesuffix("\n"))
            continue
        marked.append((sign, line))
        left, new_left = left - (sign != "+"), new_left - (sign != "-")
        if left < 0 or new_left < 0:
            raise context.error("BadDiff", f"line {at}: the hunk has more lines than its header says")
    return Hunk(start - bool(count), new_start - bool(new_count), marked), at


def _signed(context: Context, lines: list[str], at: int, marked: list[tuple[str, str]]) -> tuple[str, str]:
    """The next line of a hunk; an empty one is an empty line of context whose blank an editor has taken away."""
    if at >= len(lines) - (not lines[-1]):
        raise context.error("BadDiff", f"line {at + 1}: the diff ends inside a hunk")
    sign, line = lines[at][:1] or " ", lines[at][1:] + "\n"
    if sign not in " +-\\" or (sign == "\\" and not marked):
        raise context.error("BadDiff", f"line {at + 1}: a line of a hunk begins with ` `, `+` or `-`")
    return sign, line
