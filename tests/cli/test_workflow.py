"""`keisei workflow`: one begins, is shown, drawn and steered; what cannot be is one sentence and an exit code."""

import json

import pytest

from tests.cli.shop import ID, Shop, bare

FLOW = """\
workflow_type = "release"
description = "Write, review, publish."
initial_state = "write"

[[states]]
state_id = "write"
task_type = "answering"
transitions = [{ signal = "written", next_state = "review" }]
max_visits = 2

[[states]]
state_id = "review"
transitions = [{ signal = "revise", next_state = "write" }, { signal = "approved", next_state = "done" }]

[[states]]
state_id = "done"
"""
WRITES = json.dumps({"args": ["-c", """echo '{"status": "completed", "workflow_signal": "written"}'"""]})


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    made.answering()
    flows = made.folder / ".keisei/workflows"
    flows.mkdir(parents=True)
    (flows / "release.toml").write_text(FLOW)
    yield made
    made.close()


def begin(shop, key="v1"):
    return shop.out("workflow", "create", "release", key, "--context", WRITES).split()[0]


def said(done):
    return (done.code, done.out, done.err.splitlines()[0])


def test_one_begins_runs_waits_for_a_person_and_ends(shop):
    assert bare(shop.out("workflow", "create", "release", "v1", "--context", WRITES)) == ["<1> begins in write"]
    assert bare(shop.out("workflow", "create", "release", "v1")) == ["<1> known already"]

    shop.work()

    (row,) = shop.json("workflow", "instances")
    assert (row["current_state"], row["awaits"], row["visits"]) == ("review", "signal", {"write": 1, "review": 1})
    assert bare(shop.out("workflow", "signal", "v1", "approved")) == ["<1> completed in done"]
    assert shop.json("workflow", "instances") == []
    assert [each["status"] for each in shop.json("workflow", "instances", "--all")] == ["completed"]


def test_a_list_is_narrowed_by_status_and_type(shop):
    first, second = begin(shop, "v1"), begin(shop, "v2")
    shop.out("workflow", "complete", "v1")

    def listed(*words):
        return [each["workflow_id"] for each in shop.json("workflow", "instances", *words)]

    assert listed() == [second]
    assert listed("--all") == [second, first]
    assert listed("--status", "completed") == [first]
    assert listed("--status", "completed", "--status", "active") == [second, first]
    assert listed("--type", "release") == [second]
    assert listed("--type", "goal-loop", "--all") == []
    assert listed("--all", "--limit", 1) == [second]


def test_a_list_for_people_names_what_each_waits_for(shop):
    begin(shop)

    headers, row = shop.out("workflow", "instances").splitlines()

    assert headers.split() == ["workflow", "status", "type", "state", "visit", "awaits", "moved", "key", "reason"]
    assert bare(row)[0].split()[:6] == ["<1>", "active", "release", "write", "1", "task"]


def test_an_instance_is_shown_with_its_stays_by_id_and_by_key(shop):
    workflow_id = begin(shop)
    shop.work()

    lines = shop.out("workflow", "show", "v1").splitlines()
    told = shop.json("workflow", "show", workflow_id)

    assert lines[0] == f"workflow_id: {workflow_id}"
    assert [line.split(", ")[0] for line in lines if line.startswith("stay ")] == ["stay write 1", "stay review 1"]
    assert "by `written` (task:" in lines[-2]
    assert [(each["state"], each["visit"], each["signal"]) for each in told["stays"]] == [
        ("write", 1, "written"),
        ("review", 1, None),
    ]
    assert told["definition"]["initial_state"] == "write"
    assert (told["awaits"], told["task_id"], told["status"]) == ("signal", None, "active")


def test_a_type_is_shown_as_it_is_written(shop):
    assert shop.out("workflow", "show", "release") == FLOW
    assert shop.out("workflow", "show", "release", "--origin") == "project: .keisei/workflows/release.toml\n"
    assert shop.json("workflow", "show", "release")["record"]["workflow_type"] == "release"
    assert shop.out("workflow", "list").splitlines()[-1].split() == [
        "release",
        "project",
        "write",
        "write",
        "review",
        "done",
    ]


def test_it_is_drawn_with_and_without_an_instance(shop):
    begin(shop)

    drawn = shop.out("workflow", "show", "v1", "--graph")

    assert drawn.startswith('stateDiagram-v2\n    state "write (1 of 2)" as s0\n')
    assert drawn.endswith("    class s0 current\n")
    assert shop.json("workflow", "show", "v1", "--graph") == {"format": "mermaid", "text": drawn}
    assert shop.out("workflow", "show", "release", "--graph").startswith('stateDiagram-v2\n    state "write" as s0\n')


