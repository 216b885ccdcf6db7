"""Around an agent that does nothing the runtime takes less than 300 ms: worktree, sandbox, gate, evidence, settlement.

A repository of 2,500 files and a harness that answers at once, a stand-in of three lines, so that what is left is ours.
`pooled` uses a worktree again, `fresh` has one made for each attempt and stands beside `git worktree add` and `remove`
done by hand in the same run. `script` is the same without a gate. At last twenty are run at once, and none may fail
that would not fail alone. The bars stand beside the numbers; a slow machine fails nothing here, a lost task does.
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
from pathlib import Path
from typing import Any, NamedTuple

from keisei.engine.intake import Origin, accept, read_intent
from keisei.records.id import TaskId
from keisei.settings import read_settings
from keisei.wiring.fresh import new_id
from keisei.wiring.hall import project_shop, shop_runner
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Options
from keisei.wiring.store import open_home_store, project_home

FILES = 2500
GOAL_MS = 300.0
AT_ONCE = 20
ANSWER = {"status": "completed", "machine_status": "ok", "operator_summary": "nothing to do"}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(ANSWER), "session_id": "s"}
STAND_IN = "#!/bin/sh\ncat >/dev/null\nprintf '%s\\n' '" + json.dumps(RESULT) + "'\n"
ROLE = """[role]
name = "idle"
description = "Does nothing, under everything."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist"]
[tools]
allowed = ["Read", "Bash"]
bash-patterns-allowed = ['^true$']
[isolation]
require = "full"
network = "none"
"""
PROFILE = """profile_id = "{name}"
style = "claude-like"
role = "idle"
default_adapter_id = "{name}"
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

[adapters.gated]
kind = "claude-code"
command = "{folder}/stand-in"
timeout_ms = 60000
[adapters.gated.env]
ANTHROPIC_BASE_URL = "http://127.0.0.1:9"
ANTHROPIC_API_KEY = "sk-bench"

