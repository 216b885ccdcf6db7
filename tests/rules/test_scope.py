"""Scope: which globs can be judged at all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.scope import glob_fault, is_within

QUICK = settings(max_examples=200, deadline=None, database=None)


@pytest.mark.parametrize(
    "glob",
    [
        "src/**",
        "**",
        "**/*.py",
        "src/shop/cart.py",
        "a/*/b?.rs",
        "src/[ab].py",
        "src/[!a-z].py",
        "{src,tests}/**",
        "src/{a,b}.py",
        "src/x].py",
        "src/[{]x",
        ".github/**",
        "a..b/c",
        "dir with space/ä.md",
        "_primitives/_rust/kei-forge/**",
        "src/",
    ],
)
def test_a_glob_that_can_be_judged_has_no_fault(glob):
    assert glob_fault(glob) is None


@pytest.mark.parametrize(
    ("glob", "fault"),
    [
        pytest.param("", "is empty", id="empty"),
        pytest.param("   ", "is empty", id="blank"),
        pytest.param("/etc/passwd", "is absolute; globs are relative to the repository", id="absolute"),
        pytest.param("~/x", "is absolute; globs are relative to the repository", id="home"),
        pytest.param("../x", "climbs out with `..`", id="parent"),
        pytest.param("src/../../x", "climbs out with `..`", id="parent-inside"),
        pytest.param("src/..", "climbs out with `..`", id="parent-at-the-end"),
        pytest.param("a\0b", "contains a control character", id="nul"),
        pytest.param("a\nb", "contains a control character", id="newline"),
        pytest.param("a\rb", "contains a control character", id="carriage-return"),
        pytest.param("src\\x", "contains a backslash; separators are `/`", id="backslash"),
        pytest.param("src//x", "contains an empty component", id="double-slash"),
        pytest.param("./src", "contains an empty component", id="leading-dot"),
        pytest.param("src/./x", "contains an empty component", id="dot-inside"),
        pytest.param("src/.", "contains an empty component", id="dot-at-the-end"),
        pytest.param(".", "contains an empty component", id="dot"),
        pytest.param(
            "src/**.py", "has `**` inside a component; `**` stands alone between slashes", id="stars-in-a-name"
        ),
        pytest.param("src/***", "has `**` inside a component; `**` stands alone between slashes", id="three-stars"),
        pytest.param("src/[ab.py", "opens a `[` that is never closed", id="open-class"),
        pytest.param("src/{a,b", "opens a `{` that is never closed", id="open-brace"),
        pytest.param("src/a}", "closes a `}` that was never opened", id="stray-brace"),
        pytest.param("{a,{b,c}}", "nests `{` inside `{`", id="nested-braces"),
        pytest.param("{a,[bc]}", "nests `[` inside `{`", id="class-in-braces"),
    ],
)
def test_a_glob_that_cannot_be_judged_is_told_why(glob, fault):
    assert glob_fault(glob) == fault


@QUICK
@given(st.text(max_size=12), st.text(max_size=12))
def test_no_glob_without_fault_leaves_the_repository(left, right):
    for glob in (f"../{left}", f"{left}/../{right}", f"{left}/..", f"/{left}", f"~{left}"):
        assert glob_fault(glob) is not None, glob


@QUICK
@given(st.text())
def test_any_text_gets_an_answer(glob):
    fault = glob_fault(glob)

    assert fault is None or (fault and "\n" not in fault)


@pytest.mark.parametrize(
    ("glob", "other"),
    [
        ("src/**", "src/**"),
        ("src/a/**", "src/**"),
        ("src/*.py", "src/**"),
        ("src/a.py", "src/*.py"),
        ("any/thing.txt", "**"),
        ("src/{a,b}/**", "src/**"),
    ],
)
def test_a_glob_within_another(glob, other):
    assert is_within(glob, other)


@pytest.mark.parametrize(
    ("glob", "other"),
    [
        ("**", "src/**"),
        ("src2/**", "src/**"),
        ("src/*", "src/*.py"),
        ("src/../etc/**", "src/**"),
        ("/etc/passwd", "**/passwd"),
        ("", "src/**"),
        ("{src,etc}/**", "src/**"),
        ("s*/**", "src/**"),
        ("src/a/**", "s*/**"),
    ],
)
def test_a_glob_that_is_not_surely_within_another(glob, other):
    assert not is_within(glob, other)
