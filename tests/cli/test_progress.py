"""Progress in words: what fits a line, and what a terminal is never told."""

import os
import pty
import sys

import pytest

from keisei.cli.progress import (
    PlainTeller,
    TerminalTeller,
    elapsed_words,
    fitted,
    input_words,
    line_of,
    spent_words,
    teller,
)


@pytest.mark.parametrize(
    ("text", "most", "shown"),
    [
        pytest.param("abc", 3, "abc", id="fits"),
        pytest.param("abcd", 3, "ab…", id="cut"),
        pytest.param("形成形成", 8, "形成形成", id="wide and fits"),
        pytest.param("形成形成", 7, "形成形…", id="wide and cut"),
        pytest.param("形成形成", 6, "形成…", id="half a wide one has no room"),
        pytest.param("e\u0301e\u0301e", 3, "e\u0301e\u0301e", id="accents take none"),
        pytest.param("", 1, "", id="nothing"),
    ],
)
def test_a_line_ends_where_the_terminal_does(text, most, shown):
    assert fitted(text, most) == shown


@pytest.mark.parametrize(("seconds", "words"), [(0.9, "0s"), (59, "59s"), (67, "1m07s"), (7380, "2h03m")])
def test_time_for_people(seconds, words):
    assert elapsed_words(seconds) == words


@pytest.mark.parametrize(
    ("tokens", "cost", "words"),
    [(None, None, ""), (12345, None, "12,345 tokens"), (5, 0.01234, "5 tokens, $0.0123"), (None, 12.5, "$12.50")],
)
def test_what_nobody_knows_is_not_said(tokens, cost, words):
    assert spent_words(tokens, cost) == words


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"command": "ls\n -l", "description": "list"}, "ls -l"),
        ({"description": "d", "file_path": "/a"}, "/a"),
        ({"x": 1}, '{"x": 1}'),
        ({"command": 5}, '{"command": 5}'),
        ({}, ""),
        ("nonsense", ""),
        ({"command": "a\x1b]0;owned\x07"}, "a\\x1b]0;owned\\x07"),
    ],
    ids=range(7),
)
def test_a_call_is_told_by_the_field_that_says_it_best_and_commands_no_terminal(data, words):
    assert input_words(data) == words


def test_a_long_call_is_cut():
    assert len(input_words({"command": "x" * 10_000})) == 160


@pytest.mark.parametrize(
    ("term", "kind"), [("xterm", TerminalTeller), ("dumb", PlainTeller), (None, TerminalTeller)], ids=str
)
def test_a_terminal_that_knows_no_codes_gets_plain_lines(monkeypatch, term, kind):
    monkeypatch.delenv("TERM", raising=False)
    if term is not None:
        monkeypatch.setenv("TERM", term)
    ours, theirs = pty.openpty()

    with os.fdopen(theirs, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        assert type(teller(as_json=False, colour=True)) is kind
    os.close(ours)


@pytest.mark.parametrize(
    ("happening", "line"),
    [
        pytest.param(
            {"event": "finding", "capability": "a::b", "status": "violated", "reason": "x \x1b y"},
            "violated   a::b: x \\x1b y",
            id="a predicate that does not hold",
        ),
        pytest.param(
            {"event": "finding", "capability": "a::b", "status": "not-applicable", "reason": "x"},
            None,
            id="one without an object",
        ),
        pytest.param(
            {"event": "landing", "status": "held", "branch": "main", "reason": "a person decides"},
            "held       on main: a person decides",
            id="a landing that is held",
        ),
        pytest.param(
            {"event": "landing", "status": "landed", "branch": "ma\x1bin", "reason": None},
            "landed     on ma\\x1bin",
            id="one that has landed",
        ),
    ],
)
def test_verdict_and_landing_are_told_on_a_line(happening, line):
    assert line_of(happening) == line


def test_what_is_not_for_people_has_no_line():
    assert line_of({"event": "output", "text": "x"}) is None
    assert line_of({"event": "spend", "tokens": 1}) is None
    assert line_of({"event": "done"}) is None
