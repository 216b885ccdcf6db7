"""Budgets: reserved before an attempt begins, charged when it ends, and never overrun by running side by side."""

# ruff: noqa: PLR2004 - expected values are plain numbers

from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from keisei.records.answer import ApprovalQuery, Decision
from keisei.records.attempt import Usage
from keisei.records.beside import Beside
from keisei.records.budget import Amount, BudgetPolicy, Grant, Tally
from keisei.records.id import AdapterId, AgentId, AttemptId, BundleId, RunnerId, TaskId
from keisei.records.intent import Budget
from keisei.records.move import Claimed, ClaimOrder, EventQuery, NewEntry, NewEvent, PauseOrder
from keisei.rules import task as rules
from keisei.testing.promise.approval import decided
from keisei.testing.promise.book import PARTIES, at_once, promise
from keisei.testing.promise.order import canceling, freeing
from keisei.testing.promise.text import DOUBTFUL, LONG, STORED
from keisei.testing.queue import Desk, refused

TEN = BudgetPolicy(day=Amount(usd=10.0))
NOTHING = Amount(usd=0.0, tokens=0)
TOLD = Beside(
    events=(NewEvent(event_type="budget_granted"),),
    ledger=(NewEntry(kind="budget_granted", actor="ann", subject="day", body={}),),
)


def order(desk: Desk, policy: BudgetPolicy, runner: RunnerId, number: int = 1, **more: Any) -> ClaimOrder:  # noqa: ANN401
    """A claim that keeps to these limits."""
    attempts = tuple(AttemptId(desk.name("attempt")) for _ in range(number))
    return ClaimOrder(runner_id=runner, attempt_ids=attempts, budget=policy, **more)


def claim(desk: Desk, policy: BudgetPolicy, number: int = 1) -> list[Claimed]:
    """Claim as a new runner."""
    return desk.store.claim(order(desk, policy, desk.runner(), number))


def end(desk: Desk, claimed: Claimed, usage: Usage | None, status: str = "completed", **attempt: Any) -> None:  # noqa: ANN401
    """The attempt has run and says what it used."""
    fields = {"bundle_id": BundleId("bundle"), "adapter_id": AdapterId("codex"), "adapter_kind": "codex"} | attempt
    settlement = desk.ending(claimed, status, at=desk.clock.now())  # type: ignore[arg-type] # a status of tasks
    ended = replace(settlement.attempt, usage=usage, **fields)
    assert desk.store.settle(replace(settlement, attempt=ended)) == "settled"


def cost(usd: float | None, tokens: int | None = None) -> Usage:
    """What a harness says."""
    counted = tokens if tokens is None else tokens - 3
    return Usage(
        input_tokens=counted, output_tokens=None if tokens is None else 1, cache_read_tokens=2,
        cache_write_tokens=None, cost_usd=usd,
    )  # fmt: skip


def granted(desk: Desk, scope: str = "day", **changes: Any) -> Grant:  # noqa: ANN401 - fields of Grant
    """More, for today or for a task."""
    fields: dict[str, Any] = {
        "grant_id": desk.name("grant"),
        "day": None if scope.startswith("task:") else f"{desk.clock.now():%Y-%m-%d}",
        "amount": Amount(usd=5.0),
        "reason": "it is worth it",
        "actor": "ann",
        "created_at": desk.clock.now(),
    }
    return Grant(scope=scope, **(fields | changes))


def midnight(desk: Desk) -> datetime:
    """When the next UTC day begins."""
    return desk.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)


def today(desk: Desk) -> list[Tally]:
    """What this day has cost."""
    return desk.store.tallies(midnight(desk) - timedelta(days=1))


def told(desk: Desk, task_id: TaskId) -> int:
    """How often it was said that no budget covers a task."""
    return desk.life(task_id).count("budget_exhausted")


