"""A project with a store and a real runner, in one process: what an operator has, without the terminal."""

import json
from pathlib import Path

from keisei.engine.intake import Origin, accept, read_intent
from keisei.records.id import TaskId
from keisei.records.move import EventQuery, TaskQuery
from keisei.rules.retry import Backoff
from keisei.settings import read_settings
from keisei.wiring.hall import project_shop, shop_runner
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Options, new_id
from keisei.wiring.shop import read_evidence
from keisei.wiring.store import open_home_store, project_home

ANSWERING = """
task_type = "answering"
description = "Whatever a test asks for; completes by an answer."
payload_schema_id = "schemas/any.json"
default_profile_id = "script"
default_adapter_id = "script"
"""


class House:
    """A project in a folder."""

    def __init__(self, folder: Path, *, url: str = "", runner: str = "", adapters: str = "") -> None:
        self.root = folder / "project"
        types = self.root / ".keisei" / "task-types"
        (types / "schemas").mkdir(parents=True)
        (types / "answering.toml").write_text(ANSWERING)
        (types / "schemas" / "any.json").write_text(json.dumps({"type": "object"}))
        (self.root / "keisei.toml").write_text(
            f'[project]\nname = "house"\n\n[runner]\nretry-first-s = 0.0\nretry-cap-s = 0.0\n{runner}\n{adapters}\n'
        )
        self.settings = read_settings(
            {
                "HOME": str(folder / "home"),
                "KEISEI_HOME": str(folder / "state"),
                "KEISEI_DATABASE_URL": url,
            }
        )
        self.home = project_home(self.settings, self.root)
        self.store = open_home_store(self.settings, self.home)
        self.shop = project_shop(self.settings, self.home, self.store)
        self.lines = []

    def add(self, intent: dict) -> TaskId:
        """Queue one task, through the door."""
        data = {"source": "test", "payload": {}} | intent
        task_id = TaskId(new_id())
        task = accept(
            read_intent(data),
            self.shop.registry(),
            defaults_of(self.home),
            origin=Origin(),
            task_id=task_id,
            now=self.store.now(),
        )
        return self.store.enqueue([task])[0].task_id

    def script(self, text: str, **intent: object) -> TaskId:
        """Queue a shell script that must answer."""
        return self.add({"task_type": "answering", "payload": {"args": ["-c", text]}, **intent})

    def runner(self, **options: object):
        """A runner that stops when there is nothing to do."""
        given = {"jobs": 2, "lease_s": 30.0, "until_idle": True, "backoff": Backoff(first_s=0, cap_s=0)} | options
        return shop_runner(self.shop, Options(**given), self.lines.append)

    def run(self, **options: object) -> int:
        """Run until idle."""
        return self.runner(**options).run()

    def task(self, task_id: TaskId):
        found = self.store.task(task_id)
        assert found is not None
        return found

    def tasks(self):
        return self.store.tasks(TaskQuery(limit=1000))

    def attempts(self, task_id: TaskId):
        return self.store.attempts(task_id)

    def events(self, task_id: TaskId) -> list[str]:
        return [each.event_type for each in self.store.events(EventQuery(task_id=task_id, limit=1000))]

    def evidence(self, attempt, name: str) -> bytes:
        return read_evidence(self.home, attempt, name, 0)

    def close(self) -> None:
        self.store.close()
