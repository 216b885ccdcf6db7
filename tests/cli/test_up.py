"""`keisei up` keeps a project's parts running; `keisei down`, a signal or a sudden end leaves nothing of them."""

import json
import os
import signal
import sys

import pytest

from keisei.cli.up import Teller
from keisei.settings import read_settings
from keisei.wiring import supervision_lock
from keisei.wiring.runner import born
from keisei.wiring.store import project_home
from keisei.wiring.supervision import Note
from keisei.wiring.supervision_lock import NAME, hold, holder
from tests.cli.shop import Shop, eventually, lines_until


@pytest.fixture
def shop(shell):
    made = Shop(shell)
    yield made
    made.close()


@pytest.fixture
def home(shop):
    return project_home(read_settings(), shop.folder)


def said_until(up, holds):
    """What a process tells as data, up to the first of which that holds."""
    told = []
    for line in up.stdout:
        told.append(json.loads(line))
        if holds(told[-1]):
            return told
    raise AssertionError(f"it never came, but {told}")


def pids(told):
    return {each["name"]: each["pid"] for each in told if each["part"] == "up" and each["event"] == "started"}


def hear(up, *events):
    """What is told until each of these (part, event) was; an event of None is any."""
    awaited = set(events)

    def holds(each):
        awaited.difference_update({(each["part"], each["event"]), (each["part"], None)})
        return not awaited

    return said_until(up, holds)


def test_it_runs_what_is_queued_is_up_once_and_ends_cleanly(shop):
    task_id = shop.add("true")

    with shop.start("up", "--port", 0, "--jobs", 1, "--json") as up:
        told = hear(up, ("runner", "completed"), ("console", "ready"))
        started = pids(told)
        again = shop.run("up")
        up.send_signal(signal.SIGTERM)
        rest = [json.loads(line) for line in up.stdout]
        assert up.wait() == 0

    assert {"part": "runner", "event": "ready", "project": "shop", "jobs": 1} in told
    assert shop.task(task_id)["status"] == "completed"
    url = next(each["url"] for each in told if each["part"] == "console" and each["event"] == "ready")
    assert again.code == 2
    assert f"project shop is up already, by process {up.pid}; its console is at {url}" in again.err
    ended = [each["name"] for each in rest if each["event"] == "ended"]
    assert (ended[0], sorted(ended)) == ("runner", ["console", "runner", "watch"])
    assert sorted(started) == ["console", "runner", "watch"]
    assert not any(map(born, started.values()))
    assert shop.json("runner", "list")["runners"] == []
    assert shop.out("down") == "project shop is not up\n"


def test_a_sudden_end_leaves_nothing_running(shop):
    with shop.start("up", "--port", 0, "--json") as up:
        started = pids(hear(up, ("runner", "ready"), ("console", "ready"), ("watch", None)))
        assert all(map(born, started.values()))
        up.kill()
        up.wait()
        eventually(lambda: not any(map(born, started.values())))

    assert shop.json("runner", "list")["runners"] == []  # it left as it does when it is stopped
    assert shop.out("down") == "project shop is not up\n"


def test_down_finishes_what_runs_and_waits_for_the_end(shop):
    go = shop.folder / "go"
    task_id = shop.add(f"until test -e '{go}'; do sleep 0.05; done")

    with shop.start("up", "--no-console", "--no-watch") as up:
        lines = lines_until(up, "started")
        with shop.start("down") as down:
            lines_until(up, "runner   stopping")
            go.touch()
            said = down.stdout.read()
            assert down.wait() == 0
            assert not born(up.pid)
        rest = up.stdout.read()
        assert up.wait() == 0

    assert lines == ["runner   ready for tasks of project shop, 2 at once", f"runner   started {task_id}"]
    assert said.startswith(f"stopping process {up.pid}: what runs is finished first")
    assert said.endswith("project shop is down\n")
    assert rest.endswith("runner   1 attempt taken\n")
    assert shop.task(task_id)["status"] == "completed"


def test_a_runner_that_cannot_start_is_told_once_and_counts(shop):
    shop.shell.setenv("KEISEI_DATABASE_URL", "nonsense://x")

    with shop.start("up", "--no-console", "--no-watch") as up:
        lines = lines_until(up, "cannot start")
        up.send_signal(signal.SIGTERM)
        assert up.wait() == 1

    assert sum("error:" in line for line in lines) == 1
    assert lines[-1] == "up       runner cannot start; mend what it says above: it is tried again every 60 s"


