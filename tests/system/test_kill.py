"""kill -9 of runner, keeper, gate and harness, at ten points and more each.

Whatever is killed and whenever: nothing of it runs on, no worktree, folder, group or socket is left, what the agent had
written is kept with its evidence, and its task is finished, or tried once more and finished. A harness that has
returned is not run again.
"""

import os
import signal
from typing import NamedTuple

import pytest

from keisei.testing.model import ScriptedModel
from keisei.wiring.salvage import mark_of
from tests.system.killing import FILES, House, Plot, everyone, kill, last, until


class Case(NamedTuple):
    """What is killed, and where."""

    victim: str
    when: str
    """The point, as a sentence goes on."""
    attempts: int = 2
    """How many it takes."""
    halt: str | None = None
    """The runner is halted there: `module:function:before|after:n`."""
    turn: int | None = None
    """The model thinks about this turn."""
    asked: int | None = None
    """A hook asks the gate about this call; the gate is stopped."""
    amid: int | None = None
    """This call is being made."""
    setup: bool = False
    """The environment is being set up."""
    said: bool = False
    """The harness has said its result and does not end."""
    real: bool = False
    """The harness is Claude Code."""
    wrote: int = 0
    """How many files there are where the runner is halted."""

    def so_far(self) -> int:
        """How many files the agent has written by then."""
        if self.amid is not None:
            return self.amid + 1
        told = self.turn if self.asked is None else self.asked
        return LAST if self.said else self.wrote if told is None else told


LAST = len(FILES)
REHEARSAL = "keisei.testing.model:ScriptedModel.answer:before:1"
ADMITTED = "keisei.wiring.gatehouse:Gatehouse.admit:after:{}"

CASES = (  # a third of them with every run, all of them with `make soak`
    Case("runner", "before a worktree is taken", halt="keisei.workspace.pool:Pool.take:before:1"),
    Case("runner", "when a worktree is made and nobody owns it", halt="keisei.workspace.slot:Place.own:before:1"),
    Case("runner", "when a worktree is taken", halt="keisei.workspace.pool:Pool.take:after:1"),
    Case("runner", "while the environment is set up", setup=True),
    Case("runner", "when the bundle is stored", halt="keisei.wiring.workshop:AttemptWorkshop._store:after:1"),
    Case("runner", "while the harness is rehearsed", halt=REHEARSAL),
    Case("runner", "when the gate has admitted it", halt=ADMITTED.format(2)),
    Case("runner", "while the canary sings", halt="keisei.wiring.canary:_said:before:3"),
    Case("runner", "before the first call", turn=0),
    Case("runner", "in the middle of a call", amid=1),
    Case("runner", "between two calls", turn=1, real=True),
    Case("runner", "after the last write", turn=LAST, real=True),
    Case("runner", "when the harness has ended", halt="keisei.wiring.returned:kept_candidate:before:1", wrote=LAST),
    Case("runner", "when the candidate is staged", halt="keisei.wiring.returned:kept_candidate:after:1", wrote=LAST),
    Case(
        "runner", "when all evidence is stored", halt="keisei.wiring.workshop:AttemptWorkshop.run:after:1", wrote=LAST
    ),
    Case("runner", "when it is told as returned", 1, halt="keisei.engine.attempt:finish:before:1", wrote=LAST),
    Case("runner", "when it is judged", 1, halt="keisei.wiring.workshop:AttemptWorkshop.judge:after:1"),
    Case("runner", "when it is settled", 1, halt="keisei.engine.sweep:conclude:after:1"),
    Case("gate", "while the harness is rehearsed", halt=REHEARSAL),
    Case("gate", "when the harness is rehearsed", 1, halt="keisei.wiring.rehearsal:rehearse:after:1"),
    Case("gate", "when it has admitted it", halt=ADMITTED.format(2)),
    Case("gate", "when the canary has sung", halt="keisei.wiring.execute:execute:before:1"),
    Case("gate", "before the first call", turn=0),
    Case("gate", "while it is asked about the last call", asked=LAST - 1),
    Case("gate", "in the middle of a call", amid=1),
    Case("gate", "between two calls", turn=1, real=True),
    Case("gate", "after the last write", turn=LAST, real=True),
    Case("gate", "when the harness has ended", 1, halt="keisei.wiring.returned:kept_candidate:before:1", wrote=LAST),
    Case("keeper", "while the environment is set up", setup=True),
    Case("keeper", "while the harness is rehearsed", halt=REHEARSAL),
    Case("keeper", "before it has started the harness", halt="keisei.sandbox.kept:Kept._begin:before:2"),
    Case("keeper", "before the first call", turn=0),
    Case("keeper", "while the gate is asked about a call", asked=1),
    Case("keeper", "in the middle of the last call", amid=LAST - 1),
    Case("keeper", "between two calls", turn=1, real=True),
    Case("keeper", "after the last write", turn=LAST, real=True),
    Case("keeper", "when the harness has said its result", said=True),
    Case("keeper", "when the harness has ended", 1, halt="keisei.sandbox.kept:Kept.ending:before:2", wrote=LAST),
    Case("harness", "while it is rehearsed", halt=REHEARSAL),
    Case("harness", "before its first call", turn=0),
    Case("harness", "while the gate is asked about its first call", asked=0),
    Case("harness", "while the gate is asked about its last call", asked=LAST - 1),
    Case("harness", "in the middle of its first call", amid=0),
    Case("harness", "in the middle of its last call", amid=LAST - 1),
    Case("harness", "after its first call", turn=1),
    Case("harness", "between two calls", turn=2, real=True),
    Case("harness", "after its last write", turn=LAST, real=True),
    Case("harness", "when it has said its result", said=True),
)


