"""The storm: real runners on a real store, killed again and again with SIGKILL, and what is true afterwards.

    python -m tests.system.storm --store sqlite --kills 1000 --seed 1

Runners are processes of `keisei runner`; their work is a script that writes its start and its end into a file outside
the database (see keisei.testing.history) and leaves a child in a session of its own. The nemesis kills runners,
keepers, scripts and their children, chosen by a seeded generator, and starts new runners. Then it stops, everything has
time to recover, and the checker reads the history and the tables. Ends with 1 where anything is wrong.
"""

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from keisei.engine.ports import Store
from keisei.records.id import TaskId
from keisei.records.move import NewTask
from keisei.records.task import TaskRecord
from keisei.store import open_store
from keisei.testing.checker import Complaint, check
from keisei.testing.history import Line, read_tables
from keisei.testing.postgres import server
from keisei.wiring.runner import new_id

ROOT = Path(__file__).resolve().parents[2]
LEASE_S = 3.0
BACKLOG = 12
"""Tasks that wait at any time while the storm lasts."""
PACE_S = 0.25
"""Seconds between two kills, on the average: a runner needs about one to begin to work."""
RUNNERS = 0.3
"""The part of the kills that is meant for runners; the others hit any process of the storm."""
PATIENCE_S = 300.0
TRIES = 1000
"""A killed attempt counts; nobody should run out of tries here."""

WORK = """
say() {
    read -r up rest </proc/uptime
    printf '%s %s %s %s %s\\n' "$1" "$AGENT_RUNTIME_TASK_ID" "$AGENT_RUNTIME_ATTEMPT_ID" $$ "$up" >>"$HISTORY"
}
say S
setsid sleep 600 >/dev/null 2>&1 &
sleep "$1"
say E
echo '{"status": "completed", "operator_summary": "done"}'
"""
TYPE = """task_type = "storm"
payload_schema_id = "schemas/any.json"
default_profile_id = "script"
default_adapter_id = "storm"

[success_policy]
"""


class Figures(NamedTuple):
    """What a storm came to."""

    store: str
    seed: int
    kills: int
    runner_kills: int
    tasks: int
    starts: int
    attempts: int
    resumed: int
    orphans: int
    complaints: tuple[Complaint, ...]
    recovery_s: float
    seconds: float

    @property
    def is_clean(self) -> bool:
        """Whether nothing at all is wrong."""
        return not self.complaints and self.orphans == 0


class Weather(NamedTuple):
    """What a storm is made of."""

    kills: int
    seed: int
    runners: int = 3
    jobs: int = 2


