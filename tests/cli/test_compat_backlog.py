"""`keisei compat seed-backlog`, `bridge-github`, `bridge-discord`: each entry and each event once, or why not."""

import json

import pytest

from tests.cli.deployment import Runtime
from tests.cli.originals import DISCORD, GITHUB, GOAL, SHARED, task

PLAIN = {name: value for name, value in GOAL.items() if name != "requested_profile"}


@pytest.fixture
def runtime(shell):
    made = Runtime(shell)
    yield made
    made.close()


def plain(backlog):
    """The backlog, under the default profile."""
    return backlog | {"workflows": [each | {"context": PLAIN} for each in backlog["workflows"]]}


def seed(runtime, backlog):
    done = runtime.verb("seed-backlog", "--file", runtime.write("backlog.json", backlog))
    return done, json.loads(done.out)


def test_seeding_twice_adds_nothing(runtime):
    first, told = seed(runtime, plain(SHARED))
    rows = runtime.tasks()
    second, again = seed(runtime, plain(SHARED))

    assert (first.code, second.code, first.err, second.err) == (0, 0, "", "")
    assert list(told) == ["createdWorkflows", "queuedTasks", "knownTasks", "refused"]
    assert [each["created"] for each in told["createdWorkflows"]] == [True, True]
    assert [list(each) for each in told["queuedTasks"]] == [["task_id", "kind", "source"]] * 3
    assert len({each["task_id"] for each in told["queuedTasks"]}) == 3
    assert told["createdWorkflows"][0]["workflow"] == plain(SHARED)["workflows"][0]
    assert [each["created"] for each in again["createdWorkflows"]] == [False, False]
    assert (again["queuedTasks"], again["knownTasks"]) == ([], told["queuedTasks"])
    assert runtime.tasks() == rows
    assert len(rows) == 3 + 2


def test_a_task_that_stands_there_once_more_is_one_task_more(runtime):
    seed(runtime, {"tasks": [task("a"), task("a")]})

    _, told = seed(runtime, {"tasks": [task("a"), task("b"), task("a"), task("a")]})

    assert (len(told["knownTasks"]), len(told["queuedTasks"])) == (2, 2)


def test_the_other_dialect_is_the_same_task(runtime):
    seed(runtime, {"tasks": [task("a") | {"requested_adapter": ""}]})
    names = {"kind": "task_type", "requested_profile": "requested_profile_id"}
    ours = {names.get(name, name): value for name, value in task("a").items()}

    _, told = seed(runtime, {"tasks": [ours]})

    assert (len(told["knownTasks"]), told["queuedTasks"], told["refused"]) == (1, [], [])


def test_a_bad_entry_is_told_exactly_and_stops_no_other(runtime):
    backlog = {
        "workflows": [
            {"template": "community-research", "instance_key": "wiki", "context": {}},
            {"template": "goal-loop", "instance_key": "good", "context": PLAIN},
            {"template": "goal-loop", "instance_key": "lost", "state": "nowhere"},
            {"template": "goal-loop", "instance_key": "who", "context": {"requested_profile": "nobody"}},
            {"template": "goal-loop"},
            7,
        ],
        "tasks": [
            task("a"),
            task("b") | {"priority": "high"},
            task("c") | {"requested_profile": "nobody"},
            task("d") | {"surprise": 1},
            {"kind": "x", "source": "substrate:9", "priority": 1, "payload": {"_substrate_job_id": 9}},
            task("e", big=2**60),
            [],
            task("f"),
        ],
        "schedules": [],
    }

    done, told = seed(runtime, backlog)

    assert done.code == 1
    assert [each["workflow"]["instance_key"] for each in told["createdWorkflows"]] == ["good"]
    assert [each["source"][-1] for each in told["queuedTasks"]] == ["a", "f"]
    reasons = {each["entry"]: each["reason"] for each in told["refused"]}
    assert list(reasons) == [
        *("schedules", "workflows[0]", "workflows[2]", "workflows[3]", "workflows[4]", "workflows[5]"),
        *("tasks[1]", "tasks[2]", "tasks[3]", "tasks[4]", "tasks[5]", "tasks[6]"),
    ]
    for entry, why in {
        "workflows[0]": "no workflow is called `community-research`",
        "workflows[2]": "has no state `nowhere`",
        "workflows[3]": "no profile is called `nobody`; known profiles: lumen",
        "workflows[4]": "`instance_key`",
        "tasks[1]": "`priority` must be an integer",
        "tasks[2]": "no profile is called `nobody`",
        "tasks[3]": "surprise",
        "tasks[4]": "shared job queue (substrate)",
        "tasks[6]": "must be an object",
    }.items():
        assert why in reasons[entry], reasons[entry]
    assert [line.split(": ")[1] for line in done.err.splitlines()] == list(reasons)
    assert "Traceback" not in done.err


