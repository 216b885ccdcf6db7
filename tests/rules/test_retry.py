"""What comes after an attempt that did not complete."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.report import HarnessError
from keisei.records.task import TaskRecord
from keisei.rules.retry import LONGEST, MOST_POSTPONED, Backoff, Failed, next_step, pause

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BACKOFF = Backoff(first_s=10, cap_s=100)


def task(tried=1, tries=3):
    return TaskRecord(
        task_id="t",
        task_type="script",
        source="s",
        subject=None,
        description=None,
        priority=5,
        payload={},
        requested_profile_id="p",
        requested_adapter_id=None,
        requested_model=None,
        status="running",
        max_attempts=tries,
        attempt_count=tried,
        available_at=NOW,
        created_at=NOW,
        updated_at=NOW,
        started_at=NOW,
        finished_at=None,
        outcome=None,
        last_error=None,
    )


def step(failed, *, tried=1, tries=3, policy="ask-via-return", jitter=0.5):
    return next_step(task(tried, tries), failed, policy=policy, backoff=BACKOFF, jitter=jitter, now=NOW)


def harness(kind, **more):
    return Failed(status="retryable_failure", error=HarnessError(kind=kind, message="m", **more))


@pytest.mark.parametrize("kind", ["overloaded", "network", "timeout", "crash", "limit", "invalid"])
def test_an_error_that_may_pass_is_tried_again_after_a_wait(kind):
    found = step(harness(kind))

    assert found.verb == "retry"
    assert found.at == NOW + timedelta(seconds=10)


@pytest.mark.parametrize("kind", ["rate_limit", "auth"])
def test_an_error_of_the_account_uses_up_no_attempt(kind):
    assert step(harness(kind), tried=3).verb == "postpone"


def test_a_rate_limit_waits_until_it_ends():
    assert step(harness("rate_limit", resets_at=NOW + timedelta(hours=5))).at == NOW + timedelta(hours=5)
    assert step(harness("rate_limit", retry_after_s=90)).at == NOW + timedelta(seconds=90)


@pytest.mark.parametrize("seconds", [99_999_999_999.0, float("inf")])
def test_nobody_is_believed_to_need_more_than_a_week(seconds):
    assert step(harness("rate_limit", retry_after_s=seconds)).at == NOW + LONGEST


@pytest.mark.parametrize("seconds", [-5.0, float("nan")])
def test_a_wait_that_makes_no_sense_is_no_hint(seconds):
    found = step(harness("rate_limit", retry_after_s=seconds))

    assert found.at > NOW + timedelta(seconds=1)


def test_a_limit_that_never_ends_comes_to_a_person():
    found = step(
        Failed(
            status="retryable_failure",
            error=HarnessError(kind="rate_limit", message="m"),
            postponed=MOST_POSTPONED,
        )
    )

    assert found.verb == "block"


def test_a_request_that_would_be_refused_again_comes_to_a_person():
    assert step(harness("refused")).verb == "block"


def test_used_up_attempts_come_to_a_person_and_say_so():
    found = step(harness("crash"), tried=3)

    assert found.verb == "block"
    assert found.why == "attempts used up (3 of 3)"


def test_a_role_that_fails_fast_gives_up_instead():
    assert step(harness("crash"), tried=3, policy="fail-fast").verb == "fail"
    assert step(Failed(status="retryable_failure", violated=True), policy="fail-fast").verb == "fail"
    assert step(Failed(status="retryable_failure", violated=True)).verb == "retry"


def test_what_the_answer_says_is_taken_where_it_is_no_success():
    assert step(Failed(status="permanent_failure")).verb == "fail"
    assert step(Failed(status="blocked")).verb == "block"
    assert step(Failed(status="blocked", retry_after_s=300)).verb == "postpone"


def test_a_wait_the_answer_asks_for_is_kept():
    assert step(Failed(status="retryable_failure", retry_after_s=300)).at == NOW + timedelta(seconds=300)


@given(
    status=st.sampled_from(["retryable_failure", "permanent_failure", "blocked"]),
    kind=st.sampled_from(
        [None, "rate_limit", "auth", "overloaded", "network", "timeout", "crash", "limit", "refused", "invalid"]
    ),
    tried=st.integers(1, 6),
    postponed=st.integers(0, 200),
    wait=st.none() | st.floats(allow_nan=True),
    policy=st.sampled_from(["ask-via-return", "orchestrator-notify", "fail-fast"]),
    jitter=st.floats(0, 1),
)
def test_there_is_always_a_step_and_it_is_always_possible(*, status, kind, tried, postponed, wait, policy, jitter):
    error = None if kind is None else HarnessError(kind=kind, message="m", retry_after_s=wait)
    failed = Failed(status=status, error=error, retry_after_s=wait, postponed=postponed)

    found = step(failed, tried=tried, policy=policy, jitter=jitter)

    assert found.verb != "retry" or tried < 3
    assert (found.at is not None) == (found.verb in ("retry", "postpone"))
    assert found.at is None or NOW <= found.at <= NOW + LONGEST


@given(tried=st.integers(0, 10_000), jitter=st.floats(0, 1))
def test_waits_grow_and_end_at_the_cap(tried, jitter):
    assert pause(BACKOFF, tried, jitter) <= timedelta(seconds=120)
    assert pause(BACKOFF, tried, jitter) <= pause(BACKOFF, tried + 1, jitter)
