"""The ear: which answers of a model's server end an attempt, and with which error."""

from datetime import UTC, datetime, timedelta

import pytest

from keisei.records.attempt import Usage
from keisei.wiring.ear import PATIENCE_S, Ear
from keisei.wiring.returned import usage_of


def heard(*answers):
    """What an ear tells of these answers: statuses, or statuses with headers."""
    told = []
    ear = Ear(told.append)
    for each in answers:
        ear.hear(*(each if isinstance(each, tuple) else (each, {})))
    return told


@pytest.mark.parametrize(
    ("answers", "times"), [([401], 0), ([401, 401], 1), ([401, 200, 401], 0), ([401, 500, 401], 0), ([403, 403], 0)]
)
def test_a_key_is_not_taken_when_it_was_refused_twice_in_a_row(answers, times):
    assert [each.kind for each in heard(*answers)] == ["auth"] * times


@pytest.mark.parametrize("status", [200, 400, 403, 500, 529])
def test_other_answers_are_the_harness_s_own_matter(status):
    assert heard((status, {"retry-after": "3600"})) == []


def test_a_long_wait_is_told_with_its_length():
    (error,) = heard((429, {"retry-after": "300"}))
    assert (error.kind, error.retry_after_s) == ("rate_limit", 300)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"retry-after": str(int(PATIENCE_S))},
        {"retry-after": "soon"},
        {"retry-after": "9" * 30},
        {"anthropic-ratelimit-unified-reset": "\u0663" * 10},
        {"anthropic-ratelimit-unified-reset": "1"},
        {"anthropic-ratelimit-unified-reset": "9" * 5000},
    ],
)
def test_a_wait_that_is_short_or_nonsense_is_left_to_the_harness(headers):
    assert heard((429, headers)) == []


def test_the_moment_of_a_reset_is_taken_where_no_wait_is_told():
    resets = (datetime.now(UTC) + timedelta(hours=2)).replace(microsecond=0)
    (error,) = heard((429, {"anthropic-ratelimit-unified-reset": str(int(resets.timestamp()))}))
    assert error.resets_at == resets


def test_what_the_server_tells_goes_before_what_the_harness_says():
    said = Usage(input_tokens=0, output_tokens=0, cache_read_tokens=7, cache_write_tokens=None, cost_usd=0.5)
    counted = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=None, cache_write_tokens=None, cost_usd=None)
    both = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=7, cache_write_tokens=None, cost_usd=0.5)
    assert usage_of(said, counted) == both
    assert (usage_of(said, None), usage_of(None, counted), usage_of(None, None)) == (said, counted, None)
