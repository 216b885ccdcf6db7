"""Budgets: what an attempt is charged with, and that no order of claims and endings overruns a limit."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from keisei.records.attempt import Usage
from keisei.records.budget import Amount, BudgetPolicy, Grant, Hold
from keisei.records.intent import Budget
from keisei.rules.budget import (
    SOON,
    UNRESOLVED,
    Account,
    Covered,
    Spending,
    cover,
    day_name,
    day_of,
    own_limit,
    reserved_too,
    tally,
    used,
)
from keisei.testing.queue import new_task

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
NOTHING = Amount(usd=0.0, tokens=0)
FREE = tally(None, UNRESOLVED, [])


def attempt(usd=None, tokens=None, *, reserved=NOTHING, **changes):
    """One that has run and ended, unless the changes say otherwise."""
    fields = {"adapter_kind": "codex", "open": False, "begun": True, "used": Amount(usd=usd, tokens=tokens)}
    return Spending(reserved=reserved, **(fields | changes))


def open_attempt(reserved):
    return attempt(reserved=reserved, open=True, begun=False)


def task(usd=None, tokens=None, agent=None):
    budget = None if usd is None and tokens is None else Budget(max_cost_usd=usd, max_tokens=tokens)
    return new_task("t1", NOW, budget=budget, agent=agent)


def account(policy, *tallies, grants=(), now=NOW):
    return Account(policy=policy, tallies=tallies, grants=grants, now=now)


def day(usd=None, tokens=None, **more):
    return BudgetPolicy(day=Amount(usd=usd, tokens=tokens), **more)


def grant(scope, usd=None, tokens=None):
    amount = Amount(usd=usd, tokens=tokens)
    return Grant(grant_id="g", scope=scope, day=None, amount=amount, reason="r", actor="ann", created_at=NOW)


def reserve(usd=None, tokens=None):
    return Covered(reserve=Amount(usd=usd, tokens=tokens))


@pytest.mark.parametrize(
    ("usage", "amount"),
    [
        pytest.param(None, Amount(), id="nothing was said"),
        pytest.param((1, 2, 3, 4, 0.5), Amount(usd=0.5, tokens=10), id="everything"),
        pytest.param((1, 2, None, None, None), Amount(tokens=3), id="no cache, no price"),
        pytest.param((1, None, 3, 4, 0.5), Amount(usd=0.5), id="output is unknown"),
        pytest.param((None, 2, 3, 4, 0.0), Amount(usd=0.0), id="input is unknown"),
        pytest.param((0, 0, None, None, 0.0), NOTHING, id="nothing was used"),
        pytest.param((1, 2, -1, None, -0.5), Amount(), id="less than nothing"),
        pytest.param((2**53, 0, None, None, float("nan")), Amount(), id="more than there is, and no number"),
    ],
)
def test_what_an_attempt_used_is_what_it_says(usage, amount):
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd")

    assert used(None if usage is None else Usage(**dict(zip(names, usage, strict=True)))) == amount


def test_an_open_attempt_is_charged_with_its_reservation():
    one = tally("bob", "codex", [open_attempt(Amount(usd=2.0, tokens=7))])

    assert (one.spent, one.reserved, one.unknown) == (NOTHING, Amount(usd=2.0, tokens=7), NOTHING)
    assert (one.attempts, one.unpriced, one.uncounted) == (1, 0, 0)


def test_an_attempt_that_says_what_it_used_is_charged_with_that():
    one = tally("bob", "codex", [attempt(0.5, 3, reserved=Amount(usd=2.0, tokens=7))] * 2)

    assert (one.spent, one.reserved, one.unknown) == (Amount(usd=1.0, tokens=6), NOTHING, NOTHING)


def test_an_attempt_that_does_not_say_is_charged_with_its_reservation_in_that_unit():
    held = Amount(usd=2.0, tokens=7)
    one = tally("bob", "codex", [attempt(reserved=held), attempt(None, 3, reserved=held)])

    assert (one.spent, one.unknown) == (Amount(usd=0.0, tokens=3), Amount(usd=4.0, tokens=7))
    assert (one.unpriced, one.uncounted) == (2, 1)


def test_attempts_that_are_alike_may_be_added_up_before():
    held = Amount(usd=2.0, tokens=7)
    apart = [attempt(None, 3, reserved=held), attempt(None, 4, reserved=held)]
    together = attempt(None, 7, reserved=Amount(usd=4.0, tokens=14), attempts=2)

    assert tally("bob", "codex", [together]) == tally("bob", "codex", apart)


def test_no_reservation_is_so_large_that_a_day_cannot_be_added_up():
    answer = cover(account(BudgetPolicy()), task(1e308), None, FREE)

    assert answer.reserve.usd == 2**53 - 1


@pytest.mark.parametrize("free", [{"begun": False}, {"adapter_kind": "script"}], ids=["never begun", "a script"])
def test_what_cannot_have_cost_anything_is_free(free):
    one = tally("bob", "codex", [attempt(reserved=Amount(usd=2.0, tokens=7), **free)])

    assert (one.spent, one.reserved, one.unknown) == (NOTHING, NOTHING, NOTHING)
    assert (one.unpriced, one.uncounted) == (0, 0)


@pytest.mark.parametrize(
    ("own", "limit"),
    [
        (None, Amount(usd=2.0, tokens=50)),
        (Budget(max_cost_usd=1.0), Amount(usd=1.0, tokens=50)),
        (Budget(max_tokens=7), Amount(usd=2.0, tokens=7)),
    ],
    ids=["none", "money", "tokens"],
)
def test_a_task_may_spend_what_it_says_and_else_what_the_project_says(own, limit):
    one = new_task("t", NOW, budget=own)

    assert own_limit(one, BudgetPolicy(task=Amount(usd=2.0, tokens=50))) == limit


def test_a_task_without_any_limit_reserves_nothing():
    assert cover(account(BudgetPolicy()), task(), None, FREE) == reserve()


def test_a_task_reserves_its_own_budget_less_what_it_has_cost():
    cost = tally(None, "codex", [attempt(1.0, 10), attempt(reserved=Amount(usd=0.5, tokens=5))])

    assert cover(account(day(10.0)), task(4.0, 100), None, cost) == reserve(2.5, 85)


def test_a_task_that_names_no_budget_has_the_projects_in_each_unit():
    policy = BudgetPolicy(task=Amount(usd=2.0, tokens=50))

    assert cover(account(policy), task(), None, FREE) == reserve(2.0, 50)
    assert cover(account(policy), task(usd=3.0), None, FREE) == reserve(3.0, 50)


def test_a_task_without_a_budget_reserves_all_that_is_left_of_the_tightest_limit():
    policy = day(10.0, agents={"bob": Amount(usd=5.0)}, adapters={"codex": Amount(usd=7.0, tokens=9)})
    spent = tally("bob", "hermes", [attempt(4.0, 1)])

    assert cover(account(policy, spent), task(agent="bob"), "codex", FREE) == reserve(1.0, 9)


def test_an_adapter_that_calls_no_model_needs_no_budget():
    policy = day(0.0, free=frozenset({"shell"}))

    assert cover(account(policy), task(), "shell", FREE) == reserve()
    assert isinstance(cover(account(policy), task(), "codex", FREE), Hold)
    assert isinstance(cover(account(policy), task(usd=1.0), "shell", FREE), Hold)
    assert isinstance(cover(account(policy), task(), None, FREE), Hold)


@pytest.mark.parametrize(
    ("agent", "adapter", "covered"),
    [
        pytest.param("ann", "hermes", True, id="another agent, another adapter"),
        pytest.param("bob", "hermes", False, id="the agent's"),
        pytest.param("ann", "codex", False, id="the adapter's"),
        pytest.param("ann", None, False, id="an adapter that is not known may be any"),
        pytest.param(None, "hermes", True, id="no agent"),
    ],
)
def test_limits_hold_for_those_they_name(agent, adapter, covered):
    policy = BudgetPolicy(agents={"bob": Amount(usd=1.0)}, adapters={"codex": Amount(usd=1.0)})
    spent = tally("bob", "codex", [attempt(1.0, 1)])

    answer = cover(account(policy, spent), task(0.5, agent=agent), adapter, FREE)

    assert isinstance(answer, Covered) == covered


def test_an_attempt_whose_adapter_is_not_chosen_yet_counts_for_every_adapter():
    policy = BudgetPolicy(adapters={"codex": Amount(usd=1.0)})
    begun = tally(None, UNRESOLVED, [open_attempt(Amount(usd=1.0))])

    assert isinstance(cover(account(policy, begun), task(0.5), "codex", FREE), Hold)


def test_a_tenth_and_two_tenths_fit_into_three():
    after = reserved_too(account(day(0.3)), task(0.1), None, Amount(usd=0.1))

    answer = cover(after, task(0.2), None, FREE)

    assert isinstance(answer, Covered)
    assert 0.1 + answer.reserve.usd <= 0.3


def test_a_task_waits_for_what_others_give_back():
    held = tally(None, "codex", [open_attempt(Amount(usd=8.0))])

    answer = cover(account(day(10.0), held), task(5.0), None, FREE)

    assert (answer.scope, answer.until) == ("day", NOW + SOON)
    assert "10 USD" in answer.reason
    assert "5 USD" in answer.reason


def test_a_task_waits_for_the_next_day_where_nothing_could_come_back():
    held = tally(None, "codex", [open_attempt(Amount(usd=2.0)), attempt(6.0, 1)])

    assert cover(account(day(10.0), held), task(5.0), None, FREE).until == MIDNIGHT


def test_a_task_that_a_whole_day_does_not_cover_waits_for_a_person_and_not_for_ever():
    found = cover(account(day(usd=5.0, tokens=100)), task(usd=1.0, tokens=101), None, FREE)

    assert (found.scope, found.until) == ("day", None)
    assert "100 tokens for day does not cover the 101 tokens" in found.reason
    later = cover(account(day(usd=5.0, tokens=100), grants=[grant("day", tokens=1)]), task(tokens=101), None, FREE)
    assert later == reserve(usd=5.0, tokens=101)


def test_of_several_limits_the_one_that_holds_longest_is_named():
    policy = day(10.0, agents={"bob": Amount(tokens=10)})
    spent = tally("bob", "codex", [attempt(1.0, 8), open_attempt(Amount(usd=8.0, tokens=0))])

    answer = cover(account(policy, spent), task(5.0, 5, agent="bob"), None, FREE)

    assert (answer.scope, answer.until) == ("agent:bob", MIDNIGHT)


def test_a_task_that_has_used_up_its_own_budget_waits_for_a_person():
    cost = tally(None, "codex", [attempt(0.1, 1)] * 3)

    answer = cover(account(BudgetPolicy()), task(0.3), None, cost)

    assert (answer.scope, answer.until) == ("task:t1", None)


def test_a_task_of_which_nothing_may_be_spent_waits_for_a_person():
    assert cover(account(BudgetPolicy()), task(0.0), None, FREE).until is None


@pytest.mark.parametrize("scope", ["day", "agent:bob", "adapter:codex"])
def test_a_grant_adds_to_the_limit_it_names(scope):
    one = Amount(usd=1.0, tokens=1)
    policy = BudgetPolicy(day=one, agents={"bob": one}, adapters={"codex": one})
    every = {name: grant(name, 1.0, 1) for name in ("day", "agent:bob", "adapter:codex")}

    covered = cover(account(policy, grants=tuple(every.values())), task(2.0, 2, "bob"), "codex", FREE)
    less = cover(
        account(policy, grants=tuple(grant for name, grant in every.items() if name != scope)),
        task(2.0, 2, "bob"),
        "codex",
        FREE,
    )

    assert covered == reserve(2.0, 2)
    assert less.scope == scope


def test_a_grant_for_a_task_adds_to_its_own_budget():
    cost = tally(None, "codex", [attempt(1.0, 1)])
    more = (grant("task:t1", 2.0), grant("task:t2", 50.0))

    assert cover(account(BudgetPolicy(), grants=more), task(1.0), None, cost) == reserve(2.0)


def test_what_has_no_limit_has_none_after_a_grant():
    assert cover(account(BudgetPolicy(), grants=(grant("day", 2.0),)), task(), None, FREE) == reserve()


def test_a_day_is_a_day_of_utc():
    early = datetime(2026, 3, 2, 1, 0, tzinfo=UTC) + timedelta(microseconds=1)
    elsewhere = early.astimezone(datetime.strptime("-0500", "%z").tzinfo)

    assert day_of(elsewhere) == MIDNIGHT
    assert day_name(elsewhere) == "2026-03-02"


AGENTS, ADAPTERS = (None, "ann", "bob"), ("codex", "hermes")
money = st.integers(1, 50).map(lambda tenths: tenths / 10)
counts = st.integers(1, 50)
amounts = st.builds(Amount, usd=st.none() | money, tokens=st.none() | counts)
policies = st.builds(
    BudgetPolicy,
    task=amounts,
    day=amounts,
    agents=st.dictionaries(st.sampled_from(AGENTS[1:]), amounts),
    adapters=st.dictionaries(st.sampled_from(ADAPTERS), amounts),
)
claims = st.tuples(
    st.just("claim"), st.none() | money, st.none() | counts, st.sampled_from(AGENTS), st.sampled_from((None, *ADAPTERS))
)
endings = st.tuples(st.just("end"), st.integers(0, 20), st.floats(0, 1), st.booleans(), st.sampled_from(ADAPTERS))


@settings(max_examples=300, deadline=None)
@given(policy=policies, steps=st.lists(claims | endings, max_size=40))
def test_no_order_of_claims_and_endings_overruns_a_limit(policy, steps):
    """Whoever keeps to its reservation, or does not say: what is charged never exceeds any limit."""
    attempts = []
    for kind, *step in steps:
        if kind == "claim":
            begin(policy, attempts, step)
        elif attempts:
            finish(attempts, *step)
        for scope, limit, charged in limits(policy, attempts):
            assert limit.usd is None or charged.usd <= limit.usd + 1e-9, scope
            assert limit.tokens is None or charged.tokens <= limit.tokens, scope


def begin(policy, attempts, step):
    usd, tokens, agent, adapter = step
    tallies = [tally(who, where or UNRESOLVED, [one]) for who, where, one in attempts]
    answer = cover(account(policy, *tallies), task(usd, tokens, agent), adapter, FREE)
    if isinstance(answer, Covered):
        assert all(part is None or part > 0 for part in (answer.reserve.usd, answer.reserve.tokens))
        attempts.append((agent, adapter, open_attempt(answer.reserve)))


def finish(attempts, which, share, silent, chosen):
    agent, adapter, one = attempts[which % len(attempts)]
    held = one.reserved
    spent = Amount(
        usd=None if silent else (held.usd or 0.0) * share, tokens=None if silent else int((held.tokens or 0) * share)
    )
    if one.open:
        attempts[which % len(attempts)] = (agent, adapter or chosen, replace(one, open=False, begun=True, used=spent))


def limits(policy, attempts):
    def charged(keep):
        one = tally(None, UNRESOLVED, [attempt for agent, adapter, attempt in attempts if keep(agent, adapter)])
        parts = (one.spent, one.reserved, one.unknown)
        return Amount(usd=sum(part.usd for part in parts), tokens=sum(part.tokens for part in parts))

    yield "day", policy.day, charged(lambda *_: True)
    for name, limit in policy.agents.items():
        yield name, limit, charged(lambda agent, _, name=name: agent == name)
    for name, limit in policy.adapters.items():
        yield name, limit, charged(lambda _, adapter, name=name: adapter in (None, name))