@pytest.fixture
def build(tmp_path):
    """A house with its model, and nothing of it left, whatever happens."""
    built = []

    def make(case, plot):
        model = ScriptedModel(plot)
        flags = tmp_path / "flags"
        wait = f"while [ -e '{flags}/wait' ]; do sleep 0.02; done"
        environment = f'[environment]\nkeep = ["made"]\nsetup = "mkdir made && echo it > made/it && {wait}"\n'
        project = f'[sandbox]\nread = ["{flags}"]\n{environment}' if case.setup else ""
        house = House(tmp_path, model.__enter__(), real=case.real, project=project)
        built.append((house, model, plot))
        return house

    yield make
    for house, model, plot in built:
        plot.free()
        house.end()
        model.__exit__(None, None, None)


@pytest.mark.parametrize(
    "case",
    CASES if os.environ.get("KEISEI_KILLS") == "all" else CASES[::4],
    ids=lambda case: f"the {case.victim} {case.when}",
)
def test_whoever_is_killed_nothing_is_left_and_nothing_is_lost(case, build):
    plot = Plot(hold=case.asked if case.turn is None else case.turn, amid=case.amid, linger=case.said)
    house = build(case, plot)
    task_id = house.add(max_attempts=3)
    if case.setup:
        (house.flags / "wait").touch()
    house.start(case.halt)
    come_to(case, house, plot)
    written, tree, victim = house.written(), house.tree(), find(case, house)
    names = {(each.pid, each.born) for each in tree}
    assert len(written) == case.so_far()

    kill(victim)
    plot.free()
    (house.flags / "wait").unlink(missing_ok=True)
    (house.flags / "go").touch()
    for each in [each for each in tree if b"serve" in each.argv and each.pid != victim]:
        resume(each.pid)
    assert house.runners[-1].wait(60) == (-signal.SIGKILL if case.victim == "runner" else 0), house.log()
    assert house.start().wait(60) == 0, house.log()

    attempts = house.store.attempts(task_id)
    assert house.task(task_id).status == "completed", (house.task(task_id).last_error, house.log())
    assert len(attempts) == case.attempts, house.log()
    assert written.items() <= house.kept(attempts[0]).items()
    assert house.kept(attempts[-1]) == {path: path for path in FILES}
    if written:
        decided = str([each["input"] for each in house.gate_log(attempts[0])])
        assert [path for path in written if path not in decided] == []
        assert {"bundle.json", "stdout.log", "relay.jsonl"} <= set(house.evidence_files(attempts[0]))
    assert last(lambda: house.left([mark_of(each) for each in attempts])) == []
    assert last(lambda: [each for each in everyone() if (each.pid, each.born) in names]) == []
    assert list(house.trouble()) == []


def come_to(case, house, plot):
    """Wait until everything stands still at the point of the case."""
    runner = house.runners[-1]

    def wait(holds):
        until(lambda: holds() or runner.poll() is not None)
        assert runner.poll() is None, house.log()

    if case.halt is not None:
        wait((house.flags / "halted").exists)
    elif case.setup:
        wait(lambda: list(house.shop.yard.worktrees.glob("a*/made/it")))
    elif case.amid is not None:
        wait(lambda: house.written().get(FILES[case.amid]))  # the shell makes the file before anything is in it
    elif case.said:
        wait(lambda: any(b'"type": "result"' in each.read_bytes() for each in house.home.run.glob("*/stdout.log")))
    else:
        wait(plot.reached.is_set)
    if case.asked is not None:
        os.kill(house.gate(), signal.SIGSTOP)
        plot.go_on()
        wait(house.asking)


def find(case, house):
    if case.victim == "runner":
        return house.runners[-1].pid
    found = {"gate": house.gate, "keeper": house.keeper, "harness": house.harness}[case.victim]()
    assert found is not None, [each.argv[:4] for each in house.tree()]
    return found


def resume(pid):
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return


def test_a_runner_that_is_killed_in_the_last_try_leaves_nothing_either(build):
    case, plot = Case("runner", "after the last write", turn=LAST), Plot(hold=LAST)
    house = build(case, plot)
    task_id = house.add(max_attempts=1)
    house.start()
    come_to(case, house, plot)

    kill(house.runners[-1].pid)
    assert house.start().wait(60) == 0, house.log()

    assert house.task(task_id).status == "blocked"
    assert house.kept(house.attempt(task_id)) == {path: path for path in FILES}
    assert last(lambda: house.left([mark_of(house.attempt(task_id))])) == []
    assert list(house.trouble()) == []
