"""A project whose store has a clock that is moved by hand, for what begins by itself."""

import json
from contextlib import closing
from pathlib import Path

import apsw

from keisei.engine import schedule as schedules
from keisei.engine import sensor as sensors
from keisei.engine.control import canceled_outcome
from keisei.engine.office import Office
from keisei.records.id import TaskId
from keisei.records.move import EventQuery, PauseOrder, TaskMove, TaskQuery
from keisei.rules import task as moves
from keisei.settings import read_settings
from keisei.store import open_store
from keisei.testing.clock import VirtualClock
from keisei.wiring import catalog
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import CatalogRegistry, defaults_of
from keisei.wiring.sensor import Sensing
from keisei.wiring.store import project_home

SKILL = "---\nname: {name}\ndescription: Sees things.\n---\n\nIt sees things.\n"
TASK = {"task_type": "script", "payload": {"args": ["-c", "true"]}}


class Observatory:
    """A project in a folder, its store, and the orders people give."""

    def __init__(self, folder: Path, toml: str = "") -> None:
        self.folder = folder
        self.root = folder / "a project"
        self.root.mkdir(parents=True)
        (self.root / "keisei.toml").write_text(f'[project]\nname = "sky"\n\n{toml}')
        self.reopen(folder)

    def reopen(self, folder: Path) -> None:
        """The project that stands in a folder already, as another process finds it."""
        self.folder, self.root = folder, folder / "a project"
        self.settings = read_settings({"HOME": str(folder / "home"), "KEISEI_HOME": str(folder / "state")})
        self.home = project_home(self.settings, self.root)
        self.clock = VirtualClock()
        self.path = folder / "state.db"
        self.store = open_store(f"sqlite://{self.path}", clock=self.clock)
        self.lines = []
        self.notes = []

    def registry(self) -> CatalogRegistry:
        return CatalogRegistry(catalog(self.settings, start=self.root))

    @property
    def office(self):
        return Office(self.store, self.registry, defaults_of(self.home), new_id)

    # --- schedules

    def upsert(self, **data):
        given = {"name": "s", "interval_seconds": 60, "task": TASK} | data
        return schedules.upsert(self.office, given, "operator:test", self.notes.append)

    def tick(self, at=None):
        return schedules.tick(self.office, at=at)

    def schedule(self, name="s"):
        return self.store.schedule(name)

    def slots(self, name=None):
        """Oldest first, as words."""
        found = self.store.slots(None if name is None else self.schedule(name).schedule_id, 1000)
        return [(each.status, each.count) for each in reversed(found)]

    # --- sensors

    def observe(self, **data):
        given = {"sensor_id": "eye", "source_ref": "sky", "dedupe_key": "k", "payload": {}} | data
        return sensors.observe(self.office, given, "operator:test", self.notes.append)

    def skill(self, name: str, program: str, *, file: str = "sensor", mode: int = 0o755) -> Path:
        folder = self.root / ".keisei" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name=name))
        (folder / "skill.toml").write_text(f'sensor_path = "{file}"\n')
        path = folder / file
        path.write_text(program)
        path.chmod(mode)
        return path

    def sensing(self) -> Sensing:
        return Sensing(self.home, self.store, self.registry, defaults_of(self.home), self.lines.append)

    # --- what is there

    def tasks(self):
        """Oldest first."""
        return list(reversed(self.store.tasks(TaskQuery(limit=1000))))

    def finish(self, task_id: TaskId) -> None:
        """A task comes to its end."""
        task = self.store.task(task_id)
        after = moves.cancel(task, canceled_outcome("over"), "over", self.store.now())
        assert self.store.move(TaskMove(task=after, was=task.status))

    def events(self, kind: str):
        return [each.detail for each in self.store.events(EventQuery(event_type=kind, limit=1000))]

    def pause(self, *, paused: bool = True) -> None:
        self.store.pause(PauseOrder(scope="all", paused=paused, reason="r", actor="a"))

    def sql(self, text: str, *values: object):
        with closing(apsw.Connection(str(self.path))) as connection:
            return connection.execute(text, values).fetchall()

    def close(self) -> None:
        self.store.close()


def saying(*values: object) -> str:
    """A program that says these, one a line, whatever it is given."""
    return "#!/bin/sh\ncat >/dev/null\n" + "".join(f"cat <<'END'\n{json.dumps(each)}\nEND\n" for each in values)


def event(key: str, **more: object) -> dict:
    """An event as a sensor writes it."""
    return {"source_ref": "sky", "dedupe_key": key, "payload": {"key": key}} | more


def is_alive(pid: int) -> bool:
    """Whether a process runs; a corpse does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
