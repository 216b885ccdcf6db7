"""kei-text::split."""

from collections.abc import Iterator
from itertools import groupby

from kei_text.context import Context, Data
from kei_text.line import check_size, check_texts, lines_of, unended

MOST_PARTS = 100_000


def run(given: Data, context: Context) -> Data:
    """The text in parts. Raises BadOverlap, TooLarge, NotText."""
    text = given["text"]
    check_texts(context, text)
    parts, characters, line, seen = list[Data](), 0, 1, 0
    for start, part in _parts(context, given):
        line += text.count("\n", seen, start) - text.count("\n", start, seen)  # pieces that overlap go back
        seen, characters = start, characters + len(part)
        parts.append({"text": part, "start": start, "line": line})
        check_size(context, characters)
        if len(parts) > MOST_PARTS:
            raise context.error("TooLarge", f"the text has more than {MOST_PARTS} parts")
    return {"parts": parts, "count": len(parts)}


def _parts(context: Context, given: Data) -> Iterator[tuple[int, str]]:
    if given["by"] == "lines":
        return ((start, unended(line)) for start, line in _lines(given["text"]))
    if given["by"] == "paragraphs":
        return _paragraphs(given["text"])
    size, overlap = given.get("size", 1000), given.get("overlap", 0)
    if overlap >= size:
        raise context.error("BadOverlap", f"an overlap of {overlap} leaves no room in pieces of {size}")
    return _pieces(given["text"], size, overlap)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in lines_of(text):
        yield start, line
        start += len(line)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Lines that follow each other without a blank one."""
    for is_blank, group in groupby(_lines(text), key=lambda found: not found[1].strip()):
        if not is_blank:
            lines = list(group)
            yield lines[0][0], unended("".join(line for _, line in lines))


def _pieces(text: str, size: int, overlap: int) -> Iterator[tuple[int, str]]:
    """Pieces that end behind a line or a word where one ends in their second half."""
    start = 0
    while start < len(text):
        end = min(start + size, len(text))
        if end < len(text):
            least = start + max(overlap + 1, (size + 1) // 2)
            end = _after(text, "\n", least, end) or _after(text, " ", least, end) or end
        yield start, text[start:end]
        if end == len(text):
            return
        start = end - overlap


def _after(text: str, mark: str, least: int, most: int) -> int:
    """The last place behind the mark; 0 where there is none."""
    return text.rfind(mark, least - 1, most) + 1
