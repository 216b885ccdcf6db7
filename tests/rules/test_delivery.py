"""Deliveries: what a message says, on which channel, and when it is tried again."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.outbox import OutboxItem
from keisei.rules.delivery import CAP_S, LONGEST, TRIES, asked_wait_s, channel_of, is_notice, next_try, words_of

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def waits(asked_s=None):
    found = [next_try(tries, NOW, asked_s) for tries in range(1, TRIES + 1)]
    return [None if each is None else (each - NOW).total_seconds() for each in found]


def test_the_wait_doubles_and_the_eighth_failure_is_the_last():
    assert waits() == [10, 20, 40, 80, 160, 320, 640, None]


def test_a_receiver_may_ask_for_a_longer_wait_and_not_for_a_shorter_one():
    assert waits(100.0) == [100, 100, 100, 100, 160, 320, 640, None]
    assert waits(10.0**9)[0] == CAP_S


@given(tries=st.integers(0, 10**6), asked=st.none() | st.floats(-(10.0**12), 10.0**12))
def test_no_wait_is_longer_than_an_hour_or_none_at_all(tries, asked):
    again = next_try(tries, NOW, asked)

    assert again is None or timedelta(seconds=10) <= again - NOW <= timedelta(hours=1)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("120", 120),
        (" 7 ", 7),
        ("99999999999999999999", 3600),
        ("Thu, 01 Jan 2026 12:01:40 GMT", 100),
        ("Thu, 01 Jan 2026 11:00:00 GMT", 0),
        ("Thu, 01 Jan 2026 12:01:40", 100),
        ("-5", None),
        ("soon", None),
        ("", None),
        ("²", None),
        (None, None),
    ],
)
def test_a_wait_is_read_as_seconds_or_as_a_date(header, seconds):
    assert asked_wait_s(header, NOW) == seconds


@given(st.text())
def test_no_header_is_worse_than_none(header):
    found = asked_wait_s(header, NOW)

    assert found is None or 0 <= found <= CAP_S


def test_a_message_without_a_channel_goes_to_the_console():
    assert channel_of({}) == "console"
    assert channel_of({"channel": "phone"}) == "phone"
    assert channel_of({"channel": ["phone"]}) == "['phone']"


@pytest.mark.parametrize(
    ("payload", "title", "text"),
    [
        ({"text": "a", "body": "b"}, "", "a"),
        ({"body": "b", "title": " so\nit  goes "}, "so it goes", "b"),
        ({"text": "  ", "content": "c"}, "", "c"),
        ({"text": 7, "subject": "s"}, "s", '{"text": 7, "subject": "s"}'),
        ({}, "", "{}"),
    ],
)
def test_words_are_found_where_agents_write_them(payload, title, text):
    assert words_of(payload) == (title, text)


def test_endless_words_are_cut():
    assert len(words_of({"text": "x" * 10**6}).text) == LONGEST


@pytest.mark.parametrize(
    ("key", "attempt_id", "notice"),
    [
        ("a1/external_message/0", "a1", False),
        ("a1/external_message/-1", "a1", True),
        ("operator/7", None, True),
        ("approval/7/console", "a1", True),
    ],
)
def test_what_the_runtime_tells_is_known_by_its_key(key, attempt_id, notice):
    item = OutboxItem(key=key, kind="external_message", task_id="t", attempt_id=attempt_id, payload={}, created_at=NOW)

    assert is_notice(item) is notice
