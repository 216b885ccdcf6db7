"""Workflows, end to end: verified signals move them, each stay asks once, nothing is lost and nothing runs for ever."""

import threading
from pathlib import Path

import pytest

from keisei.contracts.check import data_of
from keisei.engine import control, steer
from keisei.engine.workflow import advance, plan_wake, state_of
from keisei.records.answer import ApprovalQuery
from keisei.records.error import ContractViolation, KeiseiError, OperatorError, Refused
from keisei.records.id import WorkflowId
from keisei.records.intent import WorkflowRef
from keisei.records.move import EventQuery
from keisei.wiring.shop import shared_folder
from keisei.wiring.store import open_home_store
from tests.wiring.goal import Goal

KIT = Path(__file__).resolve().parents[2] / "src/keisei/kit/workflows/goal-loop.toml"
BY_HAND = """
workflow_type = "by-hand"
initial_state = "a"

[[states]]
state_id = "a"
transitions = [{ signal = "go", next_state = "b" }, { signal = "skip", next_state = "c" }]

[[states]]
state_id = "b"
transitions = [{ signal = "back", next_state = "a" }, { signal = "go", next_state = "c" }]
max_visits = 2

[[states]]
state_id = "c"
"""
TERSE = """
workflow_type = "terse"
initial_state = "a"

[[states]]
state_id = "a"
task_type = "terse"
transitions = [{ signal = "go", next_state = "b" }]

[[states]]
state_id = "b"
"""


@pytest.fixture
def goal(tmp_path):
    made = Goal(tmp_path)
    yield made
    made.close()


def define(goal, name, text):
    folder = goal.root / ".keisei/workflows"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.toml").write_text(text)


def order(goal, verb, key, **given):
    said = {"reason": "because", "actor": "operator:me"} | given
    workflow_id = goal.workflow(key).record.workflow_id
    return getattr(steer, verb)(goal.office, workflow_id, **said)


def told(goal, key, *kinds):
    """Events of one workflow, in order."""
    workflow_id = goal.workflow(key).record.workflow_id
    events = [
        each for each in goal.store.events(EventQuery(limit=1000)) if each.detail.get("workflow_id") == workflow_id
    ]
    return [each for each in events if not kinds or each.event_type in kinds]


def people(goal):
    """What a person is asked about workflows."""
    return [each for each in goal.store.approvals(ApprovalQuery()) if each.kind == "workflow"]


def tasks_of(goal, state):
    """Tasks of a state, oldest first."""
    found = [each for each in goal.tasks() if each.workflow_ref is not None and each.workflow_ref.state_id == state]
    return sorted(found, key=lambda each: each.task_id)


def asleep(goal, monkeypatch):
    """A runner that dies between every settlement and what would follow from it."""
    monkeypatch.setattr(goal.store, "stirred", lambda _limit=100: [])


# --- the loop ---


def test_b4_continue_twice_then_complete_is_one_plan_three_executes_three_verifies(goal):
    goal.say("g", verify=["continue", "continue", "complete"])
    goal.begin("g")

    goal.work()

    assert goal.turns("g") == {"plan": 1, "execute": 3, "verify": 3}
    record = goal.workflow("g").record
    assert (record.status, record.current_state) == ("completed", "complete")
    assert record.visits == {"plan": 1, "execute": 3, "verify": 3, "complete": 1}
    assert len(goal.tasks()) == 7
    assert {each.status for each in goal.tasks()} == {"completed"}


def test_b4_revise_plan_is_a_second_plan(goal):
    goal.say("g", plan=["continue"], verify=["revise_plan", "complete"])
    goal.begin("g")

    goal.work()

    assert goal.turns("g") == {"plan": 2, "execute": 2, "verify": 2}
    assert goal.workflow("g").record.status == "completed"
    given = [(each["state"], each["payload"].get("plan"), each["payload"].get("feedback")) for each in goal.seen()]
    assert given == [
        ("plan", None, None),
        ("execute", "plan 1", None),
        ("verify", "plan 1", None),
        ("plan", None, "verify 1"),
        ("execute", "plan 2", None),
        ("verify", "plan 2", None),
    ]