[adapters.plain]
kind = "script"
command = "{folder}/answer"
timeout_ms = 60000
"""


class Measured(NamedTuple):
    """What one way of running took, in ms."""

    name: str
    median: float
    worst: float
    failed: int


class Yard:
    """A project with a repository in a folder."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        (self.root / ".keisei" / "roles").mkdir(parents=True)
        (self.root / ".keisei" / "profiles").mkdir()
        (self.root / ".keisei" / "roles" / "idle.toml").write_text(ROLE)
        for name in ("gated", "plain"):
            (self.root / ".keisei" / "profiles" / f"{name}.toml").write_text(PROFILE.format(name=name))
        for number in range(FILES):
            path = self.root / "src" / f"part{number // 50:02}" / f"file{number:04}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"line {number}\n" * 40)
        (self.root / "keisei.toml").write_text(PROJECT.format(folder=folder))
        _program(folder / "stand-in", STAND_IN)
        _program(folder / "answer", f"#!/bin/sh\nprintf '%s\\n' '{json.dumps(ANSWER)}'\n")
        _git(self.root, "init", "-q", "-b", "main")
        _git(self.root, "add", "-A")
        _git(self.root, "commit", "-q", "-m", "begin")
        (folder / "run").mkdir(mode=0o700)
        places = {"HOME": str(folder), "KEISEI_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(folder / "run")}
        self.settings = read_settings(places)
        self.home = project_home(self.settings, self.root)
        self.store = open_home_store(self.settings, self.home)
        self.shop = project_shop(self.settings, self.home, self.store)

    def add(self, profile: str) -> TaskId:
        """Queue one task."""
        spec = {"task": {"role": "idle"}, "scope": {"files-whitelist": ["src/**"]}, "body": {"text": "Nothing."}}
        intent = {"task_type": "agent-task", "source": "bench", "payload": spec, "requested_profile_id": profile}
        intent["max_attempts"] = 1
        task = accept(
            read_intent(intent),
            self.shop.registry(),
            defaults_of(self.home),
            origin=Origin(),
            task_id=TaskId(new_id()),
            now=self.store.now(),
        )
        return self.store.enqueue([task])[0].task_id

    def run(self, profile: str, count: int, *, jobs: int = 1) -> Measured:
        """Run so many tasks; how long each attempt took from its claim to its settlement."""
        ids = [self.add(profile) for _ in range(count)]
        shop_runner(self.shop, Options(jobs=jobs, until_idle=True), lambda _line: None).run()
        attempts = [self.store.attempts(each)[-1] for each in ids]
        spent = [(each.ended_at - each.started_at).total_seconds() * 1000 for each in attempts if each.ended_at]
        tasks = [task for each in ids if (task := self.store.task(each)) and task.status != "completed"]
        for task in tasks[:3]:
            print(f"  {task.task_id} {task.status}: {task.last_error}", file=sys.stderr)
        return Measured(profile, statistics.median(spent), max(spent), len(tasks))

    def forget_worktrees(self) -> None:
        """Have the next attempt make its worktree anew."""
        for slot in (self.home.folder / "worktrees").glob("a[0-9][0-9][0-9]"):
            _git(self.root, "worktree", "remove", "--force", str(slot))

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _git(folder: Path, *words: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
    }
    who = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    subprocess.run(["git", "-C", str(folder), *who, *words], env=env, check=True, capture_output=True)  # noqa: S607 - any git


def by_hand(root: Path, rounds: int) -> float:
    """`git worktree add` and `remove`, in ms."""
    spent = []
    for number in range(rounds):
        path = root.parent / f"hand{number}"
        began = time.perf_counter()
        _git(root, "worktree", "add", "--detach", str(path))
        _git(root, "worktree", "remove", "--force", str(path))
        spent.append((time.perf_counter() - began) * 1000)
    return statistics.median(spent)


def main() -> int:
    """Measure and print a table and a JSON line. 1 where a task was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    rounds = 5 if parser.parse_args().quick else 20
    folder = Path(tempfile.mkdtemp(prefix="keisei-run-"))
    try:
        yard = Yard(folder)
        yard.run("gated", 2)  # the gate's client is compiled, the machine is probed, the pool is filled
        pooled, script = yard.run("gated", rounds), yard.run("plain", rounds)
        fresh_ms = []
        for _ in range(min(rounds, 5)):
            yard.forget_worktrees()
            fresh_ms.append(yard.run("gated", 1).median)
        hand = by_hand(yard.root, min(rounds, 5))
        crowd = yard.run("gated", AT_ONCE, jobs=AT_ONCE)
        yard.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    fresh = statistics.median(fresh_ms)
    return report(pooled, script, fresh, hand, crowd)


def report(pooled: Measured, script: Measured, fresh: float, hand: float, crowd: Measured) -> int:
    """The table and the JSON line."""
    print(f"{'what':<28}{'median ms':>12}{'worst ms':>12}  goal")
    print(f"{'pooled worktree, gated':<28}{pooled.median:>12.0f}{pooled.worst:>12.0f}  < {GOAL_MS:.0f}")
    print(f"{'pooled worktree, script':<28}{script.median:>12.0f}{script.worst:>12.0f}  < {GOAL_MS:.0f}")
    print(f"{'fresh worktree, gated':<28}{fresh:>12.0f}{'':>12}  {fresh / hand:.2f} of git by hand")
    print(f"{'git add and remove by hand':<28}{hand:>12.0f}")
    print(f"{f'{AT_ONCE} at once, gated':<28}{crowd.median:>12.0f}{crowd.worst:>12.0f}  {crowd.failed} failed")
    told: dict[str, Any] = {
        "bench": "run",
        "files": FILES,
        "pooled_ms": round(pooled.median, 1),
        "script_ms": round(script.median, 1),
        "fresh_ms": round(fresh, 1),
        "git_by_hand_ms": round(hand, 1),
        "fresh_ratio": round(fresh / hand, 3),
        "at_once": AT_ONCE,
        "at_once_ms": round(crowd.median, 1),
        "failed": pooled.failed + script.failed + crowd.failed,
    }
    print(json.dumps(told))
    return 1 if told["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
