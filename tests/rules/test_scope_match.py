"""Scope: which paths a glob covers, component by component, and which folders could hold such a path."""

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from keisei.rules.scope import could_hold, covers, glob_fault

QUICK = settings(max_examples=300, deadline=None, database=None, derandomize=True)

component = st.text(alphabet="abAé.-_ ", min_size=1, max_size=4).filter(lambda text: text not in (".", ".."))
path = st.lists(component, min_size=1, max_size=5).map("/".join)
piece = st.sampled_from(["a", "b", "A", "é", "*", "?", "[ab]", "[!a]", "{a,bb}", ".", "*.b"])
part = st.one_of(component, st.lists(piece, min_size=1, max_size=3).map("".join), st.just("**"))
glob = st.lists(part, min_size=1, max_size=5).map("/".join).filter(lambda text: glob_fault(text) is None)


@st.composite
def covered(draw):
    """A glob grown from a path that it covers, and the path."""
    parts = draw(st.lists(component, min_size=1, max_size=5))
    spelled = []
    for part in parts:
        forms = [
            part,
            part,
            "*",
            part[0] + "*",
            "*" + part[-1],
            "?" * len(part),
            "{zz," + part + "}",
            "[!z]" + part[1:],
        ]
        spelled.append(draw(st.sampled_from([*forms, "**"])))
        if draw(st.integers(0, 4)) == 0:
            spelled.append("**")
    glob = "/".join(spelled)
    assume(glob_fault(glob) is None)
    return glob, "/".join(parts)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/a.py", "src/a.py"),
        ("src/**", "src/a.py"),
        ("src/**", "src/x/y/a.py"),
        ("src/**", "src"),
        ("**", "a"),
        ("**", "a/b/c"),
        ("**/a", "a"),
        ("**/a", "x/y/a"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/**/**/b", "a/b"),
        ("*.py", "a.py"),
        ("*.py", ".py"),
        ("*", ".hidden"),
        ("a*c", "ac"),
        ("a*c", "abbc"),
        ("a?c", "abc"),
        ("[ab].py", "b.py"),
        ("[a-c].py", "b.py"),
        ("[!a].py", "b.py"),
        ("[^a].py", "b.py"),
        ("[]a].py", "].py"),
        ("[a-].py", "-.py"),
        ("{a,b}.py", "b.py"),
        ("{src,tests}/**", "tests/x/y"),
        ("{*.py,x}", "long.py"),
        ("{,a}b", "b"),
        ("src/", "src"),
        ("a.b", "a.b"),
        ("a+b(c)", "a+b(c)"),
        ("x\ny".replace("\n", "*"), "x\ny"),
        ("ä/*.md", "ä/ö.md"),
        ("src/**/*.py", "src/a.py"),
    ],
)
def test_a_glob_covers(glob, path):
    assert covers(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("src/a.py", "src/b.py"),
        ("src/a.py", "src/a.pyc"),
        ("src/a.py", "x/src/a.py"),
        ("src/**", "srcx/a.py"),
        ("src/**", "lib/src/a.py"),
        ("src/*", "src/x/a.py"),
        ("src/*", "src"),
        ("*", "a/b"),
        ("*.py", "x/a.py"),
        ("a?c", "a/c"),
        ("a[/]c", "a/c"),
        ("a[!x]c", "a/c"),
        ("a[^x]c", "a/c"),
        ("a*c", "a/c"),
        ("**/a", "xa"),
        ("**/a", "a/b"),
        ("a/**/b", "ab"),
        ("a/**/b", "a/xb"),
        ("a.b", "aXb"),
        ("[ab].py", "c.py"),
        ("[!a].py", "a.py"),
        ("{a,b}.py", "c.py"),
        ("{a,b}.py", "a,b.py"),
        ("A", "a"),
        ("src", "src/a.py"),
        ("a$", "a"),
        ("a", "a\n"),
        ("a|b", "a"),
    ],
)
def test_a_glob_does_not_cover(glob, path):
    assert not covers(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        (".git/**", ".GIT/config"),
        (".GIT/**", ".git/config"),
        ("Cargo.lock", "cargo.LOCK"),
        ("straße/*", "STRASSE/x"),
        ("caf\u00e9", "cafe\u0301"),
        ("cafe\u0301", "caf\u00e9"),
        ("[A]x", "ax"),
        ("{A,B}", "b"),
        ("\u0130x", "i\u0307x"),
        ("K", "\u212a"),
    ],
)
def test_a_folded_comparison_forgets_case_and_forms_of_unicode(glob, path):
    assert covers(glob, path, folded=True)
    assert not covers(glob, path)


