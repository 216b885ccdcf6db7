"""`keisei agent spawn` and `run`: a task file through the engine, by both doors."""

import json

import pytest

from tests.cli.foreground import Workplace
from tests.cli.shop import bare

TASK = """\
[task]
role = "program"
adapter = "fake"
{}
[body]
text = "Do it."
"""
BOTH = pytest.mark.parametrize("door", ["keisei", "kei-agent-runtime"])


@pytest.fixture
def place(shell):
    made = Workplace(shell)
    yield made
    made.close()


@pytest.fixture
def task(place):
    path = place.mark("task.toml")
    path.write_text(TASK.format(""))
    return path


def call(place, door, verb, *words):
    return place.shell.run(*([verb] if door == "kei-agent-runtime" else ["agent", verb]), *words, command=door)


@BOTH
def test_spawn_queues_prints_the_agent_id_and_returns(place, task, door):
    place.agent()

    done = call(place, door, "spawn", task)

    assert (done.code, done.err) == (0, "")
    queued = place.only_task()
    assert done.out == f"{queued['payload']['task']['agent-id']}\n"
    assert done.out.startswith("ag-program-")
    assert (queued["status"], queued["task_type"], queued["requested_adapter_id"]) == ("pending", "agent-task", "fake")
    place.work()
    assert place.run("task", "wait", queued["task_id"]).code == 0


def test_spawn_keeps_the_id_that_the_file_gives_and_tells_the_task_as_data(place, task):
    task.write_text(TASK.format('agent-id = "cart-discounts"\n'))

    told = place.json("agent", "spawn", task)

    assert told == {"agent_id": "cart-discounts", "task_id": place.only_task()["task_id"]}


@BOTH
def test_run_carries_the_task_file_in_the_foreground(place, task, door):
    place.agent()

    done = call(place, door, "run", task)

    assert done.code == 0
    assert bare(done.out)[0] == "completed: did it"
    assert place.only_task()["status"] == "completed"


def test_run_tells_its_end_by_the_exit_code_and_as_data(place, task):
    place.agent(status="permanent_failure", machine_status="failed", operator_summary="it cannot be done")

    done = call(place, "keisei", "run", task, "--json")

    last = json.loads(done.out.splitlines()[-1])
    assert (done.code, last["exit_code"], last["status"]) == (2, 2, "permanent_failure")
    assert last["summary"] == "it cannot be done"


@pytest.mark.parametrize("verb", ["spawn", "run"])
@BOTH
def test_a_file_nobody_can_be_spawned_for_is_refused_and_nothing_is_queued(place, task, door, verb):
    task.write_text('[task]\nrole = "edit-local"\n')

    done = call(place, door, verb, task)

    assert (done.code, done.out) == (1, "")
    assert "error[empty-whitelist]" in done.err
    assert place.json("task", "list") == []


@pytest.mark.parametrize("verb", ["spawn", "run"])
def test_a_file_that_is_not_there_is_one_clear_error(place, verb):
    done = call(place, "keisei", verb, place.mark("nothing.toml"))

    assert done.code == 1
    assert "error[unreadable]" in done.err
    assert "Traceback" not in done.err
