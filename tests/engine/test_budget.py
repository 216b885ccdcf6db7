"""What may be spent, what is left of it, what is granted: unknown is never nothing, and a grant is made once."""

from itertools import count

import pytest
from msgspec.structs import replace

from keisei.engine.approval import approve, reject
from keisei.engine.budget import Balance, grant, overspent, policy_of, spending
from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.records.answer import ApprovalQuery
from keisei.records.attempt import Usage
from keisei.records.budget import Amount, BudgetPolicy, Grant, Tally
from keisei.records.error import Refused
from keisei.records.id import AttemptId
from keisei.records.intent import Budget
from keisei.records.move import ClaimOrder, EventQuery
from keisei.records.project import ProjectAmount, ProjectBudget
from tests.store.desk import sqlite_desk

ME = "operator:me"
NOTHING = Amount()
MONEY_GONE = "its budget is used up (1.00 of 1.00 US dollars)"
DAY = BudgetPolicy(task=Amount(tokens=40), day=Amount(tokens=100), exhausted="ask")


@pytest.fixture
def desk(tmp_path):
    with sqlite_desk(tmp_path) as made:
        yield made


@pytest.fixture
def office(desk):
    numbers = count(1)
    return Office(desk.store, lambda: None, Defaults(), lambda: f"n{next(numbers)}")


def usage(tokens=None, usd=None):
    return Usage(
        input_tokens=tokens,
        output_tokens=0 if tokens else None,
        cache_read_tokens=None,
        cache_write_tokens=None,
        cost_usd=usd,
    )


def claim(desk, policy=DAY, number=1):
    order = ClaimOrder(
        runner_id=desk.runner(),
        attempt_ids=tuple(AttemptId(desk.name("attempt")) for _ in range(number)),
        budget=policy,
    )
    return desk.store.claim(order)


def end(desk, claimed, used, kind="ollama-generate", adapter="model"):
    """The attempt began, and ended with this usage."""
    attempt = replace(claimed.attempt, bundle_id="b", adapter_id=adapter, adapter_kind=kind, usage=used)
    assert desk.settle(replace(claimed, attempt=attempt), "completed") == "settled"


def balance(desk, scope, policy=DAY) -> Balance:
    return next(each for each in spending(desk.store, policy, desk.store.now()) if each.scope == scope)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_the_limits_of_a_project_are_read_from_its_file():
    file = ProjectBudget(
        task=ProjectAmount(max_cost_usd=1.0),
        day=ProjectAmount(max_cost_usd=10.0, max_tokens=1000),
        agents={"arc": ProjectAmount(max_tokens=5)},
        adapters={"claude": ProjectAmount(max_cost_usd=2.0)},
        when_exhausted="ask",
    )

    assert policy_of(file) == BudgetPolicy(
        task=Amount(usd=1.0),
        day=Amount(usd=10.0, tokens=1000),
        agents={"arc": Amount(tokens=5)},
        adapters={"claude": Amount(usd=2.0)},
        exhausted="ask",
    )
    assert policy_of(None) is None


class Purse:
    """What a task has spent, and was granted."""

    def __init__(self, spent=NOTHING, granted=(), reserved=NOTHING):
        self._spent, self._granted, self._reserved = spent, granted, reserved

    def spent_by(self, task_id):  # noqa: ARG002 - a port
        return Tally(
            agent=None, adapter_id="a", spent=self._spent, reserved=self._reserved, unknown=NOTHING, attempts=1
        )

    def grants(self, day, task_id=None):  # noqa: ARG002 - a port
        return [
            Grant(grant_id="g", scope=f"task:{task_id}", day=None, amount=each, reason="", actor=ME, created_at=None)
            for each in self._granted
        ]


