"""kei-text::patch."""

from kei_text.context import Context, Data
from kei_text.diff_text import read_hunks
from kei_text.line import check_size, check_texts, lines_of
from kei_text.placement import applied


def run(given: Data, context: Context) -> Data:
    """The text with a unified diff applied, whole or not at all. Raises BadDiff, DoesNotApply, NotText, TooLarge."""
    check_texts(context, given["text"], given["diff"])
    hunks = read_hunks(context, given["diff"])
    if given.get("reverse", False):
        hunks = [hunk.reversed() for hunk in hunks]
    placed = applied(context, lines_of(given["text"]), hunks, given.get("max_offset", 100))
    text = "".join(placed.lines)
    check_size(context, len(text))
    return {
        "text": text,
        "added": sum(hunk.count("+") for hunk in hunks),
        "removed": sum(hunk.count("-") for hunk in hunks),
        "hunks": [{"line": at + 1, "offset": offset} for at, offset in placed.starts],
    }
