"""What harnesses print about waiting, as a time that can be believed."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.adapters.hint import LONGEST_S, Hint, hint_in, hint_of_epoch, hint_of_header

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = 60, 3600, 86_400

WAITS = {
    "try again in 5m": 5 * MINUTE,
    "Please try again in 20s.": 20,
    "Please try again in 1.5s.": 1.5,
    "try again in 250ms": 0.25,
    "Try again in 3 days 4 hours.": 3 * DAY + 4 * HOUR,
    "try again in 2 hours and 5 minutes": 2 * HOUR + 5 * MINUTE,
    "try again in 1h30m": HOUR + 30 * MINUTE,
    "Too many requests, retry in 90 seconds": 90,
    "check in again in 45 seconds": 45,
    "retry after 30 seconds": 30,
    "retry-after: 30": 30,
    "Retry-After: 300": 300,
    '{"retry_after": 12}': 12,
    '"retry-after-ms": 1500': 1.5,
    "wait 40 seconds before the next call": 40,
    "Fast limit reached · resets in 2h": 2 * HOUR,
    "Retrying in 7 minutes": 7 * MINUTE,
}
MOMENTS = {
    "Claude AI usage limit reached|1794747600": "2026-11-15T13:00:00",
    "Claude AI usage limit reached|1794747600000": "2026-11-15T13:00:00",
    "You've hit your session limit · resets 3pm (UTC)": "2026-11-15T15:00:00",
    "You've hit your session limit · resets 7:50pm (Etc/UTC)": "2026-11-15T19:50:00",
    "5-hour limit reached ∙ resets 3am": "2026-11-16T03:00:00",
    "Your limit resets at 12am (UTC)": "2026-11-16T00:00:00",
    "Your limit resets at 12pm (UTC)": "2026-11-16T12:00:00",
    "You've hit your weekly limit · resets Nov 20, 3pm (UTC)": "2026-11-20T15:00:00",
    "You've hit your weekly limit · resets Nov 20, 2026, 3pm (UTC)": "2026-11-20T15:00:00",
    "resets Nov 16 at 9:05am (GMT)": "2026-11-16T09:05:00",
    "You've hit your usage limit. Try again at 3:05 PM.": "2026-11-15T15:05:00",
    "You've hit your usage limit or try again at Nov 20th, 2026 3:05 PM.": "2026-11-20T15:05:00",
    "resets at 2026-11-15T18:00:00Z": "2026-11-15T18:00:00",
    "resets at 2026-11-15 18:00:00": "2026-11-15T18:00:00",
}
NONSENSE = [
    "",
    "try again in a moment",
    "try again in 0 seconds",
    "retry after 99999999999 seconds",
    "retry-after: 99999999999",
    "try again in 8 days",
    "try again in 1 week and 1 second",
    "retry-after: -5",
    "usage limit reached|1",
    "usage limit reached|1794740000",
    "usage limit reached|99999999999999999999",
    "resets 25pm (UTC)",
    "resets 3:99pm (UTC)",
    "resets Feb 31, 3pm (UTC)",
    "resets Nov 10, 3pm (UTC)",
    "resets Nov 20, 2025, 3pm (UTC)",
    "resets 3pm (Europe/Berlin)",
    "resets 3pm (../../etc/passwd)",
    "resets 33 pm",
    "resets at 2026-13-45T99:00:00Z",
    "try again in \u0665 minutes",
    "the tests took 5 minutes",
]


@pytest.mark.parametrize(("said", "wait_s"), WAITS.items())
def test_a_wait_is_understood(said, wait_s):
    assert hint_in(said, NOW) == Hint(retry_after_s=pytest.approx(wait_s))


@pytest.mark.parametrize(("said", "moment"), MOMENTS.items())
def test_a_moment_is_understood(said, moment):
    assert hint_in(said, NOW) == Hint(resets_at=datetime.fromisoformat(moment).replace(tzinfo=UTC))


@pytest.mark.parametrize("said", NONSENSE)
def test_nonsense_is_no_hint(said):
    assert hint_in(said, NOW) == Hint()


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("120", Hint(retry_after_s=120.0)),
        ("Sun, 15 Nov 2026 12:10:00 GMT", Hint(resets_at=NOW + timedelta(minutes=10))),
        ("Sun, 15 Nov 2026 11:50:00 GMT", Hint()),
        ("9999999999", Hint()),
        ("", Hint()),
        ("soon", Hint()),
        ("Mon, 99 Foo 2026 99:99:99 GMT", Hint()),
    ],
)
def test_a_header_is_seconds_or_a_date(value, hint):
    assert hint_of_header(value, NOW) == hint


@pytest.mark.parametrize("value", [None, True, "1794747600", -1, 0, float("nan"), float("inf"), 10**40, []])
def test_what_is_no_time_since_1970_is_no_hint(value):
    assert hint_of_epoch(value, NOW) == Hint()


TOKENS = st.sampled_from(
    [*"0123456789 .,:()|-", *WAITS, *MOMENTS, "resets ", "try again in ", "d", "weeks", "Feb 29, "]
)


@given(st.lists(TOKENS | st.text(max_size=5), max_size=12).map("".join), st.datetimes(timezones=st.just(UTC)))
def test_a_hint_lies_ahead_and_within_a_week_whatever_was_said(said, now):
    hint = hint_in(said, now)

    assert hint.retry_after_s is None or 0 < hint.retry_after_s <= LONGEST_S
    assert hint.resets_at is None or 0 < (hint.resets_at - now).total_seconds() <= LONGEST_S


@given(st.text(max_size=60))
def test_a_header_never_raises(value):
    assert isinstance(hint_of_header(value, NOW), Hint)