@pytest.mark.parametrize(
    ("budget", "purse", "used", "said"),
    [
        (None, Purse(Amount(tokens=10**9)), usage(tokens=10**9), None),
        (Budget(max_tokens=10), Purse(), usage(tokens=9), None),
        (Budget(max_tokens=10), Purse(), usage(tokens=10), "its budget is used up (10 of 10 tokens)"),
        (Budget(max_tokens=10), Purse(Amount(tokens=6)), usage(tokens=6), "its budget is used up (12 of 10 tokens)"),
        (Budget(max_tokens=10), Purse(Amount(tokens=6), [Amount(tokens=5)]), usage(tokens=6), None),
        (
            Budget(max_cost_usd=1.0),
            Purse(Amount(usd=0.5)),
            usage(usd=0.5),
            "its budget is used up (1.00 of 1.00 US dollars)",
        ),
        (Budget(max_tokens=10), Purse(), None, None),
        (
            Budget(max_tokens=10),
            Purse(Amount(tokens=3), reserved=Amount(tokens=7)),
            None,
            "its budget is used up (10 of 10 tokens, not all of it told)",
        ),
        (Budget(max_tokens=10), Purse(Amount(tokens=3), reserved=Amount(tokens=7)), usage(tokens=2), None),
        (Budget(max_tokens=10), Purse(), usage(usd=5.0), None),
    ],
    ids=[
        *("no limit", "within", "exact", "over all attempts", "granted", "money", "unknown, nothing reserved"),
        *("unknown", "less than reserved", "only the other unit"),
    ],
)
def test_a_task_is_overspent_as_the_claim_would_see_it(desk, budget, purse, used, said):
    claimed = desk.running(budget=budget)
    claimed = replace(claimed, attempt=replace(claimed.attempt, usage=used, bundle_id="b", adapter_kind="codex"))

    assert overspent(purse, claimed, None) == said


def test_what_never_began_and_what_is_a_script_has_not_used_up_anything(desk):
    claimed, purse = desk.running(budget=Budget(max_tokens=10)), Purse(reserved=Amount(tokens=10))
    script = replace(claimed.attempt, bundle_id="b", adapter_kind="script")

    assert overspent(purse, claimed, None) is None
    assert overspent(purse, replace(claimed, attempt=script), None) is None


# --- what is left -----------------------------------------------------------------------------------------------------


def test_a_day_without_work_has_everything_left(desk):
    found = balance(desk, "day")

    assert (found.spent, found.left) == (Amount(usd=0.0, tokens=0), Amount(tokens=100))


def test_open_attempts_are_reserved_and_ended_ones_spent(desk):
    desk.queue(2)
    first, _ = claim(desk, number=2)
    assert balance(desk, "day").left.tokens == 20

    end(desk, first, usage(tokens=15))

    found = balance(desk, "day")
    assert (found.spent.tokens, found.reserved.tokens, found.left.tokens) == (15, 40, 45)
    assert balance(desk, "adapter:model").spent.tokens == 15


def test_unknown_is_unknown_and_charged_never_nothing(desk):
    desk.queue(1)
    (claimed,) = claim(desk)

    end(desk, claimed, None)

    found = balance(desk, "day")
    assert (found.spent.tokens, found.unknown.tokens, found.uncounted, found.left.tokens) == (None, 40, 1, 60)


def test_what_is_unknown_in_one_unit_is_not_told_of_the_other(desk):
    desk.queue(1)
    (claimed,) = claim(desk)

    end(desk, claimed, usage(tokens=15))

    found = balance(desk, "day")
    assert (found.spent, found.unpriced, found.uncounted) == (Amount(usd=None, tokens=15), 1, 0)


def test_a_program_costs_nothing(desk):
    desk.queue(1)
    (claimed,) = claim(desk)

    end(desk, claimed, None, kind="script", adapter="script")

    found = balance(desk, "day")
    assert (found.spent, found.uncounted, found.left.tokens) == (Amount(usd=0.0, tokens=0), 0, 100)


def test_every_limit_is_shown_and_everybody_who_spent_without_one(desk):
    policy = BudgetPolicy(agents={"arc": Amount(tokens=5)}, adapters={"claude": Amount(usd=1.0)})
    desk.queue(1, agent="bee")
    (claimed,) = claim(desk, policy)
    end(desk, claimed, usage(tokens=15))

    scopes = [each.scope for each in spending(desk.store, policy, desk.store.now())]

    assert scopes == ["day", "agent:arc", "agent:bee", "adapter:claude", "adapter:model"]
    assert balance(desk, "agent:bee", policy).left == Amount()