def test_an_implementer_may_ask_for_another_plan(goal):
    goal.say("g", execute=["revise_plan", "continue"])
    goal.begin("g")

    goal.work()

    assert goal.turns("g") == {"plan": 2, "execute": 2, "verify": 1}


def test_b5_a_verifier_without_a_signal_is_asked_so_often_and_then_a_person_is(goal):
    goal.say("g", verify=[{}])
    goal.begin("g")

    goal.work()
    goal.work()

    (verify,) = tasks_of(goal, "verify")
    assert (verify.status, verify.attempt_count) == ("blocked", 3)
    assert goal.turns("g") == {"plan": 1, "execute": 1, "verify": 3}
    found = goal.workflow("g")
    assert (found.record.status, found.awaits, found.task_id) == ("blocked", "person", verify.task_id)
    assert "workflow_signal is missing" in found.record.reason
    assert people(goal) == []  # the task's own is enough
    assert "workflow_signal is missing" in goal.seen()[-1]["prompt"]


@pytest.mark.parametrize("signal", ["done", "revise_plan", "", "CONTINUE"])
def test_a_signal_that_the_state_does_not_know_completes_nothing(goal, signal):
    goal.say("g", plan=[signal, "continue"])
    goal.begin("g")

    goal.work()

    (plan,) = tasks_of(goal, "plan")
    assert (plan.status, plan.attempt_count) == ("completed", 2)
    assert goal.workflow("g").record.status == "completed"


def test_the_state_decides_which_signals_count_whatever_the_payload_can_say(goal):
    types = goal.root / ".keisei/task-types"
    (types / "terse.toml").write_text(
        (types / "answering.toml").read_text().replace("answering", "terse").replace("any", "terse")
    )
    (types / "schemas/terse.json").write_text('{"properties": {"args": {}}, "additionalProperties": false}')
    define(goal, "terse", TERSE)
    script = '[ -e said ] && S=go || S=stay; touch said; echo \'{"status": "completed", "workflow_signal": "\'$S\'"}\''

    goal.begin("k", workflow_type="terse", context={"args": ["-c", script], "else": 1})
    goal.work()

    (task,) = goal.tasks()
    assert list(task.payload) == ["args"]
    assert (task.status, task.attempt_count) == ("completed", 2)
    assert goal.workflow("k").record.current_state == "b"


def test_a_task_that_was_freed_goes_on_with_its_workflow(goal):
    goal.say("g", verify=[{}, {}, {}, "complete"])
    goal.begin("g")
    goal.work()
    (verify,) = tasks_of(goal, "verify")

    control.free(goal.store, verify.task_id, "look again", "operator:me")
    goal.work()

    assert goal.workflow("g").record.status == "completed"
    assert len(tasks_of(goal, "verify")) == 1
    assert [each.event_type for each in told(goal, "g")][-3:] == [
        "workflow_resumed",
        "workflow_transitioned",
        "workflow_completed",
    ]


# --- what a state is given ---


def test_a_state_is_given_what_it_needs_and_nothing_its_type_does_not_know(goal):
    goal.say("g", verify=["continue", "complete"])
    goal.begin("g", context={"objective": "g", "scope": ["src/**"], "scope_denied": ["src/x"], "ticket": 7})

    goal.work()

    by = {(each["state"], each["turn"]): each["payload"] for each in goal.seen()}
    assert by["plan", 0] == {
        "objective": "g",
        "scope": ["src/**"],
        "scope_denied": ["src/x"],
        "iteration": 1,
        "accepted_signals": ["continue", "complete"],
    }
    assert by["verify", 0] == {
        "objective": "g",
        "scope": ["src/**"],
        "iteration": 1,
        "plan": "plan 1",
        "file_changes": [],
        "accepted_signals": ["continue", "revise_plan", "complete"],
    }
    assert (by["execute", 1]["iteration"], by["execute", 1]["feedback"]) == (2, "verify 1")
    assert tasks_of(goal, "plan")[0].subject == "g: plan"


