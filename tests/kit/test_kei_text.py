"""kei-text: what its pages promise, called in process."""

import difflib
import json
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from keisei.cli.primitive_page import bullets, example
from tests.kit.desk import PRIMITIVES, Context, Declared, output_of, spec_of

sys.path.append(str(PRIMITIVES / "kei-text" / "src"))
VERBS = ("count", "diff", "patch", "replace", "search", "split")
WORDS = st.text(st.sampled_from("ab\n\r\u2028\x0c\x85 \\-+@é𝄞"), max_size=40)


def call(verb, **given):
    atom = f"kei-text::{verb}"
    Draft7Validator(spec_of(atom).input_schema).validate(given)
    output = import_module(f"kei_text.atoms.{verb}").run(given, Context(None, atom, "i"))
    output_of(atom).validate(output)
    return output


def refused(verb, **given):
    with pytest.raises(Declared) as error:
        import_module(f"kei_text.atoms.{verb}").run(given, Context(None, f"kei-text::{verb}", "i"))
    return error.value.code, str(error.value)


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_of_a_page_gives_what_the_page_says(verb):
    page = Path(spec_of(f"kei-text::{verb}").page).read_text()
    (line,) = example(page)
    returns = next(line for line in page.splitlines() if line.startswith("Returns JSON: "))

    *command, value = shlex.split(line)
    assert command == ["keisei", "atom", "invoke", f"kei-text::{verb}", "--input"]
    assert call(verb, **json.loads(value)) == json.loads(returns.removeprefix("Returns JSON: ").strip("`"))
    assert bullets(page, "Gotchas")


@pytest.mark.parametrize("verb", VERBS)
def test_examples_of_the_two_schemas_belong_together(verb):
    spec = spec_of(f"kei-text::{verb}")

    assert [call(verb, **each) for each in spec.input_schema["examples"]] == spec.output_schema["examples"]
    assert (spec.manifest.kind, spec.manifest.side_effects, spec.manifest.idempotent) == ("transform", (), True)


@pytest.mark.parametrize("verb", VERBS)
def test_half_a_surrogate_pair_is_a_declared_error(verb):
    given = {
        "text": "a\ud800",
        "before": "\ud800",
        "after": "",
        "diff": "",
        "find": "a",
        "replacement": "",
        "by": "lines",
    }

    assert refused(verb, **given)[0] == "NotText"


# --- diff and patch --------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(before=WORDS, after=WORDS, context=st.integers(0, 4))
def test_a_diff_applied_gives_the_second_text_and_backwards_the_first(before, after, context):
    made = call("diff", before=before, after=after, context=context)

    there = call("patch", text=before, diff=made["diff"])
    back = call("patch", text=after, diff=made["diff"], reverse=True)
    assert (there["text"], back["text"]) == (after, before)
    assert {hunk["offset"] for hunk in there["hunks"] + back["hunks"]} <= {0}
    assert len(there["hunks"]) == made["hunks"]
    assert (there["added"], there["removed"]) == (made["added"], made["removed"]) == (back["removed"], back["added"])
    assert (made["diff"] == "") == (before == after)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")), st.integers(0, 3))
def test_a_diff_of_the_standard_library_applies_too(before, after, context):
    before, after = ([line + "\n" for line in lines] for lines in (before, after))

    made = call("diff", before="".join(before), after="".join(after), context=context)
    theirs = list(difflib.unified_diff(before, after, "before", "after", n=context))
    assert made["diff"].splitlines(keepends=True)[:2] == theirs[:2]
    assert len(after) - len(before) == made["added"] - made["removed"]
    ours = call("patch", text="".join(before), diff="".join(theirs), max_offset=0)
    assert ours["text"] == "".join(after)


