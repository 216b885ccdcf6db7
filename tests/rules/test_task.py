"""The state machine: closed, terminal is terminal, tries are counted; the rank is priority, age and ageing in one."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple, get_args

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TERMINAL, TaskRecord, TaskStatus
from keisei.rules import task as rules
from keisei.rules.task import AGEING_S, MOVES

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
STATUSES = get_args(TaskStatus)
MICROSECOND = timedelta(microseconds=1)
MACHINE = {"completed": "ok", "operator_canceled": "canceled", "blocked": "blocked", "retryable_failure": "needs_retry"}
MANY = settings(max_examples=300, deadline=None)

moments = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - see timezones
priorities = st.integers(-1000, 1000)


def outcome(status):
    return TaskOutcome(status=status, machine_status=MACHINE.get(status, "failed"), operator_summary="so it went")


def task(status="pending", *, tried=0, tries=3, due=NOW):
    over = status in TERMINAL
    return TaskRecord(
        task_id="t1",
        task_type="note",
        source="test",
        subject=None,
        description=None,
        priority=0,
        payload={},
        requested_profile_id="p",
        requested_adapter_id=None,
        requested_model=None,
        status=status,
        max_attempts=tries,
        attempt_count=tried,
        available_at=due,
        created_at=NOW,
        updated_at=NOW,
        started_at=NOW if tried else None,
        finished_at=NOW if over else None,
        outcome=outcome(status) if over else None,
        last_error=None,
    )


class Move(NamedTuple):
    """One function of the rules, with the status it leads to."""

    to: TaskStatus
    apply: object


FUNCTIONS = {
    "claim": Move("running", rules.claim),
    "complete": Move("completed", lambda it, now: rules.complete(it, outcome("completed"), now)),
    "retry": Move("retryable_failure", lambda it, now: rules.retry(it, outcome("retryable_failure"), "no", now, now)),
    "fail": Move("permanent_failure", lambda it, now: rules.fail(it, outcome("permanent_failure"), "no", now)),
    "block": Move("blocked", lambda it, now: rules.block(it, outcome("blocked"), "who may?", now)),
    "park": Move("blocked", lambda it, now: rules.park(it, "no budget covers it", now)),
    "postpone": Move("pending", lambda it, now: rules.postpone(it, "wait", now, now)),
    "cancel": Move("operator_canceled", lambda it, now: rules.cancel(it, outcome("operator_canceled"), "stop", now)),
    "free": Move("pending", rules.free),
}
OWN = {
    "claim": {"pending", "retryable_failure"},
    "complete": {"running"},
    "retry": {"running"},
    "fail": {"running", "blocked"},
    "block": {"running"},
    "park": {"pending", "retryable_failure"},
    "postpone": {"running"},
    "cancel": {"pending", "running", "retryable_failure", "blocked"},
    "free": {"retryable_failure", "blocked"},
}
"""The statuses each function is for."""


def allowed(status):
    """What the functions make of a task with this status that is due and has tries left."""
    answers = {}
    for name, move in FUNCTIONS.items():
        try:
            answers[name] = move.apply(task(status, tried=0 if status == "pending" else 1), NOW)
        except IllegalMove:
            continue
    return answers


def test_the_table_knows_every_status_and_no_other():
    assert set(MOVES) == set(STATUSES)
    assert set().union(*MOVES.values()) <= set(STATUSES)


def test_no_status_leads_to_itself():
    assert [status for status in STATUSES if status in MOVES[status]] == []


def test_terminal_is_terminal():
    assert {status for status in STATUSES if not MOVES[status]} == TERMINAL


@pytest.mark.parametrize("status", sorted(TERMINAL))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_moves_a_task_that_is_over(name, status):
    with pytest.raises(IllegalMove, match=rf"t1 is {status}"):
        FUNCTIONS[name].apply(task(status, tried=1), NOW)


@pytest.mark.parametrize("status", STATUSES)
def test_the_functions_make_exactly_the_moves_of_the_table(status):
    assert {after.status for after in allowed(status).values()} == MOVES[status]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("status", STATUSES)
def test_a_function_moves_what_it_is_for_and_raises_for_everything_else(status, name):
    before = task(status, tried=0 if status == "pending" else 1)

    if status in OWN[name]:
        assert FUNCTIONS[name].apply(before, NOW).status == FUNCTIONS[name].to
    else:
        with pytest.raises(IllegalMove):
            FUNCTIONS[name].apply(before, NOW)


@pytest.mark.parametrize("status", sorted(set(STATUSES) - TERMINAL))
def test_every_open_task_can_reach_an_end(status):
    reached, edge = {status}, {status}
    while edge:
        edge = set().union(*(MOVES[place] for place in edge)) - reached
        reached |= edge

    assert reached >= TERMINAL


def test_a_blocked_task_has_an_order_that_frees_it():
    freed = rules.free(task("blocked", tried=3, tries=3), NOW)

    assert rules.ready(freed, NOW) == rules.CLAIMABLE
    assert rules.claim(freed, NOW).status == "running"


@given(status=st.sampled_from(STATUSES), due=moments, now=moments)
def test_ready_says_where_a_task_stands(status, due, now):
    waiting = rules.CLAIMABLE if due <= now else rules.DELAYED
    places = {"pending": waiting, "retryable_failure": waiting, "running": rules.RUNNING, "blocked": rules.PARKED}

    assert rules.ready(task(status, due=due), now) == places.get(status, rules.TERMINAL)


@given(due=moments, late=st.integers(1, 10**12))
def test_a_task_is_never_claimed_before_its_moment(due, late):
    now = due - late * MICROSECOND

    with pytest.raises(IllegalMove, match="cannot be claimed"):
        rules.claim(task(due=due), now)


@given(tries=st.integers(1, 5), more=st.integers(0, 3), status=st.sampled_from(["pending", "retryable_failure"]))
def test_a_task_that_has_used_up_its_tries_is_neither_claimed_nor_retried(tries, more, status):
    spent = task(status, tried=tries + more, tries=tries)

    with pytest.raises(IllegalMove):
        rules.claim(spent, NOW)
    with pytest.raises(IllegalMove, match="used up"):
        rules.retry(replace(spent, status="running"), outcome("retryable_failure"), "no", NOW, NOW)


def test_a_postponed_attempt_does_not_count():
    taken = rules.claim(task(tried=1), NOW)

    back = rules.postpone(taken, "too many requests", NOW + timedelta(hours=1), NOW)

    assert (back.status, back.attempt_count, back.available_at) == ("pending", 1, NOW + timedelta(hours=1))


def test_a_parked_task_was_not_tried_and_is_freed_like_any_that_is_blocked():
    failed = rules.retry(rules.claim(task(), NOW), outcome("retryable_failure"), "it fell over", NOW, NOW)

    parked = rules.park(failed, "no budget covers it", NOW)

    assert (parked.status, parked.attempt_count, parked.last_error) == ("blocked", 1, "no budget covers it")
    assert parked.outcome == failed.outcome
    assert rules.ready(parked, NOW) == rules.PARKED
    assert rules.ready(rules.free(parked, NOW), NOW) == rules.CLAIMABLE


def test_a_retry_keeps_the_error_and_the_outcome_and_waits_for_its_moment():
    at = NOW + timedelta(minutes=5)

    again = rules.retry(rules.claim(task(), NOW), outcome("retryable_failure"), "it fell over", at, NOW)

    assert (again.last_error, again.outcome.status, again.available_at) == ("it fell over", "retryable_failure", at)
    assert rules.ready(again, NOW) == rules.DELAYED
    assert rules.ready(again, at) == rules.CLAIMABLE


def test_freeing_a_task_that_waits_makes_it_due_now():
    waiting = task("retryable_failure", tried=1, due=NOW + timedelta(days=1))

    assert rules.ready(rules.free(waiting, NOW), NOW) == rules.CLAIMABLE


@given(tries=st.integers(1, 5), tried=st.integers(0, 5), more=st.integers(1, 5))
def test_freeing_leaves_at_least_the_tries_that_were_ordered_and_takes_none_away(tries, tried, more):
    freed = rules.free(task("blocked", tried=tried, tries=tries), NOW, more)

    assert freed.max_attempts - freed.attempt_count >= more
    assert freed.max_attempts >= tries


@MANY
@given(steps=st.lists(st.tuples(st.sampled_from(sorted(FUNCTIONS)), st.integers(-60, 600)), max_size=25))
def test_any_row_of_moves_keeps_the_laws(steps):
    """Whatever is tried in whatever order, on a clock that also runs backwards."""
    it, now, path = task(), NOW, []

    for name, seconds in steps:
        now += timedelta(seconds=seconds)
        before = it
        try:
            it = FUNCTIONS[name].apply(before, now)
        except IllegalMove:
            continue
        path.append(it.status)
        assert it.status in MOVES[before.status]
        assert it.attempt_count <= it.max_attempts
        assert it.updated_at >= before.updated_at
        assert it.attempt_count - before.attempt_count == {"claim": 1, "postpone": -1}.get(name, 0)
        assert (it.finished_at is not None) == (it.status in TERMINAL)
        assert it.status not in ("blocked", "retryable_failure") or it.last_error
        assert it.started_at == (before.started_at or (now if name == "claim" else None))
        assert (it.task_id, it.created_at, it.priority) == ("t1", NOW, 0)
    event(f"{len(path)} moves")
    assert not TERMINAL & set(path[:-1])


@MANY
@given(steps=st.lists(st.sampled_from(sorted(FUNCTIONS)), max_size=25))
def test_wherever_a_task_gets_it_is_claimable_leased_over_or_freed_by_an_order(steps):
    it = task()
    for name in steps:
        try:
            it = FUNCTIONS[name].apply(it, NOW)
        except IllegalMove:
            continue

    if it.status in ("pending", "retryable_failure"):
        assert rules.claim(it, max(it.available_at, NOW)).status == "running"
    elif it.status == "running":
        assert rules.block(it, outcome("blocked"), "no tries left", NOW).status == "blocked"
    elif it.status == "blocked":
        assert it.last_error
        assert rules.ready(rules.free(it, NOW), NOW) == rules.CLAIMABLE
    else:
        assert it.status in TERMINAL


def test_a_leased_task_loses_its_lease_with_every_move():
    taken = rules.claim(task(), NOW)

    assert [after.lease for after in allowed("running").values()] == [None] * len(allowed("running"))
    assert taken.lease is None


@MANY
@given(due=moments, later=st.integers(1, 10**15), priority=priorities)
def test_at_one_priority_the_older_goes_first(due, later, priority):
    assume(due + later * MICROSECOND < datetime(2300, 1, 1, tzinfo=UTC))

    assert rules.rank(priority, due) < rules.rank(priority, due + later * MICROSECOND)


@MANY
@given(due=moments, low=priorities, high=priorities)
def test_at_one_age_the_higher_priority_goes_first(due, low, high):
    assume(low < high)

    assert rules.rank(high, due) < rules.rank(low, due)


@MANY
@given(due=moments, priority=st.integers(-1000, 999))
def test_one_step_of_priority_weighs_as_much_as_the_ageing_says_and_not_a_microsecond_more(due, priority):
    lead = timedelta(seconds=AGEING_S)

    assert rules.rank(priority, due - lead) == rules.rank(priority + 1, due)
    assert rules.rank(priority, due - lead - MICROSECOND) < rules.rank(priority + 1, due)
    assert rules.rank(priority, due - lead + MICROSECOND) > rules.rank(priority + 1, due)


def test_nothing_starves_behind_a_stream_of_more_important_tasks():
    old = rules.rank(-1000, NOW)

    assert old < rules.rank(1000, NOW + timedelta(seconds=2000 * AGEING_S) + MICROSECOND)


def test_the_rank_fits_the_integers_of_both_databases():
    ends = (datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))

    assert max(abs(rules.rank(priority, at)) for priority in (-1000, 1000) for at in ends) < 2**63
