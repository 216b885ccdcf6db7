"""References: typed where they stand alone, text inside text, and nothing an output says is read as one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.reference import (
    BadReference,
    Reference,
    Unresolved,
    reference,
    references,
    resolved,
    scanned,
    template,
)

SCOPE = {
    "task": {"id": 42, "title": "a $task.id b", "tags": ["x", "y"], "odd key": {"a.b": 1}, "gone": None, "0": "zero"},
    "list": [{"id": 1}, {"id": 2}],
    "input": {"result": {"n": 1.5}, "ok": True},
    "enveloped": {"result": {"id": 7}},
}


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("$task.id", 42),
        ("${task.id}", 42),
        ("$task", SCOPE["task"]),
        ("$task.tags.1", "y"),
        ("$task.tags[1]", "y"),
        ('$task["odd key"]["a.b"]', 1),
        ('${task["odd key"]["a.b"]}', 1),
        ("$task.gone", None),
        ("$task.0", "zero"),
        ("$list.1.id", 2),
        ("$task.result.id", 42),
        ("$list.result.0.id", 1),
        ("$enveloped.result.id", 7),
        ("$input.result.n", 1.5),
        ("id ${task.id}!", "id 42!"),
        ("${task.id}${task.id}", "4242"),
        ("${input.ok} ${input.result.n} ${task.tags}", 'true 1.5 ["x","y"]'),
        ("${task.title}", "a $task.id b"),
        ("so: ${task.title}", "so: a $task.id b"),
        ("$$task.id", "$task.id"),
        ("$${task.id}", "${task.id}"),
        ("5 $ and $5 and $$5", "5 $ and $5 and $5"),
        ("a $task.id b", "a $task.id b"),
        ("", ""),
        ("ends in $", "ends in $"),
    ],
)
def test_a_text_becomes_what_it_refers_to(written, value):
    assert resolved(written, SCOPE) == value
    assert resolved({"a": [written, {"$task.id": written}]}, SCOPE) == {"a": [value, {"$task.id": value}]}


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("$", "`$$`"),
        ("$5 off", "`$$5 off`"),
        ("$task.id and more", "`${task.id} and more`"),
        ("$task.", "`${task}.`"),
        ("$task.01", "`$$task.01`"),
        ("$task[x]", "`$$task[x]`"),
        ("a ${", "`$${`"),
        ("a ${task.id", "`$${`"),
        ("${task id}", "`$${`"),
        ("${}", "`$${`"),
        ("$task" + ".a" * 65, None),
        ('$task["\\q"]', "escape"),
    ],
)
def test_what_only_looks_like_a_reference_is_refused_with_the_way_to_say_it(written, hint):
    with pytest.raises(BadReference) as caught:
        template(written)

    assert hint is None or hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("$tsk.id", "there is no `tsk`"),
        ("$task.idd", "there is no `idd`"),
        ("$task.id.x", "an integer has no property `x`"),
        ("$task.tags.2", "the list has 2 items"),
        ("$list.id", "a list has no property `id`"),
        ("no ${task.gone}", "null is no text"),
    ],
)
def test_a_reference_that_leads_nowhere_is_one_sentence(written, said):
    with pytest.raises(Unresolved) as caught:
        resolved(written, SCOPE)

    assert said in caught.value.message
    assert "\n" not in caught.value.message


def test_an_optional_result_is_not_taken_for_the_envelope():
    scope = {"a": {"x": 1}}

    assert resolved("$a.result.x", scope, {"a"}) == 1
    with pytest.raises(Unresolved, match="`result`"):
        resolved("$a.result.x", scope, set())


def test_references_are_found_with_their_places_and_keys_are_not_read():
    value = {"$key.id": "plain", "a": ["$x.id", {"b": "t ${y} ${z.0}"}], "c": "$$no"}

    assert references(value) == (
        Reference("x", ("id",), ("a", 0)),
        Reference("y", (), ("a", 1, "b"), whole=False),
        Reference("z", (0,), ("a", 1, "b"), whole=False),
    )


def test_every_bad_text_of_a_value_is_told_and_the_good_ones_are_kept():
    found = list(scanned({"a": "$5", "b": "$x.id", "c": "a ${"}))

    assert [each.root if isinstance(each, Reference) else each[0] for each in found] == [("a",), "x", ("c",)]


def test_a_reference_alone_is_asked_for():
    assert reference("$a.b") == Reference("a", ("b",))
    for text in ("a", "x ${a.b}", "$$a", "${a}${b}"):
        with pytest.raises(BadReference):
            reference(text)


NAMES = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_-]{0,8}\Z")
PARTS = st.lists(st.text(max_size=6) | st.integers(0, 9), max_size=4)


@settings(max_examples=80, database=None)
@given(NAMES, PARTS)
def test_a_path_is_read_as_it_is_told(root, parts):
    found = Reference(root, tuple(parts))

    assert template(found.text) == (found,)
    assert template("${" + found.text[1:] + "}") == (found,)


@settings(max_examples=80, database=None)
@given(st.text(max_size=30))
def test_any_text_can_be_written_with_doubled_dollars(text):
    assert resolved(text.replace("$", "$$"), {}) == text


@settings(max_examples=80, database=None)
@given(st.text(alphabet='$ {}[]".a0\\-', max_size=20))
def test_no_text_is_too_odd_to_be_read_or_refused(text):
    try:
        found = template(text)
    except BadReference as error:
        found = error.message

    assert found