def test_a_hunk_that_moved_is_found_and_its_offset_told():
    text = "".join(f"line {number}\n" for number in range(50))
    diff = call("diff", before=text, after=text.replace("line 20\n", "LINE 20\n").replace("line 40\n", ""))["diff"]

    moved = call("patch", text="new\nnew\n" + text, diff=diff)

    assert moved["hunks"] == [{"line": 20, "offset": 2}, {"line": 40, "offset": 2}]
    assert "LINE 20\n" in moved["text"]
    assert "line 40\n" not in moved["text"]
    code, message = refused("patch", text="new\nnew\n" + text, diff=diff, max_offset=1)
    assert (code, message[:6]) == ("DoesNotApply", "hunk 1")


def test_the_hunk_that_does_not_fit_is_named_and_nothing_is_fuzzy():
    text = "a\nb\nc\n" + "x\n" * 20 + "y\n"
    diff = call("diff", before=text, after=text.replace("b", "B").replace("y", "Y"))["diff"]

    code, message = refused("patch", text=text.replace("y", "z"), diff=diff)

    assert code == "DoesNotApply"
    assert message.startswith("hunk 2 ")
    assert refused("patch", text=text.replace("\n", "\r\n"), diff=diff)[0] == "DoesNotApply"
    assert refused("patch", text=text[:-1], diff=diff)[0] == "DoesNotApply"


@pytest.mark.parametrize(
    ("text", "diff"),
    [
        ("a\nb\n", "@@ -1 +1 @@\n-a\n+x\n\\ No newline at end of file\n"),
        ("a", "@@ -1,0 +2 @@\n+b\n"),
        ("a\n", "@@ -5,0 +6 @@\n+b\n"),
    ],
    ids=["line-without-end-before-another", "line-behind-one-without-end", "behind-the-end"],
)
def test_two_lines_never_become_one(text, diff):
    assert refused("patch", text=text, diff=diff)[0] == "DoesNotApply"


@pytest.mark.parametrize(
    "diff",
    [
        "hello\n",
        "@@ -1 +1 @@\n-a\n",
        "@@ -1 +1 @@\n-a\n+b\n+c\n",
        "@@ -1,x +1 @@\n-a\n",
        "@@ -1 +1 @@\n*a\n",
        "@@ -1 +1 @@\n\\ No newline at end of file\n",
        "@@ -1 +1 @@\n-a\n+b\n--- c\n+++ d\n@@ -1 +1 @@\n-a\n+b\n",
    ],
    ids=["words", "ends-early", "too-many-lines", "no-number", "no-sign", "mark-first", "second-file"],
)
def test_a_diff_that_cannot_be_read_is_told(diff):
    assert refused("patch", text="a\n", diff=diff)[0] == "BadDiff"


def test_headers_of_git_and_blank_context_are_read():
    diff = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ def f():\n a\n\n-b\n+c\n"

    assert call("patch", text="a\n\nb\n", diff=diff)["text"] == "a\n\nc\n"


# --- search and replace ----------------------------------------------------------------------------------------------


def test_a_match_knows_its_line_and_column():
    found = call("search", text="a\u2028b\r\nxx.x\n", find="x")

    assert [(each["line"], each["column"], each["start"]) for each in found["matches"]] == [
        (2, 1, 5),
        (2, 2, 6),
        (2, 4, 8),
    ]
    assert {each["text"] for each in found["matches"]} == {"xx.x"}
    assert call("search", text="a.b", find=".")["count"] == 1
    assert call("search", text="a\n", find="\\Z", regex=True)["matches"][0]["line"] == 2


def test_everything_is_counted_and_the_first_are_told():
    found = call("search", text="x" * 50, find="x", limit=3)

    assert (len(found["matches"]), found["count"], found["truncated"]) == (3, 50, True)
    deep = call("search", text="x" * 200_000, find="(" * 20 + "x+" + ")" * 20, regex=True)
    assert (deep["matches"], deep["count"], deep["truncated"]) == ([], 1, True)


@pytest.mark.parametrize("pattern", ["(", "[", "*a", "(?P<a", "a{99999999999999}", "(" * 5000], ids=range(6))
def test_what_is_no_expression_is_told(pattern):
    assert refused("search", text="a", find=pattern, regex=True)[0] == "BadPattern"
    assert call("search", text=pattern, find=pattern)["count"] == 1