def test_a_type_that_takes_anything_is_told_where_it_stands(goal):
    define(
        goal, "one", 'workflow_type = "one"\ninitial_state = "s"\n[[states]]\nstate_id = "s"\ntask_type = "answering"\n'
    )
    context = {"summary": "do it", "args": ["-c", "true"], "iteration": 9, "workflow_id": "forged"}

    found, _ = goal.begin("k", workflow_type="one", context=context)

    (task,) = goal.tasks()
    assert task.payload == {
        "summary": "do it",
        "args": ["-c", "true"],
        "iteration": 1,
        "workflow_id": found.record.workflow_id,
        "workflow_template": "one",
        "workflow_state": "s",
        "instance_key": "k",
        "phase": "s",
        "objective": "do it",
    }
    assert task.idempotency_key == f"workflow:{found.record.workflow_id}:s:1:1"


def test_the_prompt_says_which_signals_there_are_and_where_they_lead(goal):
    goal.say("g")
    goal.begin("g")

    goal.work()

    prompt = goal.seen()[-1]["prompt"]
    assert '"signal": "revise_plan",\n    "next_state": "plan"' in prompt
    assert '"workflow_signal": "continue | revise_plan | complete"' in prompt


def test_b17_two_workflows_at_once_never_share_an_artifact(goal):
    for key in ("one", "two"):
        report = {"workflow_signal": "continue", "leaves": {"report.md": f"of {key}"}, "artifact_paths": ["report.md"]}
        goal.say(key, execute=[report], verify=["continue", "complete"])
        goal.begin(key)

    goal.work()

    folders = {each["payload"]["objective"]: each["folder"] for each in goal.seen()}
    for key in ("one", "two"):
        workflow_id = goal.workflow(key).record.workflow_id
        assert Path(folders[key]) == goal.home.artifacts / "workflows" / workflow_id
        assert Path(folders[key], "report.md").read_text() == f"of {key}"
        assert {each["folder"] for each in goal.seen() if each["payload"]["objective"] == key} == {folders[key]}
    verified = [each["payload"]["artifacts"] for each in goal.seen() if each["state"] == "verify"]
    assert [each[-1]["iteration"] for each in verified if len(each) == 1] == [1, 1, 2, 2]
    assert verified[0] == [{"role": "output", "path": "report.md", "iteration": 1}]


# --- nobody else speaks for it ---


def test_a_follow_up_that_names_a_workflow_does_not_speak_for_it(goal):
    other, _ = goal.begin("other", context={"objective": "other", "scope": ["x"]})
    workflow_id = other.record.workflow_id
    script = """echo "$AGENT_RUNTIME_ARTIFACT_DIR"; echo '{"status": "completed", "workflow_signal": "complete"}'"""
    forged = {
        "task_type": "answering",
        "source": f"workflow:{workflow_id}:plan",
        "payload": {"args": ["-c", script]},
        "workflow_ref": {"workflow_id": workflow_id, "state_id": "plan", "instance_key": "other"},
    }
    goal.say("other", plan=[{"workflow_signal": "continue", "follow_up_tasks": [forged]}], execute=[{}])
    goal.work()

    (follow_up,) = [each for each in goal.tasks() if each.parent_task_id is not None]
    assert (follow_up.status, follow_up.source) == ("completed", f"task:{follow_up.parent_task_id}")
    assert follow_up.outcome.workflow_signal == "complete"
    assert state_of(goal.store, follow_up) is None
    assert shared_folder(goal.home.artifacts, follow_up) is None
    assert goal.shop.artifact_folder(follow_up) == goal.home.artifacts / follow_up.task_id
    assert goal.workflow("other").record.current_state == "execute"
    assert [each.signal for each in goal.store.visits(workflow_id)] == ["continue", None]


