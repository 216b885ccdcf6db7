"""kill -9 of whoever runs a pipe, in the middle of a hundred members: a resume does exactly what is left."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from keisei.engine.pipe_value import members_of
from keisei.store import open_store
from tests.cli.pipes import fan, make_package
from tests.cli.shell import BIN

MANY = 100


def family(pid):
    """Every process below one."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text(encoding="ascii").split()):
            found += [child, *family(child)]
    return found


def is_there(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def until(holds):
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.005)


class House:
    """A folder with a package, a dag, a file of what was done, and a state of its own."""

    def __init__(self, folder, verb):
        self.folder, self.verb = folder, verb
        self.root = make_package(folder / "root")
        self.file, self.hold = folder / "done.txt", folder / "done.txt.hold"
        self.file.touch()
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "KEISEI_HOME": str(folder / "state")}

    def command(self, *words):
        return subprocess.Popen(
            [BIN / "keisei", "pipe", *words, "--root", str(self.root)],
            cwd=self.folder,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def begin(self, hold):
        """Run it; members from that number on stay where they are while the hold stands."""
        text, given = fan(self.verb, self.file, MANY, hold)
        (self.folder / "dag.toml").write_text(text, encoding="utf-8")
        return self.command("run", "dag.toml", "--input", given)

    def kill(self, runner, number):
        """Wait until that member is under way, and kill the runner; whatever it had started is gone then, too."""
        until(lambda: any(line.startswith(f"{number} ") for line in self.lines()))
        os.kill(runner.pid, signal.SIGSTOP)
        below = family(runner.pid)
        runner.kill()
        runner.communicate()
        self.hold.unlink(missing_ok=True)
        until(lambda: not any(map(is_there, below)))

    def resume(self, run_id, *words):
        runner = self.command("resume", run_id, *words)
        out, _ = runner.communicate(timeout=60)
        return runner.returncode, json.loads(out)

    def lines(self):
        return self.file.read_text(encoding="utf-8").splitlines()

    def numbers(self):
        return [int(line.split()[0]) for line in self.lines()]

    def rows(self):
        """The run, and how its members are written."""
        with closing(open_store(f"sqlite://{self.folder / 'state' / 'default' / 'state.db'}")) as store:
            (run,) = store.pipe_runs()
            return run, {row.index: row for row in members_of(store, run.run_id, "f")}


@pytest.fixture
def build(tmp_path):
    folder = tmp_path / "a folder"
    folder.mkdir()
    return lambda verb: House(folder, verb)


def unfinished(rows):
    return [index for index in range(MANY) if index not in rows or rows[index].state != "done"]


def test_an_idempotent_fan_out_goes_on_however_often_it_is_killed(build):
    house = build("put")
    house.hold.touch()
    house.kill(house.begin(hold=30), 31)
    run, rows = house.rows()
    assert run.status == "running"
    first = unfinished(rows)
    assert len(first) >= MANY - 32
    house.hold.touch()
    before = len(house.lines())

    house.kill(house.command("resume", run.run_id), 33)

    _, rows = house.rows()
    assert set(house.numbers()[before:]) <= set(first)
    left = unfinished(rows)
    before = len(house.lines())
    code, report = house.resume(run.run_id)
    assert (code, report["status"]) == (0, "completed")
    assert sorted(house.numbers()[before:]) == left
    assert report["final_result"] == [{"n": number} for number in range(MANY)]


def test_a_keyed_fan_out_does_each_member_once(build):
    house = build("key")
    house.hold.touch()
    house.kill(house.begin(hold=40), 40)
    run, rows = house.rows()
    assert unfinished(rows) == list(range(40, MANY))
    assert rows[40].state == "running"

    code, report = house.resume(run.run_id)

    assert (code, report["status"]) == (0, "completed")
    with closing(apsw.Connection(str(house.folder / "state" / "packages" / "pipe-test.db"))) as db:
        assert sorted(n for (n,) in db.execute("SELECT n FROM things")) == list(range(MANY))
    assert house.rows()[1][40].invocation_id == rows[40].invocation_id


def test_a_fan_out_that_must_not_be_done_twice_asks_a_person_about_the_one_nobody_saw_end(build):
    house = build("add")
    house.hold.touch()
    house.kill(house.begin(hold=50), 50)
    run, rows = house.rows()
    assert (unfinished(rows), rows[50].state) == (list(range(50, MANY)), "running")

    code, report = house.resume(run.run_id)

    assert (code, report["status"]) == (3, "blocked")
    assert "`f` [50]" in report["error"]
    assert Counter(house.numbers()) == Counter(range(MANY))
    code, report = house.resume(run.run_id, "--force")
    assert (code, report["status"]) == (0, "completed")
    assert Counter(house.numbers()) == Counter([*range(MANY), 50])