@settings(max_examples=50, deadline=None)
@given(text=WORDS, find=WORDS.filter(bool), replacement=WORDS)
def test_a_literal_replacement_is_pythons(text, find, replacement):
    made = call("replace", text=text, find=find, replacement=replacement, allow_none=True)

    assert made == {"text": text.replace(find, replacement), "count": text.count(find)}


def test_a_replacement_states_what_it_expects():
    words = {"text": "a a a", "find": "a", "replacement": "b"}

    assert call("replace", **words, expected_count=3)["text"] == "b b b"
    assert refused("replace", **words, expected_count=1)[0] == "CountDiffers"
    assert refused("replace", **words | {"find": "z"})[0] == "NotFound"
    assert refused("replace", **words | {"find": "z"}, expected_count=1)[0] == "CountDiffers"
    assert call("replace", **words | {"find": "z"}, expected_count=0) == {"text": "a a a", "count": 0}
    assert call("replace", **words | {"find": "A"}, ignore_case=True)["count"] == 3


def test_groups_stand_only_in_expressions():
    assert call("replace", text="ab", find="(a)(b)", replacement=r"\2\1", regex=True)["text"] == "ba"
    assert call("replace", text="ab", find="a", replacement=r"\1")["text"] == r"\1b"
    assert refused("replace", text="ab", find="a", replacement=r"\1", regex=True)[0] == "BadReplacement"
    assert refused("replace", text="ab", find="a", replacement=r"\g<x>", regex=True)[0] == "BadReplacement"
    assert call("replace", text="a\nb", find="^", replacement="> ", regex=True)["text"] == "> a\n> b"


def test_a_replacement_cannot_grow_without_end():
    assert refused("replace", text="a" * 1000, find="a", replacement="b" * 100_000)[0] == "TooLarge"
    groups = {"find": "(?s)(.+)", "replacement": r"\1" * 40_000, "regex": True}
    assert refused("replace", text="a" * 1_000_000, **groups)[0] == "TooLarge"
    assert call("replace", text="a", **groups)["text"] == "a" * 40_000


# --- split and count -------------------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(text=WORDS, size=st.integers(1, 12), overlap=st.integers(0, 11))
def test_pieces_are_short_and_joined_they_are_the_text(text, size, overlap):
    overlap = min(overlap, size - 1)

    parts = call("split", text=text, by="pieces", size=size, overlap=overlap)["parts"]

    assert all(0 < len(part["text"]) <= size for part in parts)
    assert all(text.startswith(part["text"], part["start"]) for part in parts)
    assert "".join(part["text"][overlap if index else 0 :] for index, part in enumerate(parts)) == text
    assert [part["line"] for part in parts] == [text.count("\n", 0, part["start"]) + 1 for part in parts]


@settings(max_examples=40, deadline=None)
@given(text=WORDS)
def test_lines_and_counts_agree(text):
    parts = call("split", text=text, by="lines")["parts"]
    counted = call("count", text=text)

    ended = text.replace("\r\n", "\n").removesuffix("\n").split("\n") if text else []
    assert [part["text"] for part in parts] == ended
    assert counted["lines"] == len(ended)
    assert counted["longest_line"] == max((len(part["text"]) for part in parts), default=0)
    assert (counted["characters"], counted["bytes"]) == (len(text), len(text.encode()))


def test_paragraphs_stand_between_blank_lines():
    parts = call("split", text="\n a\r\nb\r\n \t\r\n\r\nc\n", by="paragraphs")["parts"]

    assert parts == [{"text": " a\r\nb", "start": 1, "line": 2}, {"text": "c", "start": 14, "line": 6}]


def test_too_many_parts_are_refused():
    assert refused("split", text="\n" * 100_001, by="lines")[0] == "TooLarge"
    assert refused("split", text="x" * 100_000, by="pieces", size=1000, overlap=999)[0] == "TooLarge"
    assert refused("split", text="x", by="pieces", size=5, overlap=5)[0] == "BadOverlap"
