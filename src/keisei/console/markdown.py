"""Markdown for people: pages that authors and agents wrote, as HTML of which every tag is ours.

Raw HTML is text. Images are links, so that looking at a page asks nobody else for anything; only web and mail
addresses are links at all.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from markupsafe import Markup, escape

from keisei.console.templating import lines, plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

LONGEST: Final = 64_000
"""Characters of a text that are read; the parser takes well below a second for the worst of them."""
LINK: Final = re.compile(r"(?:https?://|mailto:)[^\s\\]+", re.IGNORECASE)
WIKI: Final = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
DEEPEST: Final = 6
"""HTML has six headings."""


def markdown(text: str, *, title: str = "", atoms: Collection[str] = ()) -> Markup:
    """The text as HTML. Its first heading is left out where it says `title`, the others begin with <h2>, none skipped.

    `[[name]]` leads to the atom of that name where it is among `atoms`, else to the graph. Never raises.
    """
    return _rendered(text[:LONGEST], len(text) > LONGEST, title, frozenset(atoms))


@lru_cache(maxsize=64)
def _rendered(text: str, is_cut: bool, title: str, atoms: frozenset[str]) -> Markup:  # noqa: FBT001 - a key of the cache
    parser = _parser()
    try:
        tokens = list(_leveled(parser.parse(lines(text)), title))
        for token in tokens:
            if token.children:
                token.children = list(_linked(token.children, atoms))
        made = parser.renderer.render(tokens, parser.options, {})
    except (RecursionError, ValueError, IndexError):  # nothing that is known of; the text is told all the same
        made = f'<pre class="text" tabindex="0">{escape(lines(text))}</pre>'
    return Markup(made + ("<p>…</p>" if is_cut else ""))  # noqa: S704 - every tag is the renderer's, text is escaped


@lru_cache(maxsize=1)
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - few pages are Markdown

    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.validateLink = lambda url: LINK.fullmatch(url) is not None  # type: ignore[method-assign]
    made.add_render_rule("fence", _code)
    made.add_render_rule("code_block", _code)
    made.add_render_rule("table_open", _table_open)
    made.add_render_rule("table_close", _table_close)
    return made


def _code(_self: object, tokens: "Sequence[Token]", index: int, *_: object) -> str:
    """Code scrolls by itself, so that it can be reached by keyboard."""
    return f'<pre class="text" tabindex="0">{escape(tokens[index].content)}</pre>\n'


def _table_open(*_: object) -> str:
    return '<div class="scroll" tabindex="0" role="region" aria-label="Table"><table>\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _leveled(tokens: "Sequence[Token]", title: str) -> "Iterator[Token]":
    """The tokens with headings that begin below the page's own and never leave a level out."""
    above: list[int] = []
    skipped = _title_end(tokens, title)
    for token in tokens[skipped:]:
        if token.type == "heading_open":
            level = int(token.tag[1:])
            while above and above[-1] >= level:
                above.pop()
            above.append(level)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(len(above) + 1, DEEPEST)}"
        yield token


def _title_end(tokens: "Sequence[Token]", title: str) -> int:
    """How many tokens the title takes: three, or none where the text does not begin with it."""
    begins = len(tokens) > 1 and tokens[0].type == "heading_open"
    return 3 if begins and title and tokens[1].content.strip() == title else 0


def _linked(tokens: "Sequence[Token]", atoms: frozenset[str]) -> "Iterator[Token]":
    """The parts of a line, its `[[names]]` as links; web links tell the other side nothing."""
    from markdown_it.token import Token  # noqa: PLC0415 - as above

    inside = False
    for token in tokens:
        if token.type in ("link_open", "link_close"):
            inside = token.type == "link_open"
            if inside:
                token.attrSet("rel", "noopener noreferrer")
        if token.type != "text" or inside or "[[" not in token.content:
            yield token
            continue
        for number, part in enumerate(WIKI.split(token.content)):
            if number % 2 == 0:
                yield Token("text", "", 0, content=part)
            else:
                yield from _wiki(Token, part, atoms)


def _wiki(token: Any, link: str, atoms: frozenset[str]) -> "Iterator[Token]":  # noqa: ANN401 - the library's class
    name, _, label = link.partition("|")
    target = name.partition("#")[0].strip()
    place = f"/atoms/{quote(target, safe='')}" if target in atoms else f"/graph?id={quote(target, safe='')}"
    yield token("link_open", "a", 1, attrs={"href": place})
    yield token("text", "", 0, content=plain(label or name))
    yield token("link_close", "a", -1)