@promise
def what_a_task_may_spend_is_reserved_with_its_attempt(desk: Desk) -> None:
    """The claim is the same as any other, and the tally knows what is spoken for."""
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=4.0, max_tokens=1000), agent=AgentId("bob"), breaker_id="codex")

    (claimed,) = claim(desk, TEN)

    assert desk.read(task_id).lease is not None
    assert (claimed.task.task_id, claimed.task.status, claimed.task.attempt_count) == (task_id, "running", 1)
    assert desk.attempt(claimed.attempt.attempt_id) == claimed.attempt
    assert desk.life(task_id) == ["task_enqueued", "task_claimed"]
    assert today(desk) == [
        Tally(
            agent=AgentId("bob"),
            adapter_id=AdapterId("codex"),
            spent=NOTHING,
            reserved=Amount(usd=4.0, tokens=1000),
            unknown=NOTHING,
            attempts=1,
        )
    ]
    assert desk.store.spent_by(task_id) == today(desk)[0]


@promise
def a_claim_within_a_budget_tells_what_any_claim_tells(desk: Desk) -> None:
    """The same event, the same order, the same fence."""
    first, second = desk.queue()[0], desk.queue(priority=5)[0]
    runner = desk.runner()

    (one,) = desk.claim(runner)
    (another,) = desk.store.claim(order(desk, BudgetPolicy(), runner, 9))

    assert [one.task.task_id, another.task.task_id] == [second, first]
    assert one.attempt.fence == another.attempt.fence == 1
    details = [
        event.detail
        for task_id in (first, second)
        for event in desk.store.events(EventQuery(task_id=task_id, event_type="task_claimed"))
    ]
    assert details == [{"runner_id": runner, "fence": 1, "attempt": 1}] * 2


@promise
def who_may_not_claim_claims_nothing_within_a_budget(desk: Desk) -> None:
    """Unknown, draining or paused runners, adapters that are out, and who asks for nothing."""
    desk.queue(breaker_id="codex")
    runner, draining = desk.runner(), desk.runner()
    desk.store.drain(draining)

    for name in ("nobody", draining, *DOUBTFUL.values(), LONG):
        assert desk.store.claim(order(desk, TEN, RunnerId(name))) == []
    without = (AdapterId("codex"), AdapterId(LONG), *map(AdapterId, DOUBTFUL.values()))
    assert desk.store.claim(order(desk, TEN, runner, without_adapters=without)) == []
    assert desk.store.claim(order(desk, TEN, runner, 0)) == []
    for scope in ("all", runner):
        pause = PauseOrder(scope=scope, paused=True, reason="r", actor="ann")
        desk.store.pause(pause)
        assert desk.store.claim(order(desk, TEN, runner)) == []
        desk.store.pause(replace(pause, paused=False))
    assert len(desk.store.claim(order(desk, TEN, runner, without_adapters=(AdapterId("hermes"),)))) == 1


@promise
def what_an_attempt_used_takes_the_place_of_what_it_reserved(desk: Desk) -> None:
    """The rest is there for others at once."""
    desk.queue(2, budget=Budget(max_cost_usd=6.0))
    (first,) = claim(desk, TEN, 9)
    end(desk, first, cost(1.5, 100))
    desk.clock.advance(60)
    desk.store.wake_due()

    (second,) = claim(desk, TEN)

    tallies = {one.adapter_id: one for one in today(desk)}
    assert tallies[AdapterId("codex")].spent == Amount(usd=1.5, tokens=100)
    assert tallies[AdapterId("codex")].reserved == NOTHING
    assert tallies[AdapterId("unresolved")].reserved == Amount(usd=6.0, tokens=0)
    assert desk.store.spent_by(second.task.task_id).reserved == Amount(usd=6.0, tokens=0)


@promise
def who_does_not_say_what_it_used_is_charged_with_its_reservation(desk: Desk) -> None:
    """Unknown is not nothing, in each unit for itself; and what never began, or is a script, is free."""
    desk.queue(5, budget=Budget(max_cost_usd=1.0, max_tokens=50))
    silent, half, script, never, lost = claim(desk, TEN, 5)
    end(desk, silent, None)
    end(desk, half, cost(None, 7))
    end(desk, script, None, adapter_kind="script", adapter_id=AdapterId("script"))
    end(desk, never, None, "retryable_failure", bundle_id=None, adapter_id=AdapterId("late"))
    end(desk, lost, None, "permanent_failure", exit_status="lost")

    tallies = {one.adapter_id: one for one in today(desk)}

    codex = tallies[AdapterId("codex")]
    assert (codex.spent, codex.reserved) == (Amount(usd=0.0, tokens=7), NOTHING)
    assert codex.unknown == Amount(usd=3.0, tokens=100)
    assert (codex.attempts, codex.unpriced, codex.uncounted) == (3, 3, 2)
    for free in ("script", "late"):
        one = tallies[AdapterId(free)]
        assert (one.spent, one.reserved, one.unknown) == (NOTHING, NOTHING, NOTHING)
        assert (one.attempts, one.unpriced, one.uncounted) == (1, 0, 0)


