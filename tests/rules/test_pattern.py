"""Patterns: every sample is a string its pattern matches."""

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.pattern import samples

QUICK = settings(max_examples=150, deadline=None, database=None)

ATOMS = st.sampled_from(
    [*"abgit", "git", "rm", " ", "-", r"\.", "/", ".", r"\s", r"\d", r"\w", r"\S", "[abc]", "[^abc]", "[a-z]", r"[\s-]"]
)


def grown(inner):
    return st.one_of(
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{0}", "{1,3}", "*?"])).map(
            lambda it: f"(?:{it[0]}){it[1]}"
        ),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.lists(inner, min_size=2, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda it: f"(?!{it[0]}){it[1]}"),
    )


PATTERNS = st.tuples(
    st.sampled_from(["", "^"]), st.recursive(ATOMS, grown, max_leaves=8), st.sampled_from(["", "$", "( |$)"])
)


@QUICK
@given(PATTERNS.map("".join))
def test_every_sample_matches_its_pattern(pattern):
    assert [text for text in samples(pattern) if not re.search(pattern, text)] == []


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [
        pytest.param("^cargo( |$)", {"cargo"}, id="a-command"),
        pytest.param("^git (diff|log|show)( |$)", {"git diff", "git log", "git show"}, id="every-alternative"),
        pytest.param("^(a|b)(c|d)$", {"ac", "ad", "bc", "bd"}, id="every-combination"),
        pytest.param("^rm -rf? x$", {"rm -r x", "rm -rf x"}, id="with-and-without"),
        pytest.param("^(?!git)[a-z]+ x$", {"a x"}, id="a-look-ahead-is-tried"),
        pytest.param("(?i)^GIT$", {"GIT"}, id="flags"),
    ],
)
def test_samples_show_what_a_pattern_means(pattern, texts):
    assert {text.strip() for text in samples(pattern)} == texts


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("(", id="not-a-pattern"),
        pytest.param("[z-a]", id="a-bad-range"),
        pytest.param(r"(a)\1", id="a-back-reference"),
        pytest.param("(?!)x", id="matches-nothing"),
        pytest.param("", id="empty"),
        pytest.param("^$", id="only-the-empty-text"),
        pytest.param("(" * 5000 + ")" * 5000, id="too-deep"),
    ],
)
def test_a_pattern_it_cannot_read_has_no_samples(pattern):
    assert samples(pattern) == ()


def test_many_alternatives_are_bounded():
    pattern = "".join("(a|b)" for _ in range(64))

    found = samples(pattern)

    assert 0 < len(found) <= 256
    assert all(re.search(pattern, text) for text in found)


@pytest.mark.parametrize("pattern", ["a{2000000000}", "((a{1000}){1000}){1000}"], ids=["one-repeat", "nested-repeats"])
def test_a_hostile_repeat_does_not_eat_the_memory(pattern):
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (512 * 2**20, 512 * 2**20))
from keisei.rules.pattern import samples
print(max(map(len, samples({pattern!r})), default=0))
"""

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr.strip().splitlines()[-1:]
    assert int(done.stdout) <= 2**20
