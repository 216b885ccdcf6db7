"""Reports: the last closed block counts, fields are spelled exactly, lists of paths are compared with real ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import Said
from keisei.rules.report import Listed, listed, read, spoken


def values(text, name="a"):
    report = read(text)
    return None if report is None else report.values(name)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("```report\na: 1\n```", ("1",)),
        ("~~~report\na: 1\n~~~", ("1",)),
        ("`````report\na: 1\n`````", ("1",)),
        ("```report\na: 1\n`````", ("1",)),
        ("``` report \na: 1\n```  ", ("1",)),
        ("  ```report\n  a: 1\n  ```", ("1",)),
        ("```report\r\na: 1\r\n```\r\n", ("1",)),
        ("```report\na:1\n```", ("1",)),
        ("```report\na : 1\n```", ("1",)),
        ("```report\na: b: c\n```", ("b: c",)),
        ("```report\na:\n```", ("",)),
        ("```report\na: 1\n```\n```report\na: 2\n```\nbye", ("2",)),
        ("```report\na: 1\n```\n```report\nb: 2\n```", ()),
        ("```report\na: 1\n```\n```report\na: never closed", ("1",)),
        ("```report\na: 1\na: 1\n```", ("1",)),
        ("```report\na: 1\na: 2\n```", ("1", "2")),
        ("````report\na: 1\n```\na: 2\n````", ("1", "2")),
        ("```report\nA: 1\n- a: 2\n# a: 3\nxa: 4\n    a: 5\n```", ()),
        ("```report\n```", ()),
        ("```report\na: 1\n~~~", None),
        ("````report\na: 1\n```", None),
        ("``report\na: 1\n``", None),
        ("```Report\na: 1\n```", None),
        ("```reports\na: 1\n```", None),
        ("```report x\na: 1\n```", None),
        ("```\na: 1\n```", None),
        ("> ```report\n> a: 1\n> ```", None),
        ("a: 1", None),
        ("", None),
        (None, None),
    ],
)
def test_a_block_is_read(text, found):
    assert values(text) == found


def test_the_message_comes_before_the_file():
    message, file = "```report\na: message\n```", "```report\na: file\n```"

    assert spoken(Said(text=message, file=file)).value("a") == "message"
    assert spoken(Said(text="no block", file=file)).value("a") == "file"
    assert spoken(Said(text=None, file=None)) is None


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("a: 1", None),
        ("a: none", None),
        ("a: 1\na: 1", None),
        ("b: 1", "the report has no field `a`"),
        ("A: 1", "the report has no field `a`, only `A`"),
        ("a:", "the field `a` of the report is empty"),
        ("a: \u200b\u2060", "the field `a` of the report is empty"),
        ("a: 1\na: 2", "the report says `a` twice, and differently"),
    ],
)
def test_a_field_that_must_be_there(lines, fault):
    report = read(f"```report\n{lines}\n```")

    assert report.fault("a") == fault
    assert (report.value("a") is None) == (fault is not None)


@pytest.mark.parametrize(
    ("value", "real", "missing", "invented"),
    [
        ("none", [], (), ()),
        ("None.", [], (), ()),
        ("-", [], (), ()),
        ("none", ["none"], (), ()),
        ("none", ["a.py"], ("a.py",), ()),
        ("a.py", ["a.py"], (), ()),
        ("a.py", [], (), ("a.py",)),
        ("a.py, b.py", ["b.py", "a.py"], (), ()),
        ("a.py,b.py,", ["a.py", "b.py"], (), ()),
        ("a.py, a.py", ["a.py"], (), ()),
        ("a.py", ["a.py", "b.py"], ("b.py",), ()),
        ("a.py, c.py", ["a.py", "b.py"], ("b.py",), ("c.py",)),
        ("./a.py, `b.py`, \"c d.py\", 'e.py'", ["a.py", "b.py", "c d.py", "e.py"], (), ()),
        ("a, b.py, c.py", ["a, b.py", "c.py"], (), ()),
        ('"a,b,c.py", b', ["a,b,c.py", "b"], (), ()),
        ("a, b", ["a", "b", "a, b"], ("a", "b"), ()),
        ("caf\u00e9.py", ["cafe\u0301.py"], (), ()),
        ("日本 語.py", ["日本 語.py"], (), ()),
        (r"a\nb.py", ["a\nb.py"], (), ()),
        (r"caf\xe9.py", [r"caf\xe9.py"], (), ()),
        ("A.py", ["a.py"], ("a.py",), ("A.py",)),
        ("a.py (new)", ["a.py"], ("a.py",), ("a.py (new)",)),
        ("src/", ["src/a.py"], ("src/a.py",), ("src/",)),
        ("/repo/a.py", ["a.py"], ("a.py",), ("/repo/a.py",)),
        (",,,", [], (), ()),
        (",,,", [",,,"], (), ()),
    ],
)
def test_a_list_of_paths_is_compared(value, real, missing, invented):
    assert listed(value, real) == Listed(missing=missing, invented=invented)


def test_a_path_of_commas_in_an_endless_list_costs_little():
    # Every piece could begin the path; trying all of them all the way would not end in an hour.
    found = listed(",a" * 200_000, [",a" * 31, "," * 1000, "a"])

    assert found.missing == ("," * 1000,)


@given(st.text(max_size=300), st.lists(st.text(max_size=20), max_size=5))
@settings(max_examples=200, deadline=None, database=None)
def test_anything_is_read_without_raising(text, paths):
    for fenced in (text, f"```report\n{text}\n```", f"~~~report\na: {text}\n~~~"):
        report = read(fenced)
        if report is not None:
            assert all(each.name and each.value == each.value.strip() for each in report.fields)
    assert set(listed(text, paths).missing) <= set(paths)


@given(
    st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=10), max_size=5, unique=True)
)
@settings(max_examples=200, deadline=None, database=None)
def test_every_honest_list_is_right(names):
    paths = [f"x/{each}" for each in names if each[-1] not in "\"'`"]

    found = listed(", ".join(paths) or "none", paths)

    assert found.invented == () or any("," in path for path in paths)
    assert found.missing == () or any("," in path for path in paths)