@promise
def attempts_of_an_earlier_day_are_not_counted(desk: Desk) -> None:
    """A day is a UTC day, by when the attempt began; a task's own cost is of all days."""
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=10.0))
    (claimed,) = claim(desk, TEN)
    desk.clock.advance(24 * 3600)
    end(desk, claimed, cost(9.0, 10), "retryable_failure")

    assert today(desk) == []
    assert desk.store.spent_by(task_id).spent == Amount(usd=9.0, tokens=10)
    (again,) = claim(desk, TEN)
    assert desk.store.spent_by(again.task.task_id).reserved.usd == 1.0


@promise
def a_task_that_is_not_covered_waits_for_what_others_give_back(desk: Desk) -> None:
    """For a minute, then for another; it is said once, and the next task that fits is taken."""
    big, large, small = (desk.queue(budget=Budget(max_cost_usd=usd))[0] for usd in (8.0, 5.0, 2.0))

    taken = claim(desk, TEN, 9)

    assert [one.task.task_id for one in taken] == [big, small]
    held = desk.read(large)
    assert (held.status, held.attempt_count) == ("pending", 0)
    assert held.available_at == desk.clock.now() + timedelta(seconds=60)
    assert held.last_error
    assert "10 USD" in held.last_error
    for _ in range(3):
        desk.clock.advance(60)
        assert desk.store.wake_due() == 1
        assert claim(desk, TEN) == []
    assert told(desk, large) == 1
    end(desk, taken[0], cost(1.0, 10))
    desk.clock.advance(60)
    desk.store.wake_due()
    assert [one.task.task_id for one in claim(desk, TEN)] == [large]


@promise
def a_wait_is_told_anew_after_the_task_was_tried_or_more_was_granted(desk: Desk) -> None:
    """It is another one, although its reason is the same."""
    own = Budget(max_cost_usd=6.0)
    (first,) = desk.queue(budget=own)
    (task_id,) = desk.queue(budget=own)
    (running,) = claim(desk, TEN, 9)
    assert told(desk, task_id) == 1
    assert desk.store.grant(granted(desk, amount=Amount(tokens=5)), Beside())
    assert claim(desk, TEN, 9) == []
    assert told(desk, task_id) == 2
    end(desk, running, cost(0.0, 10))
    desk.clock.advance(60)
    desk.store.wake_due()
    (tried,) = claim(desk, TEN)
    end(desk, tried, cost(0.0, 10), "retryable_failure")
    desk.queue(budget=own, priority=9)

    assert len(claim(desk, TEN, 9)) == 1

    assert told(desk, task_id) == 3
    assert told(desk, first) == 0


@promise
def a_task_that_the_day_does_not_cover_waits_for_the_next(desk: Desk) -> None:
    """Even if everything that is reserved came back it would not fit."""
    (spent,) = desk.queue(budget=Budget(max_cost_usd=9.0))
    end(desk, claim(desk, TEN)[0], cost(9.0, 10))
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=2.0))

    assert claim(desk, TEN) == []

    assert desk.read(spent).status == "completed"
    assert desk.read(task_id).available_at == midnight(desk)
    desk.clock.advance(24 * 3600)
    desk.store.wake_due()
    assert [one.task.task_id for one in claim(desk, TEN)] == [task_id]
    assert told(desk, task_id) == 1


@promise
def a_task_that_names_no_budget_reserves_all_that_is_left(desk: Desk) -> None:
    """Of the tightest limit; so nobody runs beside it who could overrun the same one."""
    policy = BudgetPolicy(day=Amount(usd=10.0), agents={AgentId("bob"): Amount(usd=3.0, tokens=500)})
    desk.queue(agent=AgentId("bob"))
    (second,) = desk.queue(agent=AgentId("bob"))
    (third,) = desk.queue(agent=AgentId("ann"))

    one, another = claim(desk, policy, 9)

    assert desk.store.spent_by(one.task.task_id).reserved == Amount(usd=3.0, tokens=500)
    assert another.task.task_id == third
    assert desk.store.spent_by(third).reserved == Amount(usd=7.0, tokens=0)
    assert desk.read(second).available_at > desk.clock.now()


