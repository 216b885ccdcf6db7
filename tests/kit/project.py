"""A project for tests of primitives that ask keisei itself: their functions called one by one, on a real store."""

import os
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from sys import path as import_path
from unittest.mock import patch

from keisei.engine.intake import Origin, accept, read_intent
from keisei.records.id import AttemptId, TaskId
from keisei.records.move import Claimed, ClaimOrder
from keisei.settings import read_settings
from keisei.testing.clock import VirtualClock
from keisei.testing.queue import ending, new_runner
from keisei.wiring.agency import open_agency
from keisei.wiring.fresh import new_id
from tests.kit.desk import PRIMITIVES, Context, output_of, spec_of

for _package in ("kei-agent", "kei-runtime", "kei-migrate"):
    import_path.append(str(PRIMITIVES / _package / "src"))


class Told(Context):
    """What a verb is given: one invocation with a minute left."""

    def __init__(self, atom, invocation_id):
        super().__init__(None, atom, invocation_id)

    def remaining_s(self):
        return 60.0


class Project:
    """A folder with a keisei.toml, its store, and every verb in it."""

    def __init__(self, folder, text=""):
        self.root, self.state = folder / "a project", folder / "state"
        self.root.mkdir()
        (self.root / "keisei.toml").write_text(f'[project]\nname = "house"\n\n{text}')
        self.env = {"PATH": os.environ["PATH"], "HOME": str(folder), "KEISEI_HOME": str(self.state)}
        self.calls = 0

    def call(self, atom, attempt=None, invocation_id=None, /, **given):
        """What the verb returns, as its schema says; of a stream all items."""
        self.calls += 1
        package, _, verb = atom.replace("-", "_").partition("::")
        with self.inside(attempt):
            made = import_module(f"{package}.atoms.{verb}").run(given, Told(atom, invocation_id or f"i{self.calls}"))
            found = list(made) if spec_of(atom).manifest.kind == "stream" else [made]
        for each in found:
            output_of(atom).validate(each)
        return found if spec_of(atom).manifest.kind == "stream" else found[0]

    @contextmanager
    def inside(self, attempt=None):
        """This process as a worker finds itself: in the project's folder, perhaps for an attempt."""
        before = Path.cwd()
        env = self.env | ({"KEISEI_ATTEMPT_ID": attempt} if attempt else {})
        with patch.dict(os.environ, env, clear=True):
            os.chdir(self.root)
            try:
                yield
            finally:
                os.chdir(before)

    @contextmanager
    def agency(self, attempt=None):
        settings = read_settings(self.env | ({"KEISEI_ATTEMPT_ID": attempt} if attempt else {}))
        with open_agency(settings, self.root) as found:
            yield found

    def running(self, **intent):
        """A task in the hands of a runner: its id, and its attempt's."""
        with self.agency() as agency:
            wish = read_intent({"task_type": "script", "source": "test", "payload": {"args": ["-c", "true"]}} | intent)
            task_id = TaskId(new_id())
            registry, now = agency.office.registry(), agency.store.now()
            new = accept(wish, registry, agency.office.defaults, origin=Origin(), task_id=task_id, now=now)
            agency.store.enqueue([new])
        return task_id, self.claim(task_id)

    def claim(self, task_id):
        """Begin an attempt of a task that waits."""
        with self.agency() as agency:
            runner = new_runner(new_id(), VirtualClock(agency.store.now()), 3600)
            agency.store.register(runner)
            order = ClaimOrder(runner_id=runner.runner_id, attempt_ids=(AttemptId(new_id()),), only=(task_id,))
            return agency.store.claim(order)[0].attempt.attempt_id

    def settle(self, task_id, attempt_id, status="completed", **more):
        """End the attempt and its task."""
        with self.agency() as agency:
            claimed = Claimed(task=agency.store.task(task_id), attempt=agency.store.attempt(attempt_id))
            assert agency.store.settle(ending(claimed, status, agency.store.now(), **more)) == "settled"

    def task(self, task_id):
        with self.agency() as agency:
            return agency.store.task(task_id)