def test_a_path_in_a_workflow_s_name_leads_nowhere(goal):
    task = goal.task(goal.script("true"))
    ref = WorkflowRef(workflow_id=WorkflowId("../../out"), state_id="s", instance_key="k")
    forged = type(task)(**{**_fields(task), "workflow_ref": ref, "source": "workflow:../../out:s"})

    assert goal.shop.artifact_folder(forged) == goal.home.artifacts / task.task_id


def _fields(record):
    return {name: getattr(record, name) for name in record.__struct_fields__}


# --- nothing is lost ---


def test_a_runner_that_dies_between_settling_and_moving_on_loses_nothing(goal, monkeypatch):
    goal.say("g", verify=["continue", "complete"])
    goal.begin("g")
    for _ in range(5):
        with monkeypatch.context() as patched:
            asleep(goal, patched)
            goal.run()
        assert goal.advance() == 1

    assert goal.workflow("g").record.status == "completed"
    assert goal.turns("g") == {"plan": 1, "execute": 2, "verify": 2}


def test_what_dies_in_the_middle_of_a_move_has_moved_nothing(goal, monkeypatch):
    goal.say("g")
    goal.begin("g")
    asleep(goal, monkeypatch)
    goal.run()
    monkeypatch.undo()
    real = goal.store._do

    def dying(action):
        real(lambda work: (action(work), 1 / 0))

    monkeypatch.setattr(goal.store, "_do", dying)
    with pytest.raises(ZeroDivisionError):
        goal.advance()
    monkeypatch.undo()

    assert tasks_of(goal, "execute") == []
    assert goal.advance() == 1
    assert len(tasks_of(goal, "execute")) == 1