@promise
def tasks_that_name_no_budget_have_the_projects(desk: Desk) -> None:
    """Over all their attempts; what they name themselves goes before it."""
    policy = BudgetPolicy(task=Amount(usd=2.0, tokens=100))
    (plain,) = desk.queue()
    (own,) = desk.queue(budget=Budget(max_cost_usd=1.0))

    claim(desk, policy, 2)

    assert desk.store.spent_by(plain).reserved == Amount(usd=2.0, tokens=100)
    assert desk.store.spent_by(own).reserved == Amount(usd=1.0, tokens=100)


@promise
def an_adapter_has_a_budget_of_its_own(desk: Desk) -> None:
    """Also of attempts whose adapter is not chosen yet; where nobody knows which it will be, every limit holds."""
    policy = BudgetPolicy(adapters={AdapterId("codex"): Amount(usd=3.0)})
    own = Budget(max_cost_usd=2.0)
    desk.queue(budget=own, requested_adapter_id=AdapterId("codex"), breaker_id="codex")
    held = [*desk.queue(budget=own, breaker_id="codex"), *desk.queue(budget=own)]
    (other,) = desk.queue(budget=own, breaker_id="hermes")

    taken = claim(desk, policy, 9)

    assert taken[1].task.task_id == other
    assert len(taken) == 2
    assert all(desk.read(task_id).available_at > desk.clock.now() for task_id in held)


@promise
def amounts_are_compared_as_people_add_them(desk: Desk) -> None:
    """A tenth and two tenths are three tenths."""
    policy = BudgetPolicy(day=Amount(usd=0.3))
    for usd in (0.1, 0.2):
        desk.queue(budget=Budget(max_cost_usd=usd))

    assert len(claim(desk, policy, 9)) == 2


@promise
def a_task_that_has_used_up_its_own_budget_waits_for_a_person(desk: Desk) -> None:
    """Whatever the project does with the others: it is parked, with an approval, and what is granted frees nothing."""
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=1.0))
    end(desk, claim(desk, TEN)[0], cost(1.0, 5), "retryable_failure")

    assert claim(desk, TEN) == []

    task = desk.read(task_id)
    (approval,) = desk.store.approvals(ApprovalQuery(task_id=task_id))
    assert (task.status, task.attempt_count, task.last_error) == ("blocked", 1, approval.reason)
    assert (approval.kind, approval.key) == ("budget", f"budget:{task_id}")
    assert approval.detail["scope"] == f"task:{task_id}"
    assert approval.detail["spent"] == {"usd": 1.0, "tokens": 5}
    assert told(desk, task_id) == 1
    assert desk.store.grant(granted(desk, f"task:{task_id}"), TOLD)
    assert desk.read(task_id) == task

    freed = Decision(approval=decided(desk, approval), move=freeing(desk, task))
    assert desk.store.decide(freed)
    (again,) = claim(desk, TEN)
    assert desk.store.spent_by(again.task.task_id).reserved.usd == 5.0


@promise
def a_project_may_ask_where_a_budget_is_exhausted(desk: Desk) -> None:
    """Each time the task is parked a person is asked anew, and told."""
    policy = replace(TEN, exhausted="ask")
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=11.0))
    for number in (1, 2):
        assert claim(desk, policy) == []

        task = desk.read(task_id)
        (approval,) = desk.store.approvals(ApprovalQuery(task_id=task_id))
        assert task.status == "blocked"
        assert told(desk, task_id) == number
        assert desk.store.move(freeing(desk, task))
        assert desk.store.approvals(ApprovalQuery(task_id=task_id)) == []
        assert desk.store.approvals(ApprovalQuery(statuses=("resolved",), limit=1))[0].key == approval.key
    assert desk.store.move(canceling(desk, desk.read(task_id)))


