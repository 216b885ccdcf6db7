"""Queries: any text is one, and the words that count are taken out of it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.query import FOREIGN, LONGEST, MOST_WORDS, STOP, query_of

QUICK = settings(max_examples=150, deadline=None, database=None, derandomize=True)


def words(text):
    return [word.text for word in query_of(text).words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("read a file", ["read", "file"]),
        ("kei-task::create", ["kei", "task", "create"]),
        ('NEAR("a b", 3) AND NOT x* ^y:z', ["near", "b", "3", "not", "x", "y", "z"]),
        ("c++", ["c"]),
        ("snake_case", ["snake", "case"]),
        ("RULE 0.12", ["rule", "0", "12"]),
        ("File file FILE", ["file"]),
        ("cafe\u0301 CAFÉ", ["café"]),
        ("".join(chr(ord(letter) + 0xFEE0) for letter in "WIDE"), ["wide"]),
        ("検索 する", ["検索", "する"]),
        ("हिन्दी", ["हिन्दी"]),
        ("the of", ["the", "of"]),
        ("a\x00b\ud800c", ["b", "c"]),
        (" :: -- !", []),
        ("", []),
    ],
)
def test_words_are_what_is_written_between_signs(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("readFile", ("read", "file")),
        ("HTTPServer", ("http", "server")),
        ("sha256", ("sha", "256")),
        ("plain", ()),
        ("CAPITALS", ()),
        ("Capital", ()),
        ("größerAls", ()),
    ],
)
def test_a_word_of_several_pieces_tells_them(text, parts):
    assert [word.parts for word in query_of(text).words] == [parts]


@pytest.mark.parametrize(
    ("text", "is_open"),
    [("read fi", [False, True]), ("read fi ", [False, False]), ("fi read fi", [True, False]), ("read the", [False])],
)
def test_only_the_word_at_the_end_may_go_on(text, is_open):
    assert [word.is_open for word in query_of(text).words] == is_open


def test_words_that_ask_are_told_apart_where_something_is_asked_for():
    assert [word.is_asking for word in query_of("what time").words] == [True, False]
    assert [word.is_asking for word in query_of("what?").words] == [False]


def test_what_was_said_is_one_line():
    assert query_of("  RULE\n 0.12\x00\ud800 ").said == "RULE 0.12"


@pytest.mark.parametrize(("text", "is_blank"), [("", True), (" \n\x00", True), ("::", False), ("a", False)])
def test_only_a_text_of_nothing_is_blank(text, is_blank):
    assert query_of(text).is_blank is is_blank


def test_what_comes_behind_much_space_is_read():
    assert words(" " * 10_000 + "file") == ["file"]


def test_a_long_text_is_cut():
    assert words("file " + "x" * 10_000_000)[0] == "file"
    assert len(words(" ".join(f"w{number}" for number in range(1000)))) == MOST_WORDS
    assert len(query_of("aB" * 200).words[0].parts) == MOST_WORDS


@QUICK
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_a_query(text):
    query = query_of(text)

    assert len(query.words) <= MOST_WORDS
    assert len(query.said) <= LONGEST
    assert not FOREIGN.search(query.said)
    assert len({word.text for word in query.words}) == len(query.words)
    assert all(word.text and '"' not in word.text for word in query.words)
    small = [word.text in STOP for word in query.words]
    assert all(small) or not any(small)