def test_the_instance_is_drawn_as_it_began_whatever_the_file_says_by_now(shop):
    begin(shop)
    path = shop.folder / ".keisei/workflows/release.toml"
    path.write_text(FLOW.replace('"review"', '"proof"'))

    assert '"review (0)"' in shop.out("workflow", "show", "v1", "--graph")
    assert '"proof"' in shop.out("workflow", "show", "release", "--graph")


def test_orders_move_it_and_say_where_it_stands(shop):
    begin(shop)

    assert bare(shop.out("workflow", "transition", "v1", "review")) == ["<1> active in review, awaits signal"]
    assert bare(shop.out("workflow", "signal", "v1", "revise")) == ["<1> active in write, awaits task <2>"]
    assert shop.json("workflow", "transition", "v1", "done", "--force", "--reason", "enough")["status"] == "completed"

    events = [each for each in shop.json("event", "list") if each["event_type"] == "workflow_transitioned"]
    assert [(each["detail"]["new_state"], each["detail"].get("reason")) for each in events] == [
        ("review", None),
        ("write", None),
        ("done", "enough"),
    ]


def test_a_blocked_one_says_why_and_asks_again(shop):
    begin(shop)
    (task,) = shop.json("task", "list")
    shop.out("task", "cancel", task["task_id"], "--reason", "wrong")
    shop.work()

    (row,) = shop.json("workflow", "instances", "--status", "blocked")
    assert row["reason"] == f"task {task['task_id']} of state `write` is operator_canceled: wrong"
    assert bare(shop.out("workflow", "unblock", "v1")) == ["<1> active in write, awaits task <2>"]
    shop.work()
    assert shop.json("workflow", "instances")[0]["current_state"] == "review"


def test_an_upgrade_needs_a_state_where_its_own_is_gone(shop):
    begin(shop)
    shop.work()
    (shop.folder / ".keisei/workflows/release.toml").write_text(FLOW.replace('"review"', '"proof"'))

    done = shop.run("workflow", "upgrade", "v1")
    assert said(done) == (2, "", "error: the definition has no state `review` any more")
    assert bare(shop.out("workflow", "upgrade", "v1", "--state", "proof")) == ["<1> active in proof, awaits signal"]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["show", "nope"], 1, "no workflow has the id, the key or the type `nope`"),
        (["signal", "nope", "x"], 1, "no workflow has the id or the key `nope`"),
        (["signal", "v1", "writen"], 2, "state `write` knows no signal `writen`"),
        (["transition", "v1", "done"], 2, "no signal leads from `write` to `done`"),
        (["transition", "v1", "nope"], 1, "workflow `release` has no state `nope`"),
        (["unblock", "v1"], 2, "is active, not blocked"),
        (["create", "releas", "v2"], 1, "no workflow is called `releas`"),
        (["create", "goal-loop", "v1"], 2, "`v1` is an instance of `release` already"),
        (["create", "release", "v2", "--state", "nope"], 1, "workflow `release` has no state `nope`"),
        (["create", "release", "v2", "--context", "[1]"], 1, "the context is not a JSON object"),
        (["create", "release", "v2", "--context", "{"], 1, "the context is not JSON"),
        (["create", "release", "v2", "--context", "@nope"], 1, "`nope` cannot be read"),
        (["create", "release", "a\nb"], 1, "is no instance key"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_cannot_be_done_is_one_sentence_and_changes_nothing(shop, words, code, message):
    begin(shop)
    before = shop.json("workflow", "instances", "--all")

    done = shop.run("workflow", *words)

    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert "Traceback" not in done.err
    assert shop.json("workflow", "instances", "--all") == before


def test_a_context_may_stand_in_a_file(shop):
    (shop.folder / "context.json").write_text(WRITES)

    told = shop.json("workflow", "create", "release", "v1", "--context", "@context.json")

    assert (told["created"], told["context"]) == (True, json.loads(WRITES))
    assert ID.fullmatch(told["workflow_id"])


def test_a_hostile_key_commands_no_terminal(shop):
    done = shop.run("workflow", "create", "release", "a\x1b[2J")

    assert done.code == 1
    assert "\x1b" not in done.out + done.err
