"""Limits through the real runner and a model that counts tokens: they hold side by side, and nobody is forgotten."""

from msgspec.structs import replace

from keisei.engine.approval import approve
from keisei.engine.budget import grant, policy_of, spending
from keisei.engine.office import Office
from keisei.records.answer import ApprovalQuery
from keisei.records.budget import Amount
from keisei.testing.model import Fault, ScriptedModel
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import defaults_of
from tests.wiring.house import House

ME = "operator:me"
DONE = '{"status": "completed", "operator_summary": "did it"}'
COST = 15
"""Tokens of every answer of the scripted model."""
MODEL = """
[adapters.model]
kind = "ollama-generate"
endpoint = "{url}"
model = "scripted"
timeout_ms = 10000
"""


def always(turn):
    return lambda _request: turn


def built(tmp_path, model, limits):
    return House(tmp_path, adapters=MODEL.format(url=model.url) + limits)


def ask_model(house, number=1, **intent):
    data = {"task_type": "answering", "requested_adapter_id": "model", **intent}
    return [house.add(data) for _ in range(number)]


def statuses(house, tasks):
    return sorted(house.task(each).status for each in tasks)


def day(house):
    policy = policy_of(house.home.file.budget)
    return spending(house.store, policy, house.store.now())[0]


def test_tasks_side_by_side_never_overrun_the_day(tmp_path):
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, "[budget.task]\nmax-tokens = 15\n[budget.day]\nmax-tokens = 40\n")
        tasks = ask_model(house, 6)

        house.run(jobs=4)

        assert len(model.requests) == 2
        assert statuses(house, tasks) == ["completed"] * 2 + ["pending"] * 4
        assert (day(house).spent.tokens, day(house).left.tokens) == (2 * COST, 10)
        assert house.store.approvals(ApprovalQuery()) == []
        house.close()


def test_a_task_without_a_limit_of_its_own_has_the_day_for_itself(tmp_path):
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, "[budget.day]\nmax-tokens = 40\n")
        tasks = ask_model(house, 3)

        house.run(jobs=3)

        assert len(model.requests) == 1
        assert statuses(house, tasks) == ["completed", "pending", "pending"]
        house.close()


def test_a_grant_wakes_what_waits(tmp_path):
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, "[budget.task]\nmax-tokens = 15\n[budget.day]\nmax-tokens = 15\n")
        tasks = ask_model(house, 3)
        house.run()
        assert statuses(house, tasks) == ["completed", "pending", "pending"]

        grant(house.store, "day", Amount(tokens=COST), reason="one more", actor=ME, grant_id=new_id())
        house.run()

        assert statuses(house, tasks) == ["completed", "completed", "pending"]
        house.close()


def test_a_project_that_wants_to_be_asked_is_asked(tmp_path):
    limits = '[budget]\nwhen-exhausted = "ask"\n[budget.task]\nmax-tokens = 15\n[budget.day]\nmax-tokens = 15\n'
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, limits)
        tasks = ask_model(house, 2)
        house.run()
        assert statuses(house, tasks) == ["blocked", "completed"]
        (approval,) = house.store.approvals(ApprovalQuery())
        assert (approval.kind, house.task(approval.task_id).status) == ("budget", "blocked")
        assert house.store.outbox_item(f"approval:{approval.approval_id}/console") is not None

        approved(house, approval, "worth it")
        house.run()

        assert statuses(house, tasks) == ["completed", "completed"]
        house.close()


def approved(house, approval, reason):
    office = Office(house.store, house.shop.registry, defaults_of(house.home), new_id)
    approve(office, approval.approval_id, reason, ME, policy_of(house.home.file.budget))


def test_a_task_that_overdrew_its_own_budget_goes_on_once_that_is_approved(tmp_path):
    turns = iter(["no answer", DONE])
    with ScriptedModel(lambda _request: next(turns)) as model:
        house = built(tmp_path, model, "[budget.task]\nmax-tokens = 4\n")
        (task,) = ask_model(house, max_attempts=3)
        house.run()
        (approval,) = house.store.approvals(ApprovalQuery())
        assert (approval.kind, house.task(task).status) == ("budget", "blocked")

        approved(house, approval, "go on")
        house.run()

        assert (len(model.requests), house.task(task).status) == (2, "completed")
        house.close()


def test_what_even_a_whole_day_does_not_cover_is_asked_about_with_a_deadline_and_a_message(tmp_path):
    limits = "[budget.task]\nmax-tokens = 30\n[budget.day]\nmax-tokens = 20\n"
    limits += '[approvals]\nnotify = ["console", "ops"]\n[channels.ops]\nkind = "console"\n'
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, limits)
        (task,) = ask_model(house)
        house.run()
        (approval,) = [each for each in house.store.approvals(ApprovalQuery()) if each.kind == "budget"]
        assert (house.task(task).status, approval.deadline > approval.created_at) == ("blocked", True)
        assert all(house.store.outbox_item(f"approval:{approval.approval_id}/{each}") for each in ("console", "ops"))
        assert house.events(task).count("approval_asked") == 1

        approved(house, approval, "today")
        house.run()

        assert house.task(task).status == "completed"
        house.close()


def test_what_a_harness_does_not_say_is_unknown_and_charged(tmp_path):
    with ScriptedModel(always(Fault(400, "no"))) as model:
        house = built(tmp_path, model, "[budget.task]\nmax-tokens = 15\n[budget.day]\nmax-tokens = 40\n")
        ask_model(house, max_attempts=1)

        house.run()

        found = day(house)
        assert (found.spent.tokens, found.unknown.tokens, found.uncounted, found.left.tokens) == (None, 15, 1, 25)
        house.close()


def test_a_task_that_has_spent_its_own_budget_is_not_tried_again(tmp_path):
    again = '{"status": "retryable_failure", "operator_summary": "not yet"}'
    with ScriptedModel(always(again)) as model:
        house = built(tmp_path, model, "")
        (task,) = ask_model(house, budget={"max_tokens": 2 * COST}, max_attempts=9)

        house.run()

        assert len(model.requests) == 2
        found = house.task(task)
        assert (found.status, found.attempt_count) == ("blocked", 2)
        (approval,) = house.store.approvals(ApprovalQuery())
        assert (approval.kind, approval.key) == ("budget", f"budget:{task}")
        assert approval.reason.startswith("its budget is used up (30 of 30 tokens)")
        house.close()


def test_one_agents_limit_holds_up_nobody_else(tmp_path):
    with ScriptedModel(always(DONE)) as model:
        house = built(tmp_path, model, "[budget.adapters.model]\nmax-tokens = 1\n")
        dear = ask_model(house, 2)
        cheap = house.script(f"echo '{DONE}'", requested_adapter_id="script")
        house.run()
        ask_model(house)

        house.run()

        assert len(model.requests) == 1
        assert statuses(house, dear) == ["completed", "pending"]
        assert house.task(cheap).status == "completed"
        assert day(house).spent == replace(Amount(), tokens=COST)
        house.close()


def test_an_attempt_is_told_what_is_left_for_it(tmp_path):
    with ScriptedModel(always('{"status": "retryable_failure"}')) as model:
        house = built(tmp_path, model, "[budget.task]\nmax-tokens = 100\n")
        (task,) = ask_model(house, max_attempts=2)

        house.run()

        told = [house.evidence(each, "prompt.md").decode() for each in house.attempts(task)]
        assert ["- tokens: at most 100," in told[0], f"- tokens: at most {100 - COST}," in told[1]] == [True, True]
        house.close()
