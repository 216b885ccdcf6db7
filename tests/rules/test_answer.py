"""Answers: the last object of a text, whatever stands around it, and nothing in its place where it is broken."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.rules.answer import DEEPEST, LONGEST, last_object, reread
from keisei.rules.canonical import LARGEST
from keisei.testing.strategies import json_objects

DONE = {"status": "completed"}
ANSWER = json.dumps(DONE)


def numbered(*texts):
    """Texts as cases; they are too odd, or too long, to be names."""
    return [pytest.param(text, id=f"{number}") for number, text in enumerate(texts)]


def nested(depth):
    """An object whose innermost value is `depth` brackets deep."""
    return {"a": json.loads("[" * (depth - 1) + "]" * (depth - 1))}


@pytest.mark.parametrize(
    "text",
    numbered(
        ANSWER,
        f"Here it is: {ANSWER} and that is all.",
        f"```json\n{ANSWER}\n```\n",
        f"```\n{json.dumps(DONE, indent=2)}\n```",
        f"1. one\n   ```json\n   {ANSWER}\n   ```",
        f'{{"status": "blocked"}}\n{ANSWER}',
        f"{ANSWER}\nI left `main() {{}}` and {{placeholder}} alone.",
        f"Use a {{ to open.\n{ANSWER}",
        f'The parser stops at `{{"key": ` there.\n\n```json\n{ANSWER}\n```',
        f'He said "use {{" and then }} again:\n{ANSWER}',
        f"}}}}}} {ANSWER} }}}}",
        f"function f() {{ return 1; }}\n{ANSWER}",
        f"{ANSWER}, and [1] is a note",
        f"\ufeff{ANSWER}\r\n",
        f"{ANSWER}\nMore about {{ braces",
    ),
)
def test_the_last_object_is_found_among_prose(text):
    assert last_object(text) == DONE


@pytest.mark.parametrize(
    "text",
    numbered(
        '{"a": "}"}',
        '{"a": "{"}',
        '{"a": "\\""}',
        '{"a": "\\\\"}',
        '{"a": "\\\\\\"}{"}',
        '{"a\\"b}": {"c": ["}", {"d": "{"}]}}',
        '{"a": "```"}',
        '{\n"a": [\n{\n"b": 1\n},\n{"c": 2}\n]\n}',
        '{ \t\r\n "a" : 1.5e3 }',
        '{"a": "\\ud83d\\ude00"}',
        '{"a": "\\\\u0000"}',
    ),
)
def test_strings_and_escapes_are_respected(text):
    assert last_object(f"so: {text} done") == json.loads(text)


@pytest.mark.parametrize(
    "text",
    numbered(
        "",
        "I could not do it. Everything failed.",
        "null",
        "42",
        '"completed"',
        "[1, 2, 3]",
        '["completed"]',
        "{}",
        "{{{{",
        "}}}}",
        "{'status': 'completed'}",
        "{status: 'completed'}",
    ),
)
def test_a_text_without_an_object_has_none(text):
    assert last_object(text) is None


@pytest.mark.parametrize(
    "text",
    numbered(
        '{"status": "blocked", "inner": {"status": "completed"}',
        '{"status": "blocked",\n  "inner":\n  {"status": "completed"}\n',
        '{\n"status": "blocked",\n"inner":\n{\n"status": "completed"\n}',
        '{\n"status": "blocked",\n"inner": [\n{"status": "completed"}',
        '{\n"status": "blocked",\n"inner": [\n{"status": "completed"},\n\n{"status": "completed"},\n',
        '{"status": "blocked", oops, "inner": {"status": "completed"}}',
        'const a = { status: "blocked", inner: {"status": "completed"} };',
        '[{"status": "completed"}]',
        '[{"a": 1}, {"status": "completed"}]',
        '[\n  {"status": "completed"},\n  {"status": "completed"}\n]',
        'run() {\n  cat <<EOF\n{"status": "completed"}\nEOF\n}',
    ),
)
def test_an_inner_object_never_stands_in_for_the_outer_one(text):
    assert last_object(text) is None


@pytest.mark.parametrize(
    "broken",
    numbered(
        '{"status": "blo',
        '{"status": "blocked", ',
        '{"status": "blocked",}',
        '{"status": blocked}',
        '{"status": "blocked" "a": 1}',
        '{"status": "two\nlines"}',
        '{"status": "blocked", "status": "completed"}',
        '{"a": {"b": 1, "b": 2}}',
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        f'{{"a": {"9" * 400}}}',
        f'{{"a": {"9" * 5000}}}',
        '{"a": "\\ud800"}',
        '{"\\udc00": 1}',
        '{"a": "\\u0000"}',
        '{"\\u0000": 1}',
        '{"a": ["x", {"b": "\\u0000"}]}',
        '{"a": 1, "b": null, "c": "\\u0000"}',
    ),
)
def test_a_broken_last_object_is_no_answer_and_no_earlier_one_is_taken(broken):
    assert last_object(broken) is None
    assert last_object(f"{ANSWER}\nand then\n{broken}") is None


def test_an_object_may_be_deep_but_not_deeper():
    deepest = nested(DEEPEST)

    assert last_object(json.dumps(deepest)) == deepest
    assert last_object(json.dumps(nested(DEEPEST + 1))) is None


def test_an_object_may_be_long_but_not_longer():
    room = LONGEST - len(json.dumps({"a": ""}))

    assert last_object(json.dumps({"a": "x" * room})) == {"a": "x" * room}
    assert last_object(json.dumps({"a": "x" * (room + 1)})) is None


def test_an_integer_that_no_double_counts_is_read_as_a_double():
    found = last_object(f'{{"a": {LARGEST}, "b": {LARGEST + 2}}}')

    assert found == {"a": LARGEST, "b": float(LARGEST + 2)}
    assert (type(found["a"]), type(found["b"])) == (int, float)


SIZE = 50_000


@pytest.mark.parametrize(
    "text",
    numbered(
        "{" * SIZE,
        "}" * SIZE,
        '"' * SIZE,
        "{}" * SIZE,
        "{ " * SIZE,
        "{" + " " * SIZE,
        '{"' * SIZE,
        '{"a":' * SIZE,
        '\n{"a":' * SIZE,
        '{"a":[' * SIZE,
        '{"a":' * SIZE + "1" + "}" * SIZE,
        '{"a":' + "[" * SIZE + "]" * SIZE + "}",
        '{"' + '\\"' * SIZE,
        '{"' + "\\\n" * SIZE,
        '{"a" ' + '"b" ' * SIZE,
        '{"a": ' + "9" * SIZE + "}",
        '{"a": "' + "\\u0000" * (SIZE // 8) + '"}',
    ),
)
def test_hostile_text_of_any_size_is_read_in_one_pass(text):
    """A reader that starts again at each brace, or goes back, does not come to the end of these."""
    assert last_object(text) is None


def test_the_last_of_very_many_objects_is_found():
    assert last_object('{"a": 1}' * SIZE + ANSWER) == DONE
    assert last_object('{"a": {"b": \n' + '\n{"a": 1}' * SIZE + f"\n{ANSWER}") == DONE


@given(st.text() | st.text('{}[]":,\\ \nabu0d81e-.N', max_size=60))
def test_any_text_is_read(text):
    found = last_object(text)

    assert found is None or isinstance(found, dict)


@given(st.text('{}[]":, \nab1', max_size=40))
def test_what_is_found_stands_in_the_text_as_an_object(text):
    found = last_object(text)

    if found is not None:
        ends = [place for place, each in enumerate(text, start=1) if each == "}"]
        starts = [place for place, each in enumerate(text) if each == "{"]
        assert any(_loads(text[start:end]) == found for start in starts for end in ends if start < end)


def _loads(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


PROSE = st.text(st.characters(codec="utf-8", exclude_characters="{}[],"), max_size=40)


@given(json_objects().filter(bool), PROSE, PROSE, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_what_json_reads_is_found_with_any_prose_around_it(answer, before, after, indent, ascii_only):
    text = json.dumps(answer, indent=indent, ensure_ascii=ascii_only)
    if any("\0" in each for each in json.dumps(answer, ensure_ascii=False)) or "\\u0000" in json.dumps(answer):
        return

    assert last_object(f"{before}{text}{after}") == answer
    assert last_object(f"{before}\n```json\n{text}\n```\n{after}") == answer


@given(json_objects().filter(bool), json_objects().filter(bool))
def test_of_two_objects_the_second_counts(first, second):
    found = last_object(f"{json.dumps(first)}\n{json.dumps(second)}")

    assert found == second or (found is None and "\\u0000" in json.dumps(second))


@pytest.mark.parametrize(
    "answer",
    [
        {"a": float("nan")},
        {"a": float("inf")},
        {"a": "\ud800"},
        {"a": "\0"},
        {"a": object()},
        {"a": b"bytes"},
        {1: {2: nested(100)}},
        {"a": "x" * LONGEST},
        {"a": 10**400},
    ],
    ids=["nan", "inf", "surrogate", "nul", "object", "bytes", "deep", "long", "huge"],
)
def test_an_answer_that_somebody_else_parsed_is_held_to_the_same(answer):
    assert reread(answer) is None


def test_an_answer_that_contains_itself_is_none():
    answer = {}
    answer["a"] = answer

    assert reread(answer) is None


def test_a_good_answer_is_read_again_as_it_is():
    assert reread({"status": "completed", "n": [1, 2.5, None, {"k": "ü"}]}) == {
        "status": "completed",
        "n": [1, 2.5, None, {"k": "ü"}],
    }
