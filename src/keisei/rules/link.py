"""Links in a text: `[[wikilinks]]` and relative markdown links, as names of what they lead to. Code holds none.

Every character is looked at a bounded number of times, whatever the text is.
"""

import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

MOST, LONGEST = 1000, 200
"""Targets of one text that are kept, and characters of one; a longer one is nothing's name."""
TAB, CODE_INDENT = 4, 4
CODE = ("`", "~~~", " " * CODE_INDENT, "\t", "\r")
"""Without any of these a text holds no code."""

# What a scan may run over ends at what starts the next one, so that no two scans of a pattern share a character.
WIKI = re.compile(r"\[\[(?P<wiki>[^\[\]\n]++)\]\]")
INLINE = re.compile(
    rf"""
      {WIKI.pattern}
    | \]\( [ \t]*+ (?: <(?P<angled>[^<>\n]++)> | (?P<plain>[^\s()<>]++) )
      [ \t]*+ (?: "[^"\n]*+" | '[^'\n]*+' )? [ \t]*+ \)
    | [\[\]]
    """,
    re.VERBOSE,
)
QUOTE = re.compile(r"(?:[ ]{0,3}>[ ]?)*")
FENCE = re.compile(r"`{3,}(?=[^`]*+$)|~{3,}")
ITEM = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|$)")
TICKS = re.compile(r"(?<!\\)(\\*+)(`++)")
START = re.compile(rf"#|{FENCE.pattern}|{ITEM.pattern}")
"""How a block starts that is no paragraph."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")


def body_links(text: str, beside: str | None = "rules/") -> list[str]:
    """What a text leads to, in order, once each, at most MOST.

    A link to a file of a `rules` folder, or to one that is named like a rule, is called `rules/<stem>`; one to
    `x/SKILL.md` is `skills/x`; one to another file beside the text is `beside` with its stem, and nothing where that is
    None. Addresses, absolute paths, places of the same text and other files are nothing.
    """
    if "](" not in text and not any(mark in text for mark in CODE):
        return list(islice(dict.fromkeys(filter(None, map(link_target, WIKI.findall(text)))), MOST))
    found: dict[str, None] = {}
    if "[[" in text or "](" in text:
        for target in (each for block in _blocks(text) for each in _targets(block, beside)):
            found[target] = None
            if len(found) == MOST:
                break
    return list(found)


def link_target(link: str) -> str | None:
    """What stands between the brackets of a wikilink, without label and section; None where nothing is left."""
    target = link.partition("|")[0].partition("#")[0].rstrip("\\").strip()  # in a table the bar is written `\|`
    return target if 0 < len(target) <= LONGEST else None


def _targets(block: str, beside: str | None) -> Iterator[str]:
    if "[" not in block:
        return
    depth = 0
    for match in INLINE.finditer(_without_code(block)):
        if match["wiki"]:
            target = link_target(match["wiki"])
        elif match[0] == "[":
            depth += 1
            continue
        else:
            path = match["angled"] or match["plain"]
            target = _named(path, beside) if path and depth else None
            depth = max(depth - 1, 0)
        if target is not None:
            yield target


def _named(path: str, beside: str | None) -> str | None:
    """What a relative path to a page is called."""
    if len(path) > LONGEST * 8 or SCHEME.match(path) or path.startswith(("/", "\\")):
        return None
    *folders, name = unquote(path.partition("#")[0].partition("?")[0]).removeprefix("./").split("/")
    stem, folder = name.removesuffix(".md"), folders[-1] if folders else None
    if stem in (name, ""):
        return None
    if folder == "rules" or (folder is None and stem.startswith("RULE")):
        target = f"rules/{stem}"
    elif folder is None:
        target = f"{beside}{stem}" if beside else ""
    else:
        target = f"skills/{folder}" if stem == "SKILL" and folder.strip(".") else ""
    return target if 0 < len(target) <= LONGEST and target.isprintable() else None


def _without_code(block: str) -> str:
    """The block with each code span as a line's end, which no link's target goes across."""
    if "`" not in block:
        return block
    runs = [(match.start(2), match.end(), len(match[1]) % 2) for match in TICKS.finditer(block)]
    closing: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        closing.setdefault(runs[index][1] - runs[index][0], []).append(index)
    parts: list[str] = []
    at = index = 0
    while index < len(runs):
        start, end, escaped = runs[index]
        closers = closing.get(end - start - escaped, [])
        while closers and closers[-1] <= index:
            closers.pop()
        if closers:
            index = closers[-1]
            parts += (block[at:start], "\n")
            at = runs[index][1]
        index += 1
    return "".join((*parts, block[at:]))


class _Page:
    """Reads lines one after the other and knows which of them are code."""

    def __init__(self) -> None:
        self.quoted = 0
        self.margins: list[int] = []
        """Where the text of each open list item starts."""
        self.fence = ""
        self.is_paragraph = False

    def read(self, line: str) -> tuple[str, bool] | None:
        """The text of a line and whether a block begins with it; None where it is blank or code."""
        if line[:1].isalpha() and not self.fence and not self.quoted:
            if self.is_paragraph:
                return line, False
            self.is_paragraph, self.margins = True, []
            return line, True
        quote = QUOTE.match(line)
        marks = quote.end() if quote else 0
        quoted = line.count(">", 0, marks)
        begins = quoted > self.quoted
        if begins and self.fence:
            begins, marks = False, 0  # a fence holds whatever looks like a quote
        elif quoted != self.quoted:  # a paragraph may go on with fewer marks than it began with
            self.is_paragraph = self.is_paragraph and not begins
            self.quoted, self.fence, self.margins = quoted, "", []
        at, column = _indented(line, marks, marks)
        indent = column - marks
        if at == len(line):
            self.is_paragraph = False
            return None
        if not self.is_paragraph or START.match(line, at):  # a paragraph may go on further left than it began
            while self.margins and indent < self.margins[-1]:
                self.margins.pop()
                self.fence = ""  # it ends with the list item it stands in
        if self.fence:
            self._close_fence(line[at:], indent)
            return None
        return self._text(line, at, indent, begins=begins)

    def _text(self, line: str, at: int, indent: int, *, begins: bool) -> tuple[str, bool] | None:
        while True:
            inside = indent - (self.margins[-1] if self.margins else 0)
            if inside >= CODE_INDENT and not self.is_paragraph:
                return None
            item = ITEM.match(line, at) if inside < CODE_INDENT else None
            if item is None:
                break
            begins, self.is_paragraph = True, False
            at, indent = self._item(line, item.end(), indent + item.end() - at)
            if at == len(line):
                return None
        fence = FENCE.match(line, at) if inside < CODE_INDENT else None
        if fence is not None:
            self.fence, self.is_paragraph = fence[0], False
            return None
        is_heading = line[at] == "#"
        begins = begins or is_heading or not self.is_paragraph
        self.is_paragraph = not is_heading
        return line[at:], begins

    def _item(self, line: str, at: int, column: int) -> tuple[int, int]:
        """Open a list item whose mark ends there; where its text starts, and in which column."""
        start, indent = _indented(line, at, column)
        gap = indent - column
        self.margins.append(indent if 0 < gap <= CODE_INDENT and start < len(line) else column + 1)
        return start, indent

    def _close_fence(self, text: str, indent: int) -> None:
        margin = self.margins[-1] if self.margins else 0
        if indent - margin < CODE_INDENT and text.startswith(self.fence) and not text.strip().strip(self.fence[0]):
            self.fence = ""


def _indented(line: str, at: int, column: int) -> tuple[int, int]:
    """Where the white space from there ends, and in which column."""
    end = at
    while end < len(line) and line[end] in " \t\r":
        column += TAB - column % TAB if line[end] == "\t" else 1
        end += 1
    return end, column


def _blocks(text: str) -> Iterator[str]:
    """Texts that code spans stay inside: paragraphs, list items, headings."""
    page = _Page()
    block: list[str] = []
    for line in text.split("\n"):
        read = page.read(line)
        if block and (read is None or read[1]):
            yield "\n".join(block)
            block = []
        if read is not None:
            block.append(read[0])
    if block:
        yield "\n".join(block)
