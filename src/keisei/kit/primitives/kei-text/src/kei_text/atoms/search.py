"""kei-text::search."""

import re
from bisect import bisect_right
from itertools import accumulate

from kei_text.context import Context, Data
from kei_text.line import MOST_CHARACTERS, check_texts, lines_of, unended
from kei_text.pattern import pattern_of

SHOWN = 300
"""Characters of a line that are shown with a match."""


def run(given: Data, context: Context) -> Data:
    """Where a text holds what is looked for. Raises BadPattern, NotText."""
    check_texts(context, given["text"], given["find"])
    lines = lines_of(given["text"])
    starts = [0, *accumulate(map(len, lines))]
    matches, count, room = list[Data](), 0, MOST_CHARACTERS
    for found in pattern_of(context, given).finditer(given["text"]):
        count += 1
        room -= len(found[0]) + sum(len(group or "") for group in found.groups())
        if len(matches) < given.get("limit", 100) and room >= 0:
            matches.append(_match(found, lines, starts))
    return {"matches": matches, "count": count, "truncated": len(matches) < count}


def _match(found: re.Match[str], lines: list[str], starts: list[int]) -> Data:
    # a match at the very end of a text that ends with a line end stands on a line that is not there yet
    line = bisect_right(starts, found.start()) - 1
    shown = unended(lines[line])[:SHOWN] if line < len(lines) else ""
    return {
        "line": line + 1,
        "column": found.start() - starts[line] + 1,
        "start": found.start(),
        "end": found.end(),
        "match": found[0],
        "groups": list(found.groups()),
        "text": shown,
    }
