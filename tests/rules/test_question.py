"""Questions of an agent: read from its answer and its report block, strictly, and never endless."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.launch import Exit
from keisei.records.report import AgentReport
from keisei.rules.claim import Unread, read
from keisei.rules.outcome import decode
from keisei.rules.question import LONGEST, MOST, reported

BLOCKED = {"status": "blocked"}


def block(value, fence="```"):
    return f"{fence}report\nsummary: x\nquestions: {value}\n{fence}\n"


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, ()),
        ([], ()),
        ("Which port?", ("Which port?",)),
        (["Which port?", " Why? "], ("Which port?", "Why?")),
        ("none", ()),
        (["None", "-", "Why?"], ("Why?",)),
    ],
    ids=["null", "empty", "one", "two", "none", "none among others"],
)
def test_an_answer_may_ask(given, found):
    assert read(BLOCKED | {"questions": given}).questions == found


@pytest.mark.parametrize("given", [1, True, {"q": "?"}, [1], [None], [["?"]], ["?"] * (MOST + 1)])
def test_another_shape_is_no_answer(given):
    with pytest.raises(Unread, match="`questions`"):
        read(BLOCKED | {"questions": given})


def test_an_endless_question_is_cut():
    (question,) = read(BLOCKED | {"questions": "x" * (LONGEST * 2)}).questions

    assert len(question) == LONGEST
    assert len(reported(block("x" * (LONGEST * 2)))[0]) == LONGEST


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (block("Which port?"), ("Which port?",)),
        (block("Which port?", "````"), ("Which port?",)),
        (block("first") + block("second"), ("second",)),
        (block("Which port?") + block("none"), ()),
        (block("none"), ()),
        (block("").replace("questions", "Questions") + "questions: outside", ()),
        ("questions: Which port?", ()),
        ("```\nquestions: Which port?\n```", ()),
        ("```report\nquestions: never closed", ()),
        ("", ()),
        (None, ()),
    ],
    ids=["one", "longer fence", "last", "last is none", "none", "empty", "outside", "unmarked", "open", "no", "null"],
)
def test_the_last_report_block_may_ask(text, found):
    assert reported(text) == found


def test_what_could_command_a_terminal_is_escaped():
    assert reported(block("a\x1b[31m?")) == ("a\\x1b[31m?",)


@given(st.text(max_size=400))
@settings(max_examples=100, deadline=None, database=None)
def test_any_text_is_read_without_raising(text):
    assert all(0 < len(each) <= LONGEST for each in reported(text))


ENDED = Exit(
    code=0,
    signal=None,
    stdout=b"",
    stderr=b"",
    stdout_truncated=False,
    stderr_truncated=False,
    timed_out=False,
    canceled=False,
    survivors_killed=0,
    survivors_left=0,
    level="group",
    started_at=datetime(2026, 1, 31, tzinfo=UTC),
    duration_s=1.0,
)


def claimed(text):
    return decode(AgentReport(text=text), ENDED, complete_by_exit_code=False)


def test_the_answer_outweighs_the_report_block():
    text = block("from the report") + '{"status": "blocked", "questions": ["from the answer"]}'

    assert claimed(text).questions == ("from the answer",)


def test_the_report_block_speaks_where_the_answer_asks_nothing():
    assert claimed(block("from the report") + '{"status": "blocked"}').questions == ("from the report",)
    assert claimed(block("without an answer")).questions == ("without an answer",)
