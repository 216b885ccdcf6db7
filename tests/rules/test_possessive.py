"""Possessive groups: spelt out, they match exactly what they match where Python reads them rightly."""

import re
import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.rules.possessive import BROKEN, sound, spelt_out, uncaptured
from tests.gate.corpus import cases

KIT = files("keisei") / "kit/capabilities/safety/no-dep-bump/capability.toml"
PATTERNS = [each for each in tomllib.loads(KIT.read_text())["restricts"]["tool-patterns"] if "+" in each]
INPUTS = [each.input.get("command") for kind in ("evasion", "harmless") for each in cases(kind)]
COMMANDS = sorted({each for each in INPUTS if isinstance(each, str)})
KNOWN = ["npm", "-w", "-C", "--x", "add", "i", "cargo", "+x", "uv", "--project", "x"]
WORDS = st.lists(st.sampled_from(KNOWN), max_size=8)


@pytest.mark.parametrize(
    ("pattern", "fits", "not_fits"),
    [
        (r"^a( (-w) \S+| -\S+)*+ add$", ["a add", "a -x add", "a -w b add"], ["a -w add", "b add"]),
        (r"^(ab?)*+c$", ["c", "abac", "aac"], ["ab", "abb c"]),
        (r"^([)*+]|\))*+x$", ["x", ")*+x", "))x"], ["yx"]),
        (r"^((a|b)?+c)++$", ["ac", "cbc"], ["ab", ""]),
        (r"^(a|ab){1,2}+c$", ["ac"], ["abc"]),
    ],
)
def test_it_says_the_same_on_every_python(pattern, fits, not_fits):
    expression = re.compile(spelt_out(pattern))

    assert "*+" not in spelt_out(pattern).replace("[)*+]", "")
    assert all(expression.search(each) for each in fits)
    assert not any(expression.search(each) for each in not_fits)


def test_what_has_none_stays_as_it_is():
    assert spelt_out(r"^[*+]++a*+(b)*\)*+$") == r"^[*+]++a*+(b)*\)*+$"


@pytest.mark.skipif(BROKEN, reason="this Python reads the originals wrongly")
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_kits_patterns_judge_the_corpus_alike(pattern):
    original, other = re.compile(uncaptured(pattern), re.DOTALL), re.compile(spelt_out(pattern), re.DOTALL)

    assert [each for each in COMMANDS if bool(original.search(each)) != bool(other.search(each))] == []


@pytest.mark.skipif(BROKEN, reason="this Python reads the originals wrongly")
@given(words=WORDS)
def test_the_kits_patterns_judge_any_words_alike(words):
    text = " ".join(words)

    assert [each for each in PATTERNS if _finds(uncaptured(each), text) != _finds(spelt_out(each), text)] == []


def _finds(pattern, text):
    return re.search(pattern, text) is not None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"^uv( (--directory|--project) \S+| -\S+)*+ (add|remove)( |$)", "uv --project npm -w add"),
        (r"^a([)(]|\(x\))*+ (b)$", "a()( b"),
        (r"^a([]()]|[^](])*+$", "a]x("),
    ],
)
def test_a_group_inside_a_possessive_one_is_never_lost_count_of(pattern, text):
    assert re.compile(sound(pattern)).search(text) is not None