@pytest.mark.parametrize("command", ["up", "down"])
def test_a_broken_project_is_told_before_anything_starts(shop, command):
    (shop.folder / "keisei.toml").write_text("[project")

    done = shop.run(command)

    assert done.code == 1
    assert "keisei.toml" in done.err
    assert not shop.state.exists()


def test_options_of_a_console_that_is_left_out_are_a_mistake(shop):
    assert shop.run("up", "--no-console", "--port", "4000").code == 1


# --- who is up --------------------------------------------------------------------------------------------------------


def test_the_address_of_the_console_is_told_to_who_comes_second(shop, home):
    with hold(home) as lock:
        lock.tell("http://127.0.0.1:4314/")

        done = shop.run("up")

    assert done.code == 2
    assert f"by process {os.getpid()}; its console is at http://127.0.0.1:4314/" in done.err
    assert (shop.state / NAME).stat().st_mode & 0o777 == 0o600


def test_nobody_is_up_after_the_end_whatever_the_file_says(home):
    with hold(home):
        found = holder(home)

    assert (found.pid, found.is_alive) == (os.getpid(), True)
    assert holder(home) is None
    with hold(home):
        pass


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b'{"pid": 1, "born": "x", "host": "h", "console": null}'])
def test_one_that_cannot_be_seen_from_here_is_not_stopped(shop, home, written, monkeypatch):
    monkeypatch.setattr(supervision_lock, "MOMENT_S", 0.0)
    with hold(home):
        (shop.state / NAME).write_bytes(written)

        done = shop.run("down")

    assert done.code == 1
    assert "not by a process that can be seen from here" in done.err


# --- what is told -----------------------------------------------------------------------------------------------------


@pytest.fixture
def heard(home, tmp_path, monkeypatch):
    """What a teller writes of some notes."""

    def tell(notes, *, as_json):
        with (tmp_path / "said").open("w+", encoding="utf-8") as file, hold(home) as lock:
            monkeypatch.setattr(sys, "stdout", file)
            teller = Teller(lock, as_json=as_json)
            for note in notes:
                teller.tell(note)
            teller.close()
            return (tmp_path / "said").read_text(encoding="utf-8").splitlines(), holder(home)

    return tell


LINK = "http://127.0.0.1:4314/enter?key=k"
READY = json.dumps({"event": "ready", "url": "http://127.0.0.1:4314/", "link": LINK})


def test_the_link_of_the_console_is_shown_and_its_address_written_down(heard):
    lines, found = heard([Note("console", "out", {"text": READY})], as_json=False)

    assert lines == [f"console  {LINK}  (works once, for 10 minutes; keisei console link makes another)"]
    assert found.console == "http://127.0.0.1:4314/"


def test_people_are_not_told_every_file_nor_can_a_line_command_their_terminal(heard):
    lines, _ = heard(
        [
            Note("watch", "out", {"text": '{"change": "changed", "node": "atom", "name": "x"}'}),
            Note("watch", "err", {"text": "warning: following 1 folders; Ctrl-C ends it"}),
            Note("runner", "out", {"text": "blocked \x1b[2J"}),
            Note("runner", "out", {"text": "{ no JSON"}),
            Note("up", "died", {"name": "watch", "how": "signal 9", "words": [], "wait_s": 1.0}),
        ],
        as_json=False,
    )

    assert lines == [
        "runner   blocked \\x1b[2J",
        "runner   { no JSON",
        "up       watch ended with signal 9; it is started again in 1 s",
    ]


def test_machines_are_told_everything_as_objects(heard):
    lines, found = heard(
        [
            Note("console", "out", {"text": READY}),
            Note("watch", "out", {"text": '{"change": "gone", "part": "up"}'}),
            Note("runner", "err", {"text": "error: x"}),
            Note("up", "left", {"name": "runner"}),
        ],
        as_json=True,
    )

    assert [json.loads(line) for line in lines] == [
        {"part": "console", **json.loads(READY)},
        {"part": "watch", "event": "said", "change": "gone"},
        {"part": "runner", "event": "said", "text": "error: x"},
        {"part": "up", "event": "left", "name": "runner"},
    ]
    assert found.console == "http://127.0.0.1:4314/"
