"""kei-text::diff."""

from kei_text.context import Context, Data
from kei_text.diff_text import written
from kei_text.hunk import hunks_between
from kei_text.line import check_size, check_texts, lines_of


def run(given: Data, context: Context) -> Data:
    """The unified diff from one text to another. Raises NotText, TooLarge."""
    names = (given.get("before_name", "before"), given.get("after_name", "after"))
    check_texts(context, given["before"], given["after"], *names)
    hunks = hunks_between(lines_of(given["before"]), lines_of(given["after"]), given.get("context", 3))
    diff = written(hunks, *names)
    check_size(context, len(diff))
    return {
        "diff": diff,
        "added": sum(hunk.count("+") for hunk in hunks),
        "removed": sum(hunk.count("-") for hunk in hunks),
        "hunks": len(hunks),
    }