class Field:
    """A project with a store, and the runners in it."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.url = folder, url
        self.history = folder / "history"
        self.history.touch()
        self.word = f"storm-{new_id()}"
        self.runners: list[subprocess.Popen[bytes]] = []
        self._write_project()
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "KEISEI_HOME": str(folder / "state"),
            "XDG_RUNTIME_DIR": str(folder / "r"),
            "PYTHONPATH": str(ROOT / "src"),
            "KEISEI_DATABASE_URL": url if url.startswith("postgresql") else "",
            "STORM": self.word,
        }
        (folder / "r").mkdir(mode=0o700)

    def _write_project(self) -> None:
        types = self.folder / "project" / ".keisei" / "task-types"
        (types / "schemas").mkdir(parents=True)
        (types / "storm.toml").write_text(TYPE)
        (types / "schemas" / "any.json").write_text('{"type": "object"}')
        work = self.folder / "work.sh"
        work.write_text(WORK)
        table = f'HISTORY = "{self.history}", STORM = "{self.word}"'
        (self.folder / "project" / "keisei.toml").write_text(
            f'[project]\nname = "storm"\n\n[runner]\nlease-s = {LEASE_S}\nretry-first-s = 0.0\nretry-cap-s = 0.0\n\n'
            f'[adapters.storm]\nkind = "script"\ncommand = "sh"\ntimeout_ms = 600000\n'
            f'extra_args = ["{work}"]\nenv = {{ {table} }}\n'
        )

    def start_runner(self, jobs: int) -> None:
        """One more runner."""
        with (self.folder / "runner.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "keisei", "runner", "--jobs", str(jobs)],
                cwd=self.folder / "project",
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.runners.append(process)

    def bury(self) -> None:
        """Forget runners that are dead."""
        self.runners = [each for each in self.runners if each.poll() is None]

    def processes(self) -> Iterator[int]:
        """Every process of the storm, runners and what they started, whoever its parent is."""
        needle = f"STORM={self.word}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if needle in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)

    def write(self, kind: str, task: str) -> None:
        """A line of the history, of ours."""
        line = Line(kind, task, "-", os.getpid(), time.clock_gettime(time.CLOCK_BOOTTIME)).render()
        with self.history.open("a") as file:
            file.write(f"{line}\n")


def storm(folder: Path, url: str, weather: Weather) -> Figures:
    """Let it rage, let it recover, and tell what is true."""
    began = time.monotonic()
    chance = random.Random(weather.seed)
    field = Field(folder, url)
    store = open_store(url, bell_folder=folder / "b")
    queued = 0
    for _ in range(weather.runners):
        field.start_runner(weather.jobs)
    kills = runner_kills = 0
    while kills < weather.kills:
        queued += _feed(field, store, chance)
        time.sleep(chance.expovariate(1 / PACE_S))
        own = [each.pid for each in field.runners]
        others = sorted(set(field.processes()) - set(own))
        target = chance.choice(own if chance.random() < RUNNERS or not others else others)
        if _kill(target):
            kills += 1
            runner_kills += target in own
        field.bury()
        while len(field.runners) < weather.runners:
            field.start_runner(weather.jobs)
    calm = time.monotonic()
    _recover(store)
    recovery = time.monotonic() - calm
    for each in field.runners:
        each.send_signal(signal.SIGTERM)
    for each in field.runners:
        each.wait(60)
    orphans = _orphans(field)
    found = tuple(check(history_of(field.history), read_tables(store)))
    starts = sum(1 for line in history_of(field.history) if line.kind == "S")
    resumed = (folder / "runner.log").read_text(errors="replace").count("resumed ")
    attempts = sum(1 for task in read_tables(store).attempts)
    store.close()
    return Figures(
        url.partition(":")[0],
        weather.seed,
        kills,
        runner_kills,
        queued,
        starts,
        attempts,
        resumed,
        orphans,
        found,
        recovery,
        time.monotonic() - began,
    )


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _feed(field: Field, store: Store, chance: random.Random) -> int:
    """Keep some work waiting. How many tasks were queued."""
    missing = BACKLOG - store.claimable()
    for _ in range(missing):
        task_id = TaskId(new_id())
        field.write("Q", task_id)
        store.enqueue([NewTask(task=new_task(task_id, store, chance))])
        field.write("A", task_id)
    if missing > 0:
        store.ring()
    return max(0, missing)


def new_task(task_id: TaskId, store: Store, chance: random.Random) -> TaskRecord:
    """A task whose work takes a part of a second."""
    now = store.now()
    return TaskRecord(
        task_id=task_id,
        task_type="storm",
        source="storm",
        subject=None,
        description=None,
        priority=chance.randint(0, 9),
        payload={"args": [f"{chance.uniform(0.0, 0.4):.3f}"]},
        requested_profile_id="script",
        requested_adapter_id="storm",
        requested_model=None,
        status="pending",
        max_attempts=TRIES,
        attempt_count=0,
        available_at=now,
        created_at=now,
        updated_at=now,
        started_at=None,
        finished_at=None,
        outcome=None,
        last_error=None,
    )


def _recover(store: Store) -> None:
    """Wait until nothing is under way; the checker says what is left after that."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        counts = store.counts()
        if not (counts["pending"] or counts["running"] or counts["retryable_failure"]):
            return
        time.sleep(0.2)


def _orphans(field: Field) -> int:
    """Processes that nobody ended."""
    deadline = time.monotonic() + 2 * LEASE_S
    left = list(field.processes())
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = list(field.processes())
    for pid in left:
        _kill(pid)
    return len(left)


def history_of(history: Path) -> list[Line]:
    """What the file says so far."""
    return [Line.parse(line) for line in history.read_text().splitlines()]


@contextlib.contextmanager
def place(kind: str) -> Iterator[tuple[Path, str]]:
    """A short folder and a fresh database of that kind."""
    with tempfile.TemporaryDirectory(prefix="storm-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        if kind == "sqlite":
            (folder / "state" / "storm").mkdir(parents=True)
            yield folder, f"sqlite://{folder / 'state' / 'storm' / 'state.db'}"
        else:
            with (
                tempfile.TemporaryDirectory(prefix="storm-pg-", ignore_cleanup_errors=True) as data,
                server(Path(data), fsync=True) as postgres,
            ):
                yield folder, postgres.database()


def main() -> int:
    """From the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runners", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    with place(asked.store) as (folder, url):
        figures = storm(folder, url, Weather(asked.kills, asked.seed, asked.runners, asked.jobs))
        if not figures.is_clean:
            kept = Path(tempfile.mkdtemp(prefix="storm-kept-"))
            shutil.copytree(folder, kept, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.sock"))
            sys.stderr.write(f"everything it left is in {kept}\n")
    told = figures._asdict() | {"complaints": [str(each) for each in figures.complaints[:20]]}
    sys.stdout.write(json.dumps(told, indent=2) + "\n")
    return 0 if figures.is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