@promise
def a_grant_wakes_what_waits_for_a_budget(desk: Desk) -> None:
    """At once, and only that; said twice it is granted once."""
    first, second = (desk.queue(budget=Budget(max_cost_usd=8.0))[0] for _ in range(2))
    (later,) = desk.queue(available_at=desk.clock.now() + timedelta(hours=1))
    claim(desk, TEN, 9)
    grant = granted(desk)
    desk.clock.advance(1)

    assert desk.store.grant(grant, TOLD)

    assert desk.read(second).available_at == desk.clock.now()
    assert desk.store.grants(grant.day) == [grant]
    assert desk.life(None).count("budget_granted") == 1
    with desk.unchanged():
        assert not desk.store.grant(replace(grant, amount=Amount(usd=99.0)), TOLD)
        assert desk.store.grants(grant.day) == [grant]
    assert claim(desk, TEN, 9) == []
    assert told(desk, second) == 2
    assert desk.store.grant(granted(desk, amount=Amount(usd=1.0)), TOLD)
    assert [one.task.task_id for one in claim(desk, TEN, 9)] == [second]
    assert desk.read(first).status == "running"
    assert desk.read(later).status == "pending"


@promise
def a_grant_leaves_alone_what_waits_for_something_else(desk: Desk) -> None:
    """A task that was held once, and waits for its next try now."""
    desk.queue(budget=Budget(max_cost_usd=8.0))
    (task_id,) = desk.queue(budget=Budget(max_cost_usd=8.0))
    claim(desk, TEN, 9)
    desk.clock.advance(60)
    desk.store.wake_due()
    (claimed,) = desk.claim(desk.runner())
    assert claimed.task.task_id == task_id
    tomorrow = desk.clock.now() + timedelta(days=1)
    assert desk.settle(claimed, "retryable_failure", at=tomorrow) == "settled"

    assert desk.store.grant(granted(desk), TOLD)

    assert desk.read(task_id).available_at == tomorrow


@promise
def grants_are_for_a_day_or_for_a_task(desk: Desk) -> None:
    """Each is found where it was made, oldest first."""
    day, agent = granted(desk), granted(desk, "agent:bob", amount=Amount(tokens=5))
    task, other = granted(desk, "task:one"), granted(desk, "task:two")
    tomorrow = granted(desk, day="2030-01-01")
    for one in (day, agent, task, other, tomorrow):
        assert desk.store.grant(one, Beside())

    assert desk.store.grants(day.day) == [day, agent]
    assert desk.store.grants(None, TaskId("one")) == [task]
    assert desk.store.grants(day.day, TaskId("one")) == [day, agent, task]
    assert desk.store.grants(None) == []
    for text in ("nobody", *STORED.values(), *DOUBTFUL.values(), LONG):
        assert desk.store.grants(text, TaskId(text)) == []
        assert desk.store.spent_by(TaskId(text)).attempts == 0


@promise
def of_many_grants_with_one_id_one_holds(desk: Desk) -> None:
    """One event, one ledger row."""
    grant = granted(desk)
    stores = [desk.another() for _ in range(PARTIES)]

    answers = at_once(lambda store: store.grant(grant, TOLD), stores)

    assert sum(answers) == 1
    assert desk.life(None) == ["budget_granted"]


@promise
def what_is_no_amount_is_not_granted(desk: Desk) -> None:
    """Nor is a grant whose id or scope no store can keep; a reason may be any text."""
    for amount in (Amount(usd=-1.0), Amount(usd=float("nan")), Amount(usd=float("inf")), Amount(tokens=2**70)):
        with desk.unchanged(), refused():
            desk.store.grant(granted(desk, amount=amount), TOLD)
    for text in (*DOUBTFUL.values(), LONG):
        for place in ("grant_id", "scope", "day"):
            with desk.unchanged(), refused():
                desk.store.grant(granted(desk, **{place: text}), TOLD)
    for text in (*STORED.values(), *DOUBTFUL.values(), LONG):
        assert desk.store.grant(granted(desk, reason=text, actor=text), Beside())
    assert desk.store.grants(f"{desk.clock.now():%Y-%m-%d}")[0].reason == next(iter(STORED.values()))


