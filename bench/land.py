"""Verification costs less than 250 ms beside its checks, and 50 candidates with a check of 1 s land in 75 s.

A repository of 2,500 files. `verify` asks a predicate that does nothing of the merged tree, in a checkout that is used
again, confined; beside it the same by hand: `git checkout --force --detach`, `git clean -fdx` and the command, without
a merge, a sandbox or a finding. `land` has candidates that do not touch each other land one after another, each
verified on the tip it lands on; beside it the checks alone. The bars stand beside the numbers; a slow machine fails
nothing here, a landing that is lost does.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from keisei.engine.intake import Origin, accept, read_intent
from keisei.engine.land import approve
from keisei.records.id import TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import LandingQuery
from keisei.settings import read_settings
from keisei.wiring.examination import examine
from keisei.wiring.fresh import new_id
from keisei.wiring.hall import project_shop, shop_runner
from keisei.wiring.landing import FOREVER_S, hold_of, land_queued
from keisei.wiring.landing_proof import Desk, inquest_of
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Options
from keisei.wiring.store import open_home_store, project_home

GIT = shutil.which("git") or "git"
FILES = 2500
VERIFY_MS = 250.0
LAND_S = 75.0
ROLE = """[role]
name = "lander"
description = "Writes one file."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "quality::check-green"]
[tools]
allowed = []
[isolation]
require = "full"
network = "none"
"""
PROFILE = """profile_id = "lander"
style = "claude-like"
role = "lander"
default_adapter_id = "plain"
fallback_adapter_ids = []
prompt_parts = []
skill_ids = []
[context_policy]
max_prompt_chars = 200000
include_recent_memory = false
[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""
PROJECT = """[project]
name = "bench"

[commands]
check = "{check}"

[adapters.plain]
kind = "script"
command = "{folder}/agent"
timeout_ms = 60000
"""
ANSWER = '{"status": "completed", "operator_summary": "done", "file_changes": ["src/new/%s.txt"]}'
AGENT = f"""#!/bin/sh
mkdir -p src/new
echo new > src/new/$AGENT_RUNTIME_TASK_ID.txt
printf '{ANSWER}\\n' $AGENT_RUNTIME_TASK_ID
"""


class Yard:
    """A project with a repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root = folder, folder / "project"
        for name in ("roles", "profiles"):
            (self.root / ".keisei" / name).mkdir(parents=True)
        (self.root / ".keisei/roles/lander.toml").write_text(ROLE)
        (self.root / ".keisei/profiles/lander.toml").write_text(PROFILE)
        for number in range(FILES):
            path = self.root / "src" / f"part{number // 50:02}" / f"file{number:04}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {number}\n" * 40)
        (folder / "agent").write_text(AGENT)
        (folder / "agent").chmod(0o755)
        (folder / "run").mkdir(mode=0o700)
        self.check("true")
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "begin")
        self.open()

    def check(self, command: str) -> None:
        """Have this be the project's check."""
        (self.root / "keisei.toml").write_text(PROJECT.format(folder=self.folder, check=command))

    def open(self) -> None:
        """Read the project anew."""
        folder = self.folder
        places = {"HOME": str(folder), "KEISEI_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder / "run")}
        self.settings = read_settings(places)
        self.home = project_home(self.settings, self.root)
        self.store = open_home_store(self.settings, self.home)
        self.shop = project_shop(self.settings, self.home, self.store)

    def candidates(self, count: int) -> None:
        """So many verified candidates that wait for a person."""
        spec = {"task": {"role": "lander"}, "scope": {"files-whitelist": ["src/**"]}, "body": {"text": "One file."}}
        intent = {"task_type": "agent-task", "source": "bench", "payload": spec, "requested_profile_id": "lander"}
        for _ in range(count):
            task = accept(
                read_intent({**intent, "max_attempts": 1}),
                self.shop.registry(),
                defaults_of(self.home),
                origin=Origin(),
                task_id=TaskId(new_id()),
                now=self.store.now(),
            )
            self.store.enqueue([task])
        shop_runner(self.shop, Options(jobs=2, until_idle=True), lambda _line: None).run()

    def desk(self) -> Desk:
        """Who lands."""
        return Desk(self.shop, hold_of("bench", lambda: FOREVER_S), "bench", lambda _line: None)

    def landings(self, *statuses: LandingStatus) -> list[LandingRecord]:
        """Those of a status."""
        return self.store.landings(LandingQuery(statuses=statuses, limit=500))


def git(folder: Path, *words: str) -> str:
    """Git with no configuration but its own."""
    who = ("-c", "user.name=b", "-c", "user.email=b@localhost")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        [GIT, "-C", str(folder), *who, *words], env=env, check=True, capture_output=True, text=True
    ).stdout


def timed(work: Callable[[], object], rounds: int) -> list[float]:
    """How long each round took, in ms."""
    spent = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def verifying(yard: Yard, rounds: int) -> tuple[float, float]:
    """Median ms of a verification, and of the same by hand."""
    inquest = inquest_of(yard.desk(), yard.landings("held")[0])
    examine(inquest)
    ours = statistics.median(timed(lambda: examine(inquest), rounds))
    place = yard.folder / "by-hand"
    git(yard.root, "worktree", "add", "-q", "--detach", str(place))

    def by_hand() -> None:
        git(place, "checkout", "-q", "--force", "--detach", "main")
        git(place, "clean", "-fdxq")
        subprocess.run(["/bin/sh", "-c", "true"], cwd=place, check=True)

    theirs = statistics.median(timed(by_hand, rounds))
    git(yard.root, "worktree", "remove", "--force", str(place))
    return ours, theirs


def main() -> int:
    """Measure, and print a table and a JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--candidates", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="keisei-bench-", ignore_cleanup_errors=True) as folder:
        yard = Yard(Path(folder).resolve())
        yard.candidates(options.candidates)
        ready = yard.landings("held")
        ours, theirs = verifying(yard, options.rounds)
        yard.check("sleep 1")
        git(yard.root, "commit", "-q", "-a", "-m", "a slower check")
        yard.open()
        for each in ready:
            approve(yard.store, each.landing_id, "", "bench")
        began = time.perf_counter()
        land_queued(yard.desk())
        spent = time.perf_counter() - began
        landed = len(yard.landings("landed"))
        checks = time.perf_counter()
        for _ in range(3):
            subprocess.run(["/bin/sh", "-c", "sleep 1"], check=True)
        floor = (time.perf_counter() - checks) / 3 * options.candidates
    print(f"{'':10} {'ours':>10} {'floor':>10} {'ratio':>7} {'goal':>8}")
    print(f"{'verify':10} {ours:>7.0f} ms {theirs:>7.0f} ms {ours / theirs:>7.2f} {VERIFY_MS:>5.0f} ms")
    print(f"{'land':10} {spent:>8.1f} s {floor:>8.1f} s {spent / floor:>7.2f} {LAND_S:>6.0f} s")
    print(f"{landed} of {options.candidates} landed")
    told = {
        "bench": "land",
        "verify_ms": round(ours, 1),
        "by_hand_ms": round(theirs, 1),
        "candidates": options.candidates,
        "landed": landed,
        "land_s": round(spent, 2),
        "checks_s": round(floor, 2),
    }
    print(json.dumps(told))
    return 0 if landed == options.candidates == len(ready) else 1


if __name__ == "__main__":
    sys.exit(main())
