"""Links of a text: what it leads to and nothing that is code, whatever the text is."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from keisei.rules.link import LONGEST, MOST, body_links, link_target

QUICK = settings(max_examples=300, deadline=None, database=None, derandomize=True)
MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "targets"),
    [
        pytest.param("a [[kei-task::create]] b [[RULE 0.13]]", ["kei-task::create", "RULE 0.13"], id="plain"),
        pytest.param("[[ a | the label ]] [[b#part]] [[c#part|label]]", ["a", "b", "c"], id="label-and-section"),
        pytest.param(r"| [[a\|label]] |", ["a"], id="label-in-a-table"),
        pytest.param("[[a]] [[b]] [[a]]", ["a", "b"], id="once-in-order"),
        pytest.param("[[]] [[ ]] [[#part]] [[|label]] [[a\nb]] [[a[b]]", [], id="nothing-is-named"),
        pytest.param("[x](RULE-0.13-a.md) [y](./b.md 'title') [z](<c d.md>)", ["RULE-0.13-a", "b", "c d"], id="beside"),
        pytest.param("[x](../rules/a.md#s) [y](../../kit/rules/b%20c.md)", ["a", "b c"], id="in-a-folder-of-rules"),
        pytest.param("[`code`](a.md) [[x](b.md)", ["a", "b"], id="brackets-in-a-label"),
    ],
)
def test_links_are_found_in_order_and_once(text, targets):
    found = body_links(text)

    assert [each.removeprefix("rules/") for each in found] == targets
    assert all(each.startswith("rules/") for each in found) == ("](" in text or not found)


@pytest.mark.parametrize(
    "path",
    [
        *("http://host/a.md", "https:a.md", "mailto:a.md", "//host/a.md", "/rules/a.md", "#a.md", "a.txt", "a.md.txt"),
        *(
            ".md",
            "../a.md",
            "docs/a.md",
            "rules/",
            "a.MD",
            "rules/%00.md",
            r"\rules\a.md",
            f"{'a' * LONGEST}.md",
            "?x.md",
        ),
    ],
)
def test_other_addresses_are_no_links(path):
    assert body_links(f"[x]({path})") == []


def test_a_path_without_a_bracket_before_it_is_no_link():
    assert body_links("x](a.md) [x] (a.md) ](b.md)") == []


def test_a_file_beside_a_text_is_called_as_the_reader_says():
    text = "[x](create.md) [y](RULE-1.md) [z](../../skills/sum-up/SKILL.md)"

    assert body_links(text, beside="kei-task::") == ["kei-task::create", "rules/RULE-1", "skills/sum-up"]
    assert body_links(text, beside=None) == ["rules/RULE-1", "skills/sum-up"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("`[[no]]` and ``[[no]] ` [[no]]``", id="inline"),
        pytest.param("`over\n[[no]] lines`", id="inline-over-lines"),
        pytest.param("```md\n[[no]]\n````\n", id="fence"),
        pytest.param("~~~\n[[no]]\n```\n[[no]]\n", id="fence-without-an-end"),
        pytest.param("- item\n\n  ```\n  [[no]]\n  ```\n", id="fence-in-a-list"),
        pytest.param("> ```\n> [[no]]\n", id="fence-in-a-quote"),
        pytest.param("# head\n    [[no]]\n\n\t[[no]]\n", id="indented"),
        pytest.param("- item\n\n      [[no]]\n", id="indented-in-a-list"),
        pytest.param("```\r\n[[no]]\r\n```\r\n", id="other-line-ends"),
    ],
)
def test_code_holds_no_links(text):
    assert body_links(text) == []
    assert body_links(f"{text}\n\n[[yes]]") == ([] if "~~~" in text else ["yes"])


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("text\n    [[yes]]", id="goes-on-with-a-paragraph"),
        pytest.param("- item\n\n    [[yes]]", id="belongs-to-a-list"),
        pytest.param("\\`[[yes]]` and ` [[yes]]", id="a-backtick-that-opens-nothing"),
        pytest.param("a ` b\n\n[[yes]] ` c", id="code-ends-with-its-paragraph"),
        pytest.param("``` a`b\n[[yes]]", id="no-fence"),
        pytest.param("- ```\n  x\n[[yes]]", id="a-fence-ends-with-its-list"),
        pytest.param("> ```\n> x\n[[yes]]", id="a-fence-ends-with-its-quote"),
    ],
)
def test_what_looks_like_code_and_is_not_holds_links(text):
    assert body_links(text) == ["yes"]


@st.composite
def pages(draw):
    """Lines of ordinary pages, each link with a number of its own."""
    starts = st.sampled_from(
        ["", "", "", "    ", "\t", "- item ", "  ", "1. item ", "# ", "```", "````", "~~~", "\n", "text "]
    )
    pieces = st.lists(st.sampled_from(["LINK", "LINK", "`", "``", "\\", " ", "text"]), max_size=5)
    text = "\n".join(draw(starts) + "".join(draw(pieces)) for _ in range(draw(st.integers(1, 8))))
    numbers = iter(range(1000))
    return re.sub("LINK", lambda _: f"[[w{next(numbers)}]]", text)


def outside_code(tokens):
    for token in tokens:
        if token.children is not None:
            yield from outside_code(token.children)
        elif token.type == "text":
            yield from re.findall(r"w\d+", token.content)


@QUICK
@given(pages())
def test_a_markdown_parser_agrees_on_what_is_code(text):
    assert body_links(text) == list(outside_code(MarkdownIt("commonmark").parse(text)))


@QUICK
@given(st.text(st.sampled_from("[[]]()`~\\|#<>-*1. \t\n\"'a.md"), max_size=80))
def test_any_text_has_bounded_links(text):
    found = body_links(text)

    assert body_links(f"{text}\n\n`code`") == found  # code further down changes nothing

    assert len(found) == len(set(found))
    assert all(0 < len(each) <= LONGEST and each == each.strip() and "\n" not in each for each in found)


def test_no_more_links_are_told_than_anybody_reads():
    assert len(body_links("".join(f"[[a{number}]]" for number in range(MOST * 3)))) == MOST
    assert body_links(f"[[{'a' * LONGEST}]] [[{'b' * LONGEST}b]]") == ["a" * LONGEST]
    assert link_target("a" * (LONGEST + 1)) is None


@pytest.mark.parametrize(
    "text", ["[[" * (MIB // 2), "`" * MIB, "[" * (MIB // 2) + "]" * (MIB // 2)], ids=["[[", "`", "[]"]
)
def test_a_mebibyte_of_nothing_leads_nowhere(text):
    assert body_links(f"[[first]]\n\n{text}") == ["first"]


@pytest.mark.parametrize(
    "unit",
    ["` ", "](", "](<", '](a "', "[[a|", "- ", "> ", ">", "\\", "~~~\n", "- a\n", "[[a]]\n", " ", "\t\n", "[[\n"],
    ids=repr,
)
def test_no_text_is_looked_at_again_and_again(unit):
    """A reader that did would take minutes here, not a blink."""
    text = unit * (MIB // 8 // len(unit))

    assert len(body_links(f"[[first]]\n\n{text}{']' * 1000}{'`' * 1000}")) <= 2