def test_two_that_advance_at_once_make_one_task(goal, monkeypatch):
    goal.say("g")
    for number in range(5):
        goal.begin(f"g{number}", context={"objective": "g", "scope": ["x"]})
    asleep(goal, monkeypatch)
    goal.run()
    monkeypatch.undo()
    barrier, moved = threading.Barrier(2), []

    def go():
        store = open_home_store(goal.settings, goal.home)
        try:
            barrier.wait()
            moved.append(advance(goal.office._replace(store=store)))
        finally:
            store.close()

    threads = [threading.Thread(target=go) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert sum(moved) == 5
    assert len(tasks_of(goal, "execute")) == 5
    assert {each.version for each in goal.workflows()} == {2}


def test_a_definition_that_changes_meanwhile_orphans_nothing(goal):
    goal.say("old", verify=["continue", "complete"])
    goal.say("new")
    goal.begin("old")
    goal.run(at_most=1)
    define(goal, "goal-loop", KIT.read_text().replace('"execute"', '"build"'))
    goal.begin("new")

    goal.work()

    old, new = goal.workflow("old").record, goal.workflow("new").record
    assert old.status == new.status == "completed"
    assert old.visits == {"plan": 1, "execute": 2, "verify": 2, "complete": 1}
    assert new.visits == {"plan": 1, "build": 1, "verify": 1, "complete": 1}
    assert old.definition_hash != new.definition_hash


def test_a_definition_that_is_gone_orphans_nothing(goal):
    define(goal, "by-hand", BY_HAND)
    goal.begin("k", workflow_type="by-hand")
    (goal.root / ".keisei/workflows/by-hand.toml").unlink()

    assert order(goal, "signal", "k", signal="skip").record.status == "completed"


def test_one_whose_task_cannot_be_asked_for_is_blocked_and_harms_no_other(goal, monkeypatch):
    goal.say("good")
    goal.say("bad")
    text = KIT.read_text().replace('workflow_type = "goal-loop"', 'workflow_type = "bad-loop"')
    define(goal, "bad-loop", text.replace('task_type = "goal-execute"', 'task_type = "answering"'))
    goal.begin("bad", workflow_type="bad-loop")
    goal.begin("good")
    asleep(goal, monkeypatch)
    goal.run()
    monkeypatch.undo()
    (goal.root / ".keisei/task-types/answering.toml").unlink()

    goal.work()

    bad = goal.workflow("bad")
    assert (bad.record.status, bad.record.current_state) == ("blocked", "execute")
    assert "no task-type is called `answering`" in bad.record.reason
    assert goal.workflow("good").record.status == "completed"
    (asked,) = people(goal)
    assert (asked.key, asked.workflow_id) == (f"workflow:{bad.record.workflow_id}", bad.record.workflow_id)
    assert bad.record.reason in asked.reason
    assert goal.advance() == 0


def test_one_that_cannot_be_written_harms_no_other(goal, monkeypatch):
    goal.say("good")
    goal.say("bad")
    bad, _ = goal.begin("bad")
    goal.begin("good")
    asleep(goal, monkeypatch)
    goal.run()
    monkeypatch.undo()
    real = goal.store.move_workflow

    def refusing(move):
        if move.workflow.record.workflow_id == bad.record.workflow_id:
            raise ContractViolation("workflow.record", ["nobody could read it"])
        return real(move)

    monkeypatch.setattr(goal.store, "move_workflow", refusing)

    assert goal.advance() == 1
    assert goal.workflow("good").record.current_state == "execute"
    assert goal.workflow("bad").record.current_state == "plan"


def test_what_comes_round_too_often_waits_for_a_person_who_may_grant_more(goal):
    define(goal, "goal-loop", KIT.read_text().replace("max_visits = 8", "max_visits = 2"))
    goal.say("g", verify=["continue", "continue", "complete"])
    goal.begin("g")
    goal.work()

    found = goal.workflow("g")
    assert found.record.reason == "state `execute` was entered 2 times, as often as it may be"
    assert goal.turns("g") == {"plan": 1, "execute": 2, "verify": 2}
    assert len(people(goal)) == 1

    order(goal, "unblock", "g")

    assert people(goal) == []
    assert [each.idempotency_key[-3:] for each in tasks_of(goal, "execute")] == ["1:1", "2:1", "2:2"]
    goal.work()
    assert goal.turns("g") == {"plan": 1, "execute": 3, "verify": 2}
    assert goal.workflow("g").record.reason == "state `verify` was entered 2 times, as often as it may be"
    order(goal, "unblock", "g")
    goal.work()
    assert goal.workflow("g").record.status == "completed"


# --- beginning ---


def test_the_same_key_is_the_same_instance(goal):
    first, new = goal.begin("g")
    second, again = goal.begin("g", context={"objective": "other", "scope": ["y"]})

    assert (new, again) == (True, False)
    assert data_of(first.record) == data_of(second.record)
    assert len(goal.tasks()) == 1


@pytest.mark.parametrize(
    ("given", "message", "hint"),
    [
        ({"workflow_type": "goal-lop"}, "no workflow is called `goal-lop`", "did you mean `goal-loop`?"),
        ({"state": "exekute"}, "workflow `goal-loop` has no state `exekute`", "did you mean `execute`?"),
        ({"context": {"scope": ["x"]}}, '"objective" is a required property', None),
        ({"context": {"objective": "g", "scope": ["x"], "n": 2**60}}, "the context cannot be kept", None),
        ({"instance_key": ""}, "is no instance key", None),
        ({"instance_key": "a\x1b[2Jb"}, "is no instance key", None),
        ({"instance_key": "a\nb"}, "is no instance key", None),
        ({"instance_key": "x" * 300}, "is no instance key", None),
    ],
    ids=["type", "state", "payload", "number", "empty", "escape", "lines", "long"],
)
def test_what_could_not_run_does_not_begin(goal, given, message, hint):
    with pytest.raises((OperatorError, ContractViolation)) as refusal:
        goal.begin("g", **given)

    assert message in str(refusal.value)
    assert hint is None or refusal.value.hint == hint
    assert (goal.workflows(), goal.tasks()) == ([], [])


def test_a_key_of_another_type_is_refused(goal):
    define(goal, "by-hand", BY_HAND)
    goal.begin("g")

    with pytest.raises(Refused, match="`g` is an instance of `goal-loop` already"):
        goal.begin("g", workflow_type="by-hand")


def test_a_workflow_may_begin_in_another_state(goal):
    goal.say("g")

    goal.begin("g", state="verify")
    goal.work()

    assert goal.turns("g") == {"plan": 0, "execute": 0, "verify": 1}
    assert goal.workflow("g").record.visits == {"verify": 1, "complete": 1}


# --- orders ---


def test_a_signal_of_an_operator_moves_it_and_ends_its_task(goal):
    goal.begin("g")
    (plan,) = goal.tasks()

    after = order(goal, "signal", "g", signal="continue")

    assert (after.record.current_state, after.awaits, after.version) == ("execute", "task", 2)
    assert goal.task(plan.task_id).status == "operator_canceled"
    (event,) = told(goal, "g", "workflow_transitioned")
    assert event.detail == {
        "workflow_id": after.record.workflow_id,
        "new_state": "execute",
        "previous_state": "plan",
        "signal": "continue",
        "visit": 1,
        "actor": "operator:me",
        "reason": "because",
    }
    (row,) = [each for each in goal.store.entries(limit=1000) if each.kind == "workflow_transitioned"]
    assert (row.actor, row.subject, row.body["reason"]) == ("operator:me", after.record.workflow_id, "because")
    assert goal.advance() == 0
    assert len(tasks_of(goal, "execute")) == 1


@pytest.mark.parametrize(
    ("verb", "given", "message", "hint"),
    [
        ("signal", {"signal": "goo"}, "state `a` knows no signal `goo`", "did you mean `go`?"),
        ("signal", {"signal": "\x1b"}, "knows no signal", "it knows go, skip"),
        ("unblock", {}, "is active, not blocked", "it awaits signal"),
        ("transition", {"state": "a", "force": False}, "no signal leads from `a` to `a`", None),
    ],
)
def test_an_order_that_does_not_fit_is_refused_and_changes_nothing(goal, verb, given, message, hint):
    define(goal, "by-hand", BY_HAND)
    goal.begin("k", workflow_type="by-hand", context=None)

    with pytest.raises(Refused) as refusal:
        order(goal, verb, "k", **given)

    assert message in refusal.value.message
    assert hint is None or refusal.value.hint == hint
    assert goal.workflow("k").version == 1


def test_a_transition_goes_where_signals_lead_or_anywhere_by_force(goal):
    define(goal, "by-hand", BY_HAND)
    goal.begin("k", workflow_type="by-hand")

    assert order(goal, "transition", "k", state="b", force=False).record.current_state == "b"
    assert order(goal, "transition", "k", state="b", force=True).record.visits == {"a": 1, "b": 2}
    with pytest.raises(Refused, match="was entered 2 times"):
        order(goal, "transition", "k", state="b", force=True)
    with pytest.raises(OperatorError, match="has no state `z`"):
        order(goal, "transition", "k", state="z", force=True)
    assert order(goal, "transition", "k", state="c", force=False).record.status == "completed"
    with pytest.raises(Refused, match="that is final"):
        order(goal, "transition", "k", state="a", force=True)


def test_an_operator_may_complete_it_wherever_it_stands(goal):
    goal.begin("g")
    (plan,) = goal.tasks()

    after = order(goal, "complete", "g")

    assert (after.record.status, after.record.current_state) == ("completed", "plan")
    assert goal.task(plan.task_id).status == "operator_canceled"
    for verb, given in (
        ("complete", {}),
        ("unblock", {}),
        ("signal", {"signal": "continue"}),
        ("upgrade", {"state": None}),
    ):
        with pytest.raises(Refused, match="that is final"):
            order(goal, verb, "g", **given)


def test_a_task_that_an_operator_cancels_blocks_its_workflow_until_it_asks_again(goal):
    goal.say("g")
    goal.begin("g")
    (plan,) = goal.tasks()
    control.cancel(goal.store, plan.task_id, "no", "operator:me")

    assert goal.advance() == 1
    assert goal.advance() == 0

    assert "operator_canceled" in goal.workflow("g").record.reason
    (asked,) = people(goal)
    assert asked.task_id == plan.task_id
    order(goal, "unblock", "g")
    assert people(goal) == []
    (done,) = [each for each in goal.store.approvals(ApprovalQuery(statuses=())) if each.kind == "workflow"]
    assert (done.status, done.decided_by) == ("resolved", "operator:me")
    goal.work()
    assert goal.workflow("g").record.status == "completed"
    assert [each.status for each in tasks_of(goal, "plan")] == ["operator_canceled", "completed"]


def test_unblocking_lets_the_blocked_task_go(goal):
    goal.say("g", verify=[{}, {}, {}, "complete"])
    goal.begin("g")
    goal.work()

    order(goal, "unblock", "g")
    goal.work()

    assert [each.status for each in tasks_of(goal, "verify")] == ["operator_canceled", "completed"]
    assert goal.workflow("g").record.status == "completed"


def test_an_upgrade_follows_the_definition_as_it_is_now(goal):
    goal.say("g")
    goal.begin("g")
    order(goal, "signal", "g", signal="continue")
    define(goal, "goal-loop", KIT.read_text().replace('"execute"', '"build"'))

    with pytest.raises(Refused, match="has no state `execute` any more"):
        order(goal, "upgrade", "g", state=None)
    after = order(goal, "upgrade", "g", state="build")

    assert (after.record.current_state, after.awaits) == ("build", "task")
    assert [each.event_type for each in told(goal, "g")][-3:] == [
        "workflow_upgraded",
        "workflow_transitioned",
        "workflow_task_created",
    ]
    goal.work()
    assert goal.workflow("g").record.visits == {"plan": 1, "execute": 1, "build": 1, "verify": 1, "complete": 1}


def test_an_upgrade_in_place_keeps_the_task_it_waits_for(goal):
    goal.say("g")
    first, _ = goal.begin("g")
    define(goal, "goal-loop", KIT.read_text().replace("max_visits = 8", "max_visits = 9"))

    after = order(goal, "upgrade", "g", state=None)

    assert (after.task_id, after.awaits) == (first.task_id, "task")
    assert after.record.definition_hash != first.record.definition_hash
    goal.work()
    assert goal.workflow("g").record.status == "completed"
    assert len(goal.tasks()) == 3


# --- waking ---


def wake(goal, key, context):
    move = plan_wake(goal.office, goal.workflow(key), context=context, actor="sensor:s")
    return move is not None and goal.store.move_workflow(move)


def test_waking_an_active_one_tells_it_more_and_asks_for_nothing(goal):
    goal.begin("g")

    assert wake(goal, "g", {"ticket": 7})

    found = goal.workflow("g")
    assert found.record.context == {"objective": "g", "scope": ["src/**"], "ticket": 7}
    assert (len(goal.tasks()), found.awaits) == (1, "task")


def test_waking_a_blocked_one_asks_again_with_what_is_new(goal):
    goal.begin("g")
    control.cancel(goal.store, goal.tasks()[0].task_id, "no", "operator:me")
    goal.advance()

    assert wake(goal, "g", {"scope": ["docs/**"]})

    assert goal.workflow("g").record.status == "active"
    assert [each.payload["scope"] for each in tasks_of(goal, "plan")] == [["src/**"], ["docs/**"]]


def test_waking_with_what_does_not_fit_is_refused_whole(goal):
    goal.begin("g")
    control.cancel(goal.store, goal.tasks()[0].task_id, "no", "operator:me")
    goal.advance()

    with pytest.raises(KeiseiError, match="scope"):
        wake(goal, "g", {"scope": "everything"})

    assert goal.workflow("g").record.status == "blocked"


def test_nothing_wakes_a_completed_one(goal):
    goal.begin("g")
    order(goal, "complete", "g")

    assert not wake(goal, "g", {"ticket": 7})
