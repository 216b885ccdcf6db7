"""What is shown of a text that was found: a line around the words, and where in it they stand."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from keisei.graph.vault_node import packed
from keisei.rules.query import FOREIGN

if TYPE_CHECKING:
    import apsw

WIDTH: Final = 160
"""Characters that are shown."""
LEAD: Final = 40
"""Characters before the first word that are kept where a line must be cut."""
BEGIN, END = "\x02", "\x03"
_SIGN: Final = re.compile(f"([{BEGIN}{END}])")
_FOREIGN: Final = re.compile(rf"{FOREIGN.pattern}(?<![{BEGIN}{END}])")
SHOWN: Final = """
SELECT rowid, snippet(texts, (SELECT value FROM json_each(?1) WHERE key = texts.rowid), char(2), char(3), '…', 24)
FROM texts WHERE texts MATCH ?2 AND +rowid IN (SELECT value FROM json_each(?3))
"""


class Snippet(NamedTuple):
    """A line and its marks."""

    text: str
    marks: tuple[tuple[int, int], ...]


def snippets(db: "apsw.Connection", expression: str, columns: Mapping[int, int]) -> dict[int, Snippet]:
    """For each key the part of its column that knows most of what is looked for."""
    if not columns:
        return {}
    chosen = msgspec.json.encode(columns).decode()
    rows = db.execute(SHOWN, (chosen, expression, packed(columns)))
    return {key: lined(text or "") for key, text in rows}


def lined(text: str) -> Snippet:
    """A text with marked words as one line that is not too long. Only what was marked and is shown has marks."""
    first, *others = _SIGN.split(" ".join(_FOREIGN.sub(" ", text).split()))
    line, start = first, -1
    marks = []
    for sign, piece in zip(others[::2], others[1::2], strict=True):
        if sign == END and 0 <= start < len(line):
            marks.append((start, len(line)))
        start = len(line) if sign == BEGIN else -1
        line += piece
    return _cut(line, marks)


def _cut(line: str, marks: Sequence[tuple[int, int]]) -> Snippet:
    """A part of a line, of the width that is shown, with the first mark in it."""
    start = 0
    if len(line) > WIDTH and marks:
        start = max(min(marks[0][0] - LEAD, len(line) - WIDTH), 0)
    shown = line[start : start + WIDTH]
    moved = ((max(first - start, 0), min(last - start, len(shown))) for first, last in marks)
    return Snippet(shown, tuple((first, last) for first, last in moved if first < last))