def test_why_jobs_of_the_shared_queue_are_not_taken_is_told(runtime):
    job = {"kind": "x", "source": "substrate:9", "priority": 1, "payload": {}}

    done = runtime.verb("intake", "--json", json.dumps(job))

    assert (done.code, done.out) == (1, "")
    assert "its priority 1 would come last here, where higher is first" in done.err
    assert runtime.tasks() == []


def test_a_configuration_with_a_shared_queue_says_that_it_has_no_effect(runtime):
    runtime.configure(substrate={"enabled": True, "host": "h", "kinds": ["x"], "slotId": "s", "credential": "c"})

    done = runtime.verb("status")

    assert done.code == 0
    assert "`substrate` has no effect: many runners share one PostgreSQL instead" in done.err


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "one backlog, not 0"),
        ("7", "a backlog is one object"),
        ("{", "this is not JSON"),
        ("", "is empty"),
        ('{"tasks": [], "tasks": []}', "stands twice"),
    ],
    ids=["list", "number", "cut", "empty", "twice"],
)
def test_a_file_that_is_no_backlog_is_one_clear_error(runtime, content, why):
    (runtime.home / "backlog.json").write_text(content)

    done = runtime.verb("seed-backlog", "--file", runtime.home / "backlog.json")

    assert (done.code, done.out) == (1, "")
    assert why in done.err
    assert len(done.err.splitlines()) == 2


def test_sections_that_are_no_lists_are_refused_one_by_one(runtime):
    done, told = seed(runtime, {"workflows": {"a": 1}, "tasks": None})

    assert (done.code, [each["entry"] for each in told["refused"]]) == (1, ["workflows"])


@pytest.mark.parametrize(
    ("bridge", "event", "kind", "priority"),
    [("github", GITHUB, "github-story", 7), ("discord", DISCORD, "discord-reply", 6)],
    ids=["github", "discord"],
)
def test_an_event_is_bridged_once(runtime, bridge, event, kind, priority):
    file = runtime.write("event.json", event)

    first = runtime.told(f"bridge-{bridge}", "--file", file)
    replayed = runtime.told(f"bridge-{bridge}", "--file", file)
    another = runtime.told(f"bridge-{bridge}", "--file", runtime.write("event.json", event | {"id": 2}))

    assert list(first) == ["queued", "bridge", "task_id", "profile"]
    assert (first["queued"], first["bridge"], first["profile"]) == (True, bridge, "lumen")
    assert replayed == first | {"queued": False}
    assert another["queued"]
    assert len(runtime.tasks()) == 2
    task = runtime.tasks()[-1]
    assert (task["task_type"], task["source"], task["priority"]) == (kind, f"{bridge}-bridge", priority)
    assert task["payload"] == {name: value for name, value in event.items() if name != "event"}


def test_a_bridge_uses_the_profile_of_the_file(runtime):
    runtime.write(
        "profiles/arc.json", json.loads((runtime.home / "profiles/lumen.json").read_text()) | {"profile_id": "arc"}
    )
    runtime.configure(profiles={"arc": "./profiles/arc.json"}, defaultProfile="arc")

    told = runtime.told("bridge-discord", "--file", runtime.write("event.json", DISCORD))

    assert told["profile"] == "arc"


def test_what_an_event_leaves_out_has_the_originals_words(runtime):
    bare = {name: DISCORD[name] for name in ("event", "channel", "author", "message")} | {"reply_style": None}

    runtime.told("bridge-discord", "--file", runtime.write("event.json", bare))

    assert runtime.stored()["payload"]["reply_style"] == "short"
    assert runtime.stored()["payload"]["operator_goal"] == "Draft a concise Discord reply."


@pytest.mark.parametrize("bridge", ["github", "discord"])
@pytest.mark.parametrize(
    "event",
    [{}, [1, 2], 7, {"event": 1}, GITHUB | DISCORD | {"author": None}, GITHUB | DISCORD | {"author": ["x"]}],
    ids=["empty", "list", "number", "type", "null", "author"],
)
def test_an_event_of_another_shape_is_one_clear_error(runtime, bridge, event):
    done = runtime.verb(f"bridge-{bridge}", "--file", runtime.write("event.json", event))

    assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 2)
    assert runtime.tasks() == []


@pytest.mark.parametrize("verb", ["seed-backlog", "bridge-github", "bridge-discord"])
@pytest.mark.parametrize("words", [[], ["--file", "nowhere.json"], ["--file", "."]], ids=["none", "missing", "folder"])
def test_no_file_is_one_clear_error(runtime, verb, words):
    done = runtime.verb(verb, *words)

    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err
