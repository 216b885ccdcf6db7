"""`keisei runner`: runs what there is, hears orders and signals, and leaves nothing running behind."""

import json
import signal

import pytest

from tests.cli.shop import PROJECT, Shop, bare, eventually, lines_until


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


def hear_signals():
    """A background job of a script inherits signals that are ignored; a person's shell does not."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def test_work_is_done_until_there_is_none(shop):
    shop.add("true")
    shop.add("exit 3", max_attempts=1)

    lines = bare(shop.work())

    assert lines[0] == "ready for tasks of project shop, 2 at once"
    assert lines[-1] == "2 attempts taken"
    happened = sorted(line.split(maxsplit=2)[0] for line in lines[1:-1])
    assert happened == ["blocked", "completed", "message", "started", "started"]
    assert bare(shop.work()) == ["ready for tasks of project shop, 2 at once", "0 attempts taken"]


def test_one_task_is_run_and_no_more(shop):
    first = shop.add("true")
    shop.add("true")

    assert bare(shop.out("runner", "--once")) == [
        "ready for tasks of project shop, 1 at once",
        "started <1>",
        "completed <1>",
        "1 attempt taken",
    ]
    assert shop.task(first)["status"] == "completed"
    assert shop.json("task", "list")[0]["status"] == "pending"


def test_happenings_are_told_as_data_too(shop):
    task_id = shop.add("exit 3", max_attempts=1)

    told = [json.loads(line) for line in shop.out("runner", "--until-idle", "--jobs", 1, "--json").splitlines()]

    assert told[0] == {"event": "ready", "project": "shop", "jobs": 1}
    assert [each["event"] for each in told[1:]] == ["started", "blocked", "message", "done"]
    assert told[2] == {
        "event": "blocked",
        "task_id": task_id,
        "attempt_id": shop.attempt(task_id),
        "detail": "attempts used up (1 of 1): it ended with exit 3",
    }
    assert (told[3]["task_id"], "needs you" in told[3]["detail"]) == (task_id, True)
    assert told[4] == {"event": "done", "attempts": 1}


def test_many_attempts_that_begin_at_once_do_not_disturb_each_other(shop):
    for _ in range(8):
        shop.add("true")

    with shop.start("runner", "--until-idle", "--jobs", 8) as runner:
        lines = bare(runner.stdout.read())
        assert runner.wait() == 0

    assert lines[-1] == "8 attempts taken"
    assert {each["status"] for each in shop.json("task", "list")} == {"completed"}


def test_two_runners_share_the_work(shop):
    for number in range(6):
        shop.add(f"echo {number} >> '{shop.folder}/done'")

    with shop.start("runner", "--until-idle") as one, shop.start("runner", "--until-idle") as other:
        taken = sum(int(each.stdout.read().splitlines()[-1].split()[0]) for each in (one, other))

    assert taken == 6
    assert sorted((shop.folder / "done").read_text().split()) == list("012345")


def test_work_outside_of_every_project_belongs_to_the_default_one(shop):
    shop.shell.cd(shop.shell.folder_of("nowhere"))

    task_id = shop.add("pwd")

    assert bare(shop.work())[0] == "ready for tasks of project default, 2 at once"
    assert shop.task(task_id)["status"] == "completed"
    assert (shop.state.parent / "default/state.db").is_file()


def test_the_project_says_how_many_at_once(shop):
    (shop.folder / "keisei.toml").write_text(PROJECT + "jobs = 5\n")

    assert bare(shop.work())[0] == "ready for tasks of project shop, 5 at once"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_takes_nothing_new_and_finishes_what_runs(shop, number):
    go = shop.folder / "go"
    running = shop.add(f"until test -e '{go}'; do sleep 0.05; done")

    with shop.start("runner", "--jobs", 1, preexec_fn=hear_signals) as runner:
        lines_until(runner, "started")
        waiting = shop.add("true")
        runner.send_signal(number)
        lines_until(runner, "stopping: what runs is finished first")
        go.touch()
        assert lines_until(runner, "taken")[-1] == "1 attempt taken"
        assert runner.wait() == 0

    assert (shop.task(running)["status"], shop.task(waiting)["status"]) == ("completed", "pending")
    assert [each["state"] for each in shop.json("runner", "list", "--all")["runners"]] == ["stopped"]


def test_a_second_signal_ends_what_runs_and_it_goes_back_uncounted(shop):
    task_id = shop.add("sleep 60")

    with shop.start("runner", preexec_fn=hear_signals) as runner:
        lines_until(runner, "started")
        eventually(lambda: shop.json("attempt", "show", shop.attempt(task_id))["bundle"])
        for _ in range(2):
            runner.send_signal(signal.SIGTERM)
            lines_until(runner, "stopping")
        assert lines_until(runner, "pending")[-1].endswith(": the runner stopped it")
        assert runner.wait() == 0

    task = shop.task(task_id)
    assert (task["status"], task["attempt_count"]) == ("pending", 0)


def test_a_hangup_that_is_ignored_stays_so(shop):
    """As under nohup."""
    with shop.start("runner", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)) as runner:
        eventually(lambda: shop.json("runner", "list")["runners"])
        runner.send_signal(signal.SIGHUP)
        task_id = shop.add("true")
        lines_until(runner, f"completed {task_id}")
        runner.send_signal(signal.SIGTERM)
        assert runner.wait() == 0


def test_a_reader_that_goes_away_does_not_end_a_runner(shop):
    task_id = shop.add("true")

    with shop.start("runner", "--until-idle") as runner:
        runner.stdout.close()
        assert runner.wait() == 0

    assert shop.task(task_id)["status"] == "completed"


def test_a_pause_holds_until_it_is_taken_back(shop):
    task_id = shop.add("true")

    assert shop.out("runner", "pause", "--reason", "lunch\x1b[31m") == "all runners paused\n"
    assert bare(shop.work())[1:] == ["paused: lunch\\x1b[31m", "0 attempts taken"]
    assert bare(shop.out("runner", "list"))[-1] == "paused: all runners, since <time>: lunch\\x1b[31m"
    assert shop.json("runner", "list")["pauses"][0]["reason"] == "lunch\x1b[31m"
    assert shop.json("runner", "resume") == {"scope": "all", "resumed": True}
    shop.work()

    assert shop.task(task_id)["status"] == "completed"


def test_one_runner_is_drained_and_leaves(shop):
    with shop.runner() as runner:
        eventually(lambda: shop.json("runner", "list")["runners"])

        assert shop.out("runner", "drain", runner.runner_id) == f"{runner.runner_id} draining\n"

        assert shop.json("runner", "list")["runners"][0]["state"] in ("draining", "stopped")
        assert [(each["kind"], each["subject"]) for each in shop.json("ledger", "list")] == [
            ("runner_drained", runner.runner_id)
        ]


def test_an_emergency_stop_ends_everything(shop):
    task_id = shop.add("sleep 60")

    with shop.runner():
        eventually(lambda: shop.task(task_id)["status"] == "running")
        told = shop.json("runner", "estop", "--reason", "fire")
        assert shop.run("task", "wait", task_id).code == 2

    assert told == {"scope": "all", "paused": True, "asked_to_end": [task_id]}
    assert shop.task(task_id)["last_error"] == "fire"
    assert shop.out("runner", "estop") == "all runners paused; 0 running tasks asked to end\n"


def test_a_pause_of_a_runner_that_is_gone_can_be_taken_back(shop):
    with shop.runner() as runner:
        eventually(lambda: shop.json("runner", "list")["runners"])
        shop.out("runner", "pause", "--runner", runner.runner_id)

    assert shop.out("runner", "resume", "--runner", runner.runner_id) == f"{runner.runner_id} resumed\n"
    assert shop.json("runner", "list")["pauses"] == []


@pytest.mark.parametrize("words", [["drain", "x"], ["pause", "--runner", "x"], ["resume", "--runner", "x"]])
def test_a_runner_that_nobody_has_is_one_clear_error(shop, words):
    done = shop.run("runner", *words)

    assert (done.code, done.out) == (1, "")
    assert done.err == "error: no active runner has the id `x`\n  hint: `keisei runner list` shows all\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--once", "list"],
        ["--json", "list"],
        ["--jobs", "0"],
        ["nope"],
        ["pause", "--reason", "\udcff"],
        ["drain", "\0"],
    ],
    ids=["lost-option", "lost-json", "jobs", "verb", "no-text", "zero-byte"],
)
def test_words_that_are_none_are_mistakes_of_usage(shop, words):
    done = shop.run("runner", *words)

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Usage: keisei runner ")