def test_without_limits_what_was_spent_is_shown_all_the_same(desk):
    claimed = desk.running()
    end(desk, claimed, usage(tokens=15))

    rows = spending(desk.store, None, desk.store.now())

    assert [(each.scope, each.spent.tokens, each.left) for each in rows] == [
        ("day", 15, Amount()),
        ("adapter:model", 15, Amount()),
    ]


def test_tomorrow_is_another_day(desk):
    desk.queue(1)
    (claimed,) = claim(desk)
    end(desk, claimed, usage(tokens=30))

    desk.clock.advance(86_400)

    assert balance(desk, "day").left.tokens == 100


# --- grants -----------------------------------------------------------------------------------------------------------


def test_a_grant_is_for_today_and_told(desk):
    grant(desk.store, "day", Amount(tokens=50), reason="a busy day", actor=ME, grant_id="g1")

    assert balance(desk, "day").left.tokens == 150
    (event,) = desk.store.events(EventQuery(event_type="budget_granted"))
    assert (event.detail["scope"], event.detail["tokens"], event.detail["actor"]) == ("day", 50, ME)
    assert ("budget_granted", "day") in desk.ledger()
    desk.clock.advance(86_400)
    assert balance(desk, "day").left.tokens == 100


def test_the_same_grant_twice_is_one(desk):
    for _ in range(2):
        grant(desk.store, "day", Amount(tokens=50), reason="", actor=ME, grant_id="g1")

    assert balance(desk, "day").left.tokens == 150


@pytest.mark.parametrize("amount", [Amount(), Amount(usd=0.0, tokens=0)], ids=["none", "zero"])
def test_nothing_is_no_grant(desk, amount):
    with desk.unchanged(), pytest.raises(Refused, match="nothing is granted"):
        grant(desk.store, "day", amount, reason="", actor=ME, grant_id="g1")


# --- asking -----------------------------------------------------------------------------------------------------------


def asked_for(desk):
    """A task that the day does not cover any more, and its approval."""
    grant(desk.store, "day", Amount(tokens=1), reason="", actor=ME, grant_id="odd")
    desk.queue(3)
    spenders = claim(desk, number=3)
    assert len(spenders) == 2
    (approval,) = desk.store.approvals(ApprovalQuery())
    return approval


def test_a_task_that_is_not_covered_asks_and_goes_on_when_it_is_approved(desk, office):
    approval = asked_for(desk)
    assert (approval.kind, approval.detail["scope"]) == ("budget", "day")
    assert desk.read(approval.task_id).status == "blocked"

    approve(office, approval.approval_id, "worth it", ME, DAY)

    assert [each.amount for each in desk.store.grants(today(desk)) if each.grant_id != "odd"] == [Amount(tokens=40)]
    (claimed,) = claim(desk)
    assert claimed.task.task_id == approval.task_id


def today(desk):
    return desk.store.now().date().isoformat()


def test_a_task_whose_budget_is_rejected_is_cancelled_and_nothing_is_granted(desk):
    approval = asked_for(desk)

    reject(desk.store, approval.approval_id, "too dear", ME)

    assert desk.read(approval.task_id).status == "operator_canceled"
    assert [each.grant_id for each in desk.store.grants(today(desk))] == ["odd"]


def test_what_is_overdrawn_is_made_up_for(desk, office):
    desk.queue(1)
    (claimed,) = claim(desk)
    end(desk, claimed, usage(tokens=130))  # more than it had reserved
    desk.queue(1)
    assert claim(desk) == []
    (approval,) = desk.store.approvals(ApprovalQuery())

    approve(office, approval.approval_id, "", ME, DAY)

    assert len(claim(desk)) == 1


def test_a_task_that_has_used_up_its_own_budget_is_given_it_once_more(desk, office):
    desk.queue(1)
    (claimed,) = claim(desk)
    attempt = replace(claimed.attempt, bundle_id="b", adapter_id="model", adapter_kind="x", usage=usage(tokens=40))
    desk.settle(replace(claimed, attempt=attempt), "retryable_failure")
    desk.clock.advance(3600)
    desk.store.wake_due()
    assert claim(desk) == []
    (approval,) = desk.store.approvals(ApprovalQuery())
    assert approval.detail["scope"] == f"task:{claimed.task.task_id}"

    approve(office, approval.approval_id, "", ME, DAY)

    assert [each.task.task_id for each in claim(desk)] == [claimed.task.task_id]
