import re
from html.parser import HTMLParser

import pytest

from keisei.console.markdown import LONGEST, markdown

TAGS = {
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "ul",
    "ol",
    "li",
    "em",
    "strong",
    "code",
    "pre",
    "a",
    "blockquote",
    "hr",
    "br",
}
TAGS |= {"div", "table", "thead", "tbody", "tr", "th", "td"}


class Seen(HTMLParser):
    """Every tag and every attribute of a text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = [], []
        self.feed(str(text))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]


HOSTILE = [
    "<script>alert(1)</script>",
    "a <img src=x onerror=alert(1)> b",
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt&colon;alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](data:text/html;base64,PHNjcmlwdD4=)",
    "[a](vbscript:x)",
    "[a](//evil.example/x)",
    "[a](/enter?token=x)",
    "<javascript:alert(1)>",
    "![x](http://evil.example/pixel.png)",
    '[a](http://x.example/" onclick="alert(1))',
    '[a](http://x.example "\\" onclick=\\"x")',
    '[[x" onclick="alert(1)]]',
    "[[x|<script>]]",
    "```<script>\n</pre><script>alert(1)</script>\n```",
    "| <b>a</b> |\n|---|\n| <script>x</script> |",
    "[r]: javascript:alert(1)\n\n[r]",
    "\x1b[31mred\u202e turned \x00 zero",
    "&lt;script&gt; &#106;avascript: &#x3c;b&#x3e;",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_an_author_writes_becomes_a_tag_or_an_address_of_its_own(text):
    seen = Seen(made := markdown(text))

    assert set(seen.tags) <= TAGS
    assert not {name for _, name, _ in seen.attributes if name.startswith("on") or name == "style"}
    for tag, name, value in seen.attributes:
        if (tag, name) == ("a", "href"):
            assert re.match(r"(?:https?://|mailto:|/graph\?id=|/atoms/)", value), value
    assert "\x1b" not in made
    assert "\u202e" not in made


def test_headings_begin_below_the_page_and_leave_none_out():
    made = Seen(markdown("# kei-task::create\n\n# One\n\n#### Deep\n\n## Two\n", title="kei-task::create"))

    assert made.tags == ["h2", "h3", "h3"]


def test_a_text_without_the_title_keeps_its_first_heading():
    assert "Another" in markdown("# Another\n", title="kei-task::create")


def test_a_name_in_brackets_leads_to_the_atom_or_to_the_graph():
    made = Seen(markdown("[[kei-task::list]] and [[rules/RULE 0.12|the rule]] `[[code]]`", atoms=["kei-task::list"]))

    assert [value for _, name, value in made.attributes if name == "href"] == [
        "/atoms/kei-task%3A%3Alist",
        "/graph?id=rules%2FRULE%200.12",
    ]


def test_a_web_link_tells_the_other_side_nothing():
    assert 'rel="noopener noreferrer"' in markdown("[a](https://example.org/x)")


def test_code_and_tables_can_be_reached_by_keyboard():
    made = markdown("    code\n\n| a |\n|---|\n| b |\n")

    assert made.count('tabindex="0"') == 2


def test_a_text_without_end_is_cut():
    assert len(markdown("a " * LONGEST)) < LONGEST + 1000


@pytest.mark.parametrize(
    "text", ["[" * 20_000, "> " * 20_000, "- " * 20_000, "`" * 20_000, "*a " * 6000, "[[" * 10_000]
)
def test_hostile_nesting_is_told_all_the_same(text):
    assert markdown(text)
