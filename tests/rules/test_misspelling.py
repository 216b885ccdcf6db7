"""Misspellings: how far words are apart, and what may have been meant."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.misspelling import bare, bound, completed, distance, mended, nearest

QUICK = settings(max_examples=200, deadline=None, database=None, derandomize=True)
SHORT = st.text("abc", max_size=6)


def plainly(one, other):
    """The distance by its definition: the least of what the last letters allow."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        plainly(one[:-1], other) + 1,
        plainly(one, other[:-1]) + 1,
        plainly(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    ]
    if len(one) > 1 and len(other) > 1 and one[-2:] == other[:-3:-1]:
        ways.append(plainly(one[:-2], other[:-2]) + 1)
    return min(ways)


@pytest.mark.parametrize(
    ("one", "other", "away"),
    [
        ("history", "history", 0),
        ("hstory", "history", 1),
        ("historyy", "history", 1),
        ("hisotry", "history", 1),
        ("histary", "history", 1),
        ("hsitroy", "history", 2),
        ("", "ab", 2),
        ("abcdef", "badcfe", 3),
    ],
)
def test_a_slip_counts_once(one, other, away):
    assert distance(one, other, 3) == away
    assert distance(one, other, away) == away
    assert away == 0 or distance(one, other, away - 1) is None


@QUICK
@given(SHORT, SHORT, st.integers(0, 4))
def test_the_distance_is_what_its_definition_says_or_too_far(one, other, most):
    away = plainly(one, other)

    assert distance(one, other, most) == (away if away <= most else None)


@QUICK
@given(SHORT, SHORT)
def test_the_distance_is_the_same_both_ways(one, other):
    assert distance(one, other, 3) == distance(other, one, 3)


@pytest.mark.parametrize(("word", "most"), [("", 0), ("his", 0), ("hist", 1), ("history", 1), ("historic", 2)])
def test_longer_words_may_be_further_from_what_was_meant(word, most):
    assert bound(word) == most


def test_only_the_nearest_are_meant():
    terms = ["commit", "comic", "comet", "comma", "summit"]

    assert nearest(["comit"], terms) == ["commit", "comic", "comet"]
    assert nearest(["commit"], terms) == ["commit"]
    assert nearest(["zzzzz", "zummit"], terms) == ["summit"]
    assert nearest(["xxmmitting"], terms) == nearest(["cmt"], terms) == nearest([], terms) == []


def test_a_term_with_digits_is_nobodys_misspelling():
    assert nearest(["shaa"], ["sha1", "shab"]) == ["shab"]


@pytest.mark.parametrize("typed", ["configura", "configurati", "configuratio"])
def test_an_ending_that_was_begun_is_written_out(typed):
    assert "configuration" in set(completed(typed))


def test_a_slip_in_the_ending_is_mended():
    assert "configuration" in set(mended("configuratoin"))
    assert "listing" in set(mended("listign"))
    assert list(mended("x")) == list(completed("x")) == []


def test_an_ending_is_taken_away_where_enough_is_left():
    assert list(bare("eivdence")) == ["eivd"]
    assert list(bare("thing")) == list(bare("x")) == []
