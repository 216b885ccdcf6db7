"""kei-text::count."""

from kei_text.context import Context, Data
from kei_text.line import check_texts, lines_of, unended


def run(given: Data, context: Context) -> Data:
    """How long a text is, in five measures. Raises NotText."""
    text = given["text"]
    check_texts(context, text)
    lines = [unended(line) for line in lines_of(text)]
    longest = max(range(len(lines)), key=lambda index: len(lines[index]), default=None)
    return {
        "characters": len(text),
        "words": len(text.split()),
        "lines": len(lines),
        "bytes": len(text.encode("utf-8")),
        "longest_line": 0 if longest is None else len(lines[longest]),
        "longest_line_at": None if longest is None else longest + 1,
        "ends_with_newline": text.endswith("\n"),
    }
