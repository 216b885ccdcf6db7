"""kill -9 of the runner while a candidate is verified and while it lands, at twelve points.

Whenever it dies: the agent is not run again, main is what it was or that and one commit, the main checkout shows main
and nothing else, and the candidate lands exactly once.
"""

import os
import signal

import pytest

from keisei.records.move import LandingQuery
from keisei.rules.ledger import first_broken
from keisei.testing.model import ScriptedModel
from tests.system.agency import git
from tests.system.killing import FILES, House, Plot, everyone, kill, last, until

ROLE = """
[role]
name = "lander"
description = "Edits src; its work is verified and lands."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "quality::check-green"]
[tools]
allowed = ["Bash"]
bash-patterns-allowed = ['^(echo|sleep)( |$)']
[isolation]
require = "full"
network = "none"
"""
POINTS = {
    "before it is merged": "keisei.workspace.merge:merge:before:1",
    "when the merged tree is checked out": "keisei.wiring.proving:Proving.run_in:before:1",
    "when the check has ended": "keisei.wiring.proving:Proving.run_in:after:1",
    "when it is verified": "keisei.wiring.verification:verify_candidate:after:1",
    "when it is judged": "keisei.wiring.judgement:judged:after:1",
    "when it is settled, and queued to land": "keisei.engine.sweep:conclude:after:1",
    "when its turn has come": "keisei.wiring.landing:prove:before:1",
    "when its verdict is there": "keisei.wiring.landing:prove:after:1",
    "when its commit is made": "keisei.workspace.land:keep:after:1",
    "when the row tells of the commit": "keisei.workspace.land:advance:before:1",
    "when the branch has moved, and no row tells it": "keisei.workspace.land:advance:after:1",
    "when it has landed": "keisei.wiring.landing:_landed:after:1",
}


@pytest.fixture
def build(tmp_path):
    built = []

    def make(check, plot):
        model = ScriptedModel(plot)
        project = (
            f'[landing]\nauto = true\n\n[sandbox]\nread = ["{tmp_path / "flags"}"]\n\n[commands]\ncheck = {check!r}\n'
        )
        house = House(tmp_path, model.__enter__(), real=False, project=project)
        (house.root / ".keisei/roles/lander.toml").write_text(ROLE)
        git(house.root, "add", "-A")
        git(house.root, "commit", "-q", "-m", "a role")
        built.append((house, model))
        return house

    yield make
    for house, model in built:
        house.end()
        model.__exit__(None, None, None)


def add(house):
    payload = {
        "task": {"role": "lander"},
        "scope": {"files-whitelist": ["src/**"]},
        "body": {"text": "Work."},
    }
    return house.add(payload=payload, max_attempts=3)


def landed_once(house, task_id, before):
    """Everything that holds when it is over."""
    assert house.task(task_id).status == "completed", (house.task(task_id).last_error, house.log())
    assert len(house.store.attempts(task_id)) == 1
    (landing,) = house.store.landings(LandingQuery())
    assert landing.status == "landed", (landing, house.log())
    assert git(house.root, "rev-list", f"{before}..main").split() == [landing.after_commit]
    assert git(house.root, "diff", "--name-only", before, "main").split() == sorted(FILES)
    assert git(house.root, "status", "--porcelain") == ""
    kinds = [each.kind for each in house.store.entries(0, 1000)]
    assert kinds.count("landing_made") == 1
    assert first_broken(house.store.rows()) is None
    assert last(lambda: house.left([])) == []
    assert list(house.trouble()) == []


@pytest.mark.parametrize(
    "point",
    [each if number % 2 == 0 else pytest.param(each, marks=pytest.mark.soak) for number, each in enumerate(POINTS)],
)
def test_a_runner_that_is_killed_leaves_main_whole_and_its_candidate_lands_once(point, build):
    house = build("test -e src/one.txt", Plot())
    before = git(house.root, "rev-parse", "main")
    task_id = add(house)
    runner = house.start(POINTS[point])
    until(lambda: (house.flags / "halted").exists() or runner.poll() is not None)
    assert runner.poll() is None, house.log()
    names = {(each.pid, each.born) for each in house.tree()}

    kill(runner.pid)
    assert git(house.root, "rev-list", "--count", f"{before}..main") in ("0", "1")
    assert git(house.root, "status", "--porcelain") == ""
    assert runner.wait(60) == -signal.SIGKILL
    (house.flags / "go").touch()
    assert house.start().wait(60) == 0, house.log()

    landed_once(house, task_id, before)
    assert last(lambda: [each for each in everyone() if (each.pid, each.born) in names]) == []


def test_a_runner_that_is_killed_while_the_check_runs_takes_the_check_along(build, tmp_path):
    flags = tmp_path / "flags"
    house = build(f"while [ -e '{flags}/wait' ]; do sleep 0.02; done", Plot())
    (house.flags / "wait").touch()
    before = git(house.root, "rev-parse", "main")
    task_id = add(house)
    runner = house.start()
    checks = lambda: [each for each in everyone() if os.fsencode(f"{flags}/wait") in b" ".join(each.argv)]  # noqa: E731
    until(lambda: checks() or runner.poll() is not None)
    assert runner.poll() is None, house.log()

    kill(runner.pid)
    assert last(checks) == []
    (house.flags / "wait").unlink()
    assert house.start().wait(60) == 0, house.log()

    landed_once(house, task_id, before)
