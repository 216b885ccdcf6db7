"""Merging: ours comes in and goes out, and every other byte stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.adapters import hook_claude, hook_codex
from keisei.adapters.hook_command import is_ours, shell_form
from keisei.hooks import claude
from keisei.hooks.json_text import TooDeep, parse
from keisei.hooks.merge import checked, containers, merged, read, without
from keisei.records.error import AuthorError

COMMAND = shell_form(["/opt/keisei/bin/kei-capability", "check"])
OTHER = {"type": "command", "command": "echo other"}
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8
)
HANDLERS = st.sampled_from([OTHER, {"type": "command", "command": "ü '\"", "timeout": 3}])
GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(HANDLERS, max_size=2)}, optional={"matcher": st.sampled_from(["", "*", "Bash", "Edit|Write"])}
)
HOOKS = st.dictionaries(
    st.sampled_from(["PreToolUse", "PostToolUse", "Stop", "SessionStart"]), st.lists(GROUPS, max_size=3), max_size=3
)
OTHERS = st.dictionaries(st.text(max_size=8).filter(lambda key: key != "hooks"), VALUES, max_size=3)
NEWLINES = st.sampled_from(["\n", "\r\n"])


@st.composite
def settings_texts(draw):
    """Settings as people and programs write them: any order, any indent, on one line, with odd white space."""
    pairs = list(draw(OTHERS).items())
    if draw(st.booleans()):
        pairs.insert(draw(st.integers(0, len(pairs))), ("hooks", draw(HOOKS)))
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": "), (" , ", " : ")]))
    text = json.dumps(dict(pairs), indent=indent, separators=separators, ensure_ascii=draw(st.booleans()))
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(dict(pairs))
    space = st.sampled_from(["", "\n", " ", "\n\n\t"])
    return (draw(space) + text + draw(space)).replace("\n", draw(NEWLINES))


def expected(data, entries):
    hooks = data.get("hooks", {})
    return data | {"hooks": hooks | {event: [*hooks.get(event, []), group] for event, group in entries.items()}}


@given(settings_texts())
def test_ours_is_added_at_the_end_of_its_events_and_nothing_else_changes(text):
    new = merged(text, hook_claude.entries(COMMAND))

    assert json.loads(new) == expected(json.loads(text), hook_claude.entries(COMMAND))


@given(settings_texts())
def test_what_was_there_still_stands_in_the_new_text_in_its_order(text):
    rest = iter(merged(text, hook_claude.entries(COMMAND)))

    left_out = [char for char in text if not char.isspace() and char not in rest]

    assert left_out == []


@given(settings_texts())
def test_merging_twice_is_merging_once(text):
    once = merged(text, hook_claude.entries(COMMAND))

    assert merged(once, hook_claude.entries(COMMAND)) == once


@given(settings_texts())
def test_taking_ours_out_gives_the_settings_that_were(text):
    bare = without(merged(text, hook_claude.entries(COMMAND)), containers(text))

    assert json.loads(bare) == json.loads(text)
    if all(json.loads(text).get("hooks", {"x": 1}).values()) and json.loads(text):
        assert bare == text


@given(settings_texts())
def test_a_text_without_ours_is_left_alone(text):
    assert without(text) == text


@given(settings_texts(), st.sampled_from([hook_claude, hook_codex]))
def test_an_older_entry_is_replaced_where_it_stands(text, harness):
    older = merged(text, harness.entries(shell_form(["/old/keisei", "x"])))

    new = merged(older, harness.entries(COMMAND))

    assert json.loads(new) == expected(json.loads(text), harness.entries(COMMAND))


@given(st.text(alphabet='{}[]",: \n\t\\u12ae-+.truefalsn', max_size=40) | VALUES.map(json.dumps))
def test_texts_are_json_to_us_where_they_are_json_to_others(text):
    try:
        wanted = json.loads(text)
    except ValueError:
        with pytest.raises(json.JSONDecodeError):
            parse(text)
    else:
        assert parse(text).value == wanted


def test_only_our_lines_are_added_to_a_file_that_is_neatly_written():
    text = '{\n    "permissions": {"allow": ["Read", "Grep"]},\n    "hooks": {\n        "Stop": []\n    }\n}\n'

    new = merged(text, {"PreToolUse": {"matcher": "*", "hooks": [{"type": "command", "command": COMMAND}]}})

    lines = new.splitlines()
    assert lines[:4] == [
        "{",
        '    "permissions": {"allow": ["Read", "Grep"]},',
        '    "hooks": {',
        '        "Stop": [],',
    ]
    assert lines[4:6] == ['        "PreToolUse": [', "            {"]
    assert lines[-3:] == ["        ]", "    }", "}"]
    assert new.endswith("}\n")


def test_a_file_on_one_line_stays_on_one_line():
    assert merged('{"model":"x"}', {"Stop": OTHER}) == (
        '{"model":"x","hooks":{"Stop":[{"type":"command","command":"echo other"}]}}'
    )


def test_ours_inside_a_group_of_somebody_else_goes_and_the_group_stays():
    ours = hook_claude.handler(COMMAND)
    text = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [OTHER, ours]}]}}, indent=2)

    assert json.loads(without(text)) == {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}]}}


def test_ours_written_several_times_is_written_once_again():
    ours = hook_claude.handler(COMMAND)
    group = {"matcher": "Bash", "hooks": [ours, OTHER, ours]}
    text = json.dumps({"hooks": {"PreToolUse": [group, {"hooks": [ours]}, {"hooks": [OTHER]}]}})

    hooks = json.loads(merged(text, hook_claude.entries(COMMAND)))["hooks"]["PreToolUse"]

    assert hooks == [{"matcher": "Bash", "hooks": [OTHER]}, {"hooks": [OTHER]}, {"matcher": "*", "hooks": [ours]}]


def test_numbers_escapes_and_repeated_keys_elsewhere_keep_their_spelling():
    text = '{"a": 1.0e+5, "b": "\\u00fc\\/", "c": {"d": 1, "d": 2}, "e": 12345678901234567890123}'

    assert merged(text, {"Stop": OTHER}).startswith(text[:-1] + ", ")


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ('{"a": 1,}', "syntax", "f:1:9"),
        ('{\n  // no\n  "a": 1}', "syntax", "f:2:3"),
        ("[]", "wrong-type", "f"),
        ("nope", "syntax", "f:1:1"),
        ('{"a": NaN}', "syntax", "f:1:7"),
        ("{} {}", "syntax", "f:1:4"),
        ('{"a": 1', "syntax", "f:1:8"),
        ("[" * 70 + "]" * 70, "too-deep", "f"),
        ('{"a":' * 5000, "too-deep", "f"),
    ],
)
def test_what_is_not_a_json_object_is_told_with_its_place(text, code, place):
    with pytest.raises(AuthorError) as caught:
        read(text, "f")

    assert [(problem.code, problem.place) for problem in caught.value.problems] == [(code, place)]


@pytest.mark.parametrize("text", ['{"hooks": {}, "hooks": {}}', '{"hooks": {"Stop": [], "Stop": []}}'])
def test_hooks_that_are_written_twice_are_not_guessed_at(text):
    with pytest.raises(AuthorError) as caught:
        checked(text, "f", claude.defects)

    assert [problem.code for problem in caught.value.problems] == ["duplicate-key"]


def test_depth_has_a_limit():
    assert parse("[" * 64 + "]" * 64).value
    with pytest.raises(TooDeep):
        parse("[" * 66 + "]" * 66)


def test_everything_added_is_ours():
    hooks = json.loads(merged(None, hook_claude.entries(COMMAND)))["hooks"]

    assert {event: is_ours(groups[0]["hooks"][0]["command"]) for event, groups in hooks.items()} == {
        "PreToolUse": True,
        "PostToolUse": True,
    }