@promise
def claims_at_once_never_reserve_more_than_there_is(desk: Desk) -> None:
    """However many runners claim: what they hold together fits every limit."""
    desk.queue(3 * PARTIES, budget=Budget(max_cost_usd=3.0, max_tokens=10))
    policy = BudgetPolicy(day=Amount(usd=10.0, tokens=1000))
    orders = [order(desk, policy, desk.runner(), 3) for _ in range(PARTIES)]
    stores = [desk.another() for _ in orders]

    answers = at_once(lambda store, one: store.claim(one), stores, orders)

    taken = [one.task.task_id for answer in answers for one in answer]
    assert len(taken) == len(set(taken)) == 3
    assert sum(one.reserved.usd or 0.0 for one in today(desk)) == 9.0


@promise
def claims_and_settlements_at_once_keep_to_the_limit(desk: Desk) -> None:
    """Whoever ends while others begin: what was spent and what is held together fit."""
    desk.queue(PARTIES, budget=Budget(max_cost_usd=2.0))
    running = claim(desk, TEN, 5)
    assert len(running) == 5
    endings = [desk.ending(one, "completed") for one in running]
    endings = [
        replace(one, attempt=replace(one.attempt, usage=cost(1.0, 3), bundle_id=BundleId("bundle"))) for one in endings
    ]
    desk.clock.advance(60)
    orders = [order(desk, TEN, desk.runner(), 5) for _ in endings]

    at_once(
        lambda store, say: say(store),
        [desk.another() for _ in range(10)],
        [
            *(lambda store, one=one: store.settle(one) for one in endings),
            *(lambda store, one=one: (store.wake_due(), store.claim(one)) for one in orders),
        ],
    )

    total = sum((one.spent.usd or 0.0) + (one.reserved.usd or 0.0) + (one.unknown.usd or 0.0) for one in today(desk))
    assert total <= 10.0


@promise
def a_claim_passes_over_at_most_a_hundred_tasks(desk: Desk) -> None:
    """So that nobody waits long for it; the next claim goes on behind them."""
    desk.queue(120, budget=Budget(max_cost_usd=11.0))
    (fits,) = desk.queue(budget=Budget(max_cost_usd=1.0))

    assert claim(desk, TEN) == []
    assert [one.task.task_id for one in claim(desk, TEN)] == [fits]


@promise
def a_task_whose_name_is_as_long_as_a_name_may_be_can_be_parked(desk: Desk) -> None:
    """One bad row is in nobody's way."""
    task = desk.task(budget=Budget(max_cost_usd=0.0))
    long = replace(task, task=replace(task.task, task_id=TaskId("é" * 500)))
    desk.store.enqueue([long])
    (fits,) = desk.queue(budget=Budget(max_cost_usd=1.0))

    assert [one.task.task_id for one in claim(desk, TEN, 9)] == [fits]

    assert desk.read(long.task.task_id) == rules.park(
        long.task, desk.read(long.task.task_id).last_error or "", desk.clock.now()
    )
    (approval,) = desk.store.approvals(ApprovalQuery())
    assert desk.store.approval(approval.approval_id) == approval


@promise
def what_an_agent_leaves_in_its_record_is_in_nobodys_way(desk: Desk) -> None:
    """What a day cost is known whatever text its records hold."""
    desk.queue(len(STORED) + len(DOUBTFUL), budget=Budget(max_cost_usd=0.5))
    for claimed, text in zip(claim(desk, TEN, 99), (*STORED.values(), *DOUBTFUL.values()), strict=True):
        end(desk, claimed, cost(0.1, 10), diagnostics={text: text, "usage": {"input_tokens": text}})

    (one,) = today(desk)

    assert one.spent.tokens == 10 * one.attempts
    assert (one.unpriced, one.uncounted) == (0, 0)


@promise
def a_harness_that_says_nonsense_has_said_nothing(desk: Desk) -> None:
    """Less than nothing, more than there is: it is charged with its reservation, and claims go on."""
    desk.queue(4, budget=Budget(max_cost_usd=1.0))
    for claimed, usd in zip(claim(desk, TEN, 4), (-5.0, float("nan"), float("inf"), 1e300), strict=True):
        end(desk, claimed, replace(cost(usd, 10), input_tokens=-9))

    (one,) = today(desk)

    assert one.spent == NOTHING
    assert one.unknown.usd == 4.0
    desk.queue(budget=Budget(max_cost_usd=6.0))
    assert len(claim(desk, TEN)) == 1