@QUICK
@given(path)
def test_two_stars_cover_everything_and_any_path_covers_itself(path):
    assert covers("**", path)
    assert covers(path, path)
    assert covers(path.upper(), path, folded=True)


@QUICK
@given(covered())
def test_two_stars_stand_for_no_component_or_for_any_number(pair):
    glob, path = pair

    assert covers(glob, path)
    assert covers(f"**/{glob}", path)
    assert covers(f"**/{glob}", f"x/{path}")
    assert covers(f"**/{glob}", f"x/y/{path}")
    assert covers(f"{glob}/**", path)
    assert covers(f"{glob}/**", f"{path}/x/y")
    assert covers(glob.replace("**", "**/**"), path)


@QUICK
@given(path, path)
def test_one_star_stands_for_one_component_exactly(left, right):
    assert covers(f"{left}/*/{right}", f"{left}/x.y/{right}")
    assert not covers(f"{left}/*", f"{left}/x/y")
    assert not covers(f"{left}/?", f"{left}/x/y")
    assert not covers(f"{left}*{right}", f"{left}/{right}") or covers(f"{left}*{right}", f"{left}{right}")


@QUICK
@given(covered(), path)
def test_a_glob_without_two_stars_covers_only_as_many_components_as_it_has(pair, other):
    glob = pair[0].replace("**", "*")

    assert not covers(glob, other) or len(glob.split("/")) == len(other.split("/"))
    assert not covers(glob, f"{pair[1]}/x") or len(glob.split("/")) == len(pair[1].split("/")) + 1


@QUICK
@example(("[!a]x", "Ax"))
@given(covered())
def test_what_is_covered_exactly_is_covered_when_folded(pair):
    glob, path = pair

    assert covers(glob, path, folded=True)
    assert covers(glob, path.swapcase(), folded=True)


@QUICK
@given(covered())
def test_every_folder_above_a_covered_path_could_hold_it(pair):
    glob, path = pair
    assume(not glob.startswith("**"))
    parts = path.split("/")

    for size in range(1, len(parts)):
        assert could_hold(glob, "/".join(parts[:size])), (glob, path, size)
        assert could_hold(glob, "/".join(parts[:size]), folded=True)


@pytest.mark.parametrize(
    ("glob", "folder"),
    [
        ("src/**", "src"),
        ("src/**", "src/x/y"),
        ("src/a/b.py", "src/a"),
        ("src/*/b.py", "src/x"),
        ("a/**/b", "a/x/y/z"),
        ("a/b", ""),
        ("src/{a,b}/*", "src/b"),
    ],
)
def test_a_folder_that_could_hold_a_covered_path(glob, folder):
    assert could_hold(glob, folder)


@pytest.mark.parametrize(
    ("glob", "folder"),
    [
        ("src/**", "docs"),
        ("src/a/b.py", "src/b"),
        ("src/a.py", "src/a.py"),
        ("src/a.py", "src/a.py/x"),
        ("src/*/b.py", "src/x/y"),
        ("a/**/b", "b"),
        ("Src/x", "src"),
        ("**/x", "src"),
    ],
)
def test_a_folder_that_cannot_hold_a_covered_path(glob, folder):
    assert not could_hold(glob, folder)


def test_a_pattern_of_many_stars_does_not_run_away():
    assert not covers("*a*b*c", "ab" * 120)
    assert not covers("**/a/**/b/**/c", "a/b/" * 60 + "x")


@QUICK
@given(glob, st.text(max_size=12))
def test_any_path_gets_an_answer(glob, path):
    assert covers(glob, path) in (True, False)
    assert could_hold(glob, path) in (True, False)
    assert covers(glob, path, folded=True) in (True, False)
