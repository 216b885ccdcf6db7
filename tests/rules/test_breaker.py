"""Adapters that keep failing are left alone."""

from datetime import UTC, datetime, timedelta

import pytest

from keisei.records.report import HarnessError
from keisei.rules.breaker import PATIENCE, is_open, learn

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def failing(times, kind, **more):
    breaker = None
    for _ in range(times):
        breaker = learn(breaker, "a", HarnessError(kind=kind, message="m", **more), NOW)
    return breaker


def test_a_failed_login_stops_the_adapter_until_somebody_resets_it():
    breaker = failing(1, "auth")

    assert breaker.needs_person
    assert is_open(breaker, NOW + timedelta(days=365))


def test_a_rate_limit_closes_when_it_ends():
    breaker = failing(1, "rate_limit", resets_at=NOW + timedelta(hours=1))

    assert is_open(breaker, NOW + timedelta(minutes=59))
    assert not is_open(breaker, NOW + timedelta(hours=1))


@pytest.mark.parametrize("kind", ["overloaded", "network"])
def test_a_server_that_fails_again_and_again_is_left_alone_for_longer_and_longer(kind):
    assert not is_open(failing(PATIENCE - 1, kind), NOW)
    assert failing(PATIENCE + 1, kind).open_until > failing(PATIENCE, kind).open_until > NOW
    assert failing(1000, kind).open_until <= NOW + timedelta(hours=1)


@pytest.mark.parametrize("kind", ["crash", "timeout", "limit", "refused", "invalid"])
def test_what_tells_of_the_task_opens_nothing(kind):
    assert failing(50, kind) is None


def test_a_success_forgets_the_failures():
    breaker = failing(2, "network")

    assert learn(breaker, "a", None, NOW).failures == 0
    assert learn(None, "a", None, NOW) is None
    assert learn(learn(breaker, "a", None, NOW), "a", None, NOW) is None
