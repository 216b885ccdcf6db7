"""A project with a repository and real harnesses whose model is a script on loopback: an operator's house, offline."""

import atexit
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from keisei.cli.rehearsal import rehearsal
from keisei.engine.intake import Origin, accept, read_intent
from keisei.gate.build import client_argv
from keisei.records.id import TaskId
from keisei.rules.retry import Backoff
from keisei.settings import read_settings
from keisei.testing.model import ScriptedModel
from keisei.wiring.hall import project_shop, shop_runner
from keisei.wiring.registry import defaults_of
from keisei.wiring.runner import Options, new_id
from keisei.wiring.shop import evidence_files, read_evidence
from keisei.wiring.store import open_home_store, project_home
from tests.system.harness import program

KEY = "sk-canary-7d1f0c9b2e"
"""The key of the model's server; it must be found nowhere but there."""
PROGRAMS = {"claude-code": "claude", "codex": "codex", "hermes-agent": "hermes"}
ADDRESSES = {
    "claude-code": ("ANTHROPIC_BASE_URL", ""),
    "codex": ("OPENAI_BASE_URL", "/v1"),
    "hermes-agent": ("OPENAI_BASE_URL", "/v1"),
}
KEYS = {"claude-code": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "hermes-agent": "OPENAI_API_KEY"}
STYLES = {"claude-code": "claude-like", "codex": "codex-like", "hermes-agent": "hermes-like"}
ROLE = """
[role]
name = "worker"
description = "Edits src, runs a few commands, may delegate and take notes."
[capabilities]
required = ["policy::no-git-ops", "scope::files-whitelist", "scope::files-denylist"]
[tools]
allowed = [
  "Read", "Write", "Edit", "Bash", "Agent", "Task", "mcp__notes__append",
  "terminal", "write_file", "read_file", "delegate_task", "spawn_agent", "multi_agent_v1wait_agent",
]
bash-patterns-allowed = ['^(touch|ls|echo|cat|printf|sh|python3|env|sleep|cp|tee|mkdir)( |$)']
[isolation]
require = "full"
network = "none"
"""
PROFILE = """
profile_id = "worker"
style = "{style}"
role = "worker"
default_adapter_id = "agent"
fallback_adapter_ids = []
prompt_parts = ["You work."]
skill_ids = []
[context_policy]
max_prompt_chars = 200000
include_recent_memory = false
[result_policy]
allow_follow_up_tasks = false
allow_external_messages = false
"""
DONE = {"status": "completed", "machine_status": "ok", "operator_summary": "done"}
"""An answer that claims to be done."""


def answer(*files: str, **more: Any) -> str:
    """What an agent says at its end: the files it has written, claimed one by one."""
    claims = [{"path": path, "action": "created"} for path in files]
    return json.dumps({**DONE, "file_changes": claims, **more})


def git(folder: Path, *words: str) -> str:
    """Git with no configuration but its own."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    who = ("-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(folder), *who, *words], env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@cache
def client() -> Path:
    """The folder of the gate's client as an operator's second project finds it, compiled once a session."""
    folder = Path(tempfile.mkdtemp(prefix="keisei-client-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    client_argv(folder)
    return folder


class Agency:
    """A project in a folder, with one adapter `agent` of a kind."""

    def __init__(
        self,
        folder: Path,
        model: ScriptedModel,
        kind: str = "claude-code",
        *,
        adapter: str = "",
        project: str = "",
        files: dict[str, str] | None = None,
        accept_weaker: bool = False,
        rehearsed: bool = False,
        beside: bool = False,
        command: str | None = None,
    ) -> None:
        """`command` is another program in place of the real harness."""
        self.folder, self.kind, self.model, self.command = folder, kind, model, command
        self.root = folder / "project"
        (self.root / ".keisei" / "roles").mkdir(parents=True)
        (self.root / ".keisei" / "profiles").mkdir()
        (self.root / ".keisei" / "roles" / "worker.toml").write_text(ROLE)
        (self.root / ".keisei" / "profiles" / "worker.toml").write_text(
            PROFILE.format(style=STYLES.get(kind, "claude-like"))
        )
        (self.root / "src").mkdir()
        for path, text in {
            "src/old.txt": "old\n",
            "README.md": "readme\n",
            ".gitignore": "__pycache__/\n",
            **(files or {}),
        }.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        keys = (self.root if beside else folder) / "keys.env"
        if kind in KEYS:
            keys.write_text(f"{KEYS[kind]}={KEY}\n")
            keys.chmod(0o600)
        (self.root / "keisei.toml").write_text(
            '[project]\nname = "agency"\n\n[runner]\nretry-first-s = 0.0\nretry-cap-s = 0.0\nlease-s = 5.0\n'
            f"{project}\n\n{self._adapter(keys, adapter)}\n"
        )
        git(self.root, "init", "-q")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "begin")
        self.settings = read_settings(
            {"HOME": str(folder / "home"), "KEISEI_HOME": str(folder / "state"), "XDG_RUNTIME_DIR": str(self._short())}
        )
        self.home = project_home(self.settings, self.root)
        self.store = open_home_store(self.settings, self.home)
        shutil.copytree(client(), self.settings.state_home / "client", dirs_exist_ok=True)
        self.shop = project_shop(
            self.settings,
            self.home,
            self.store,
            accept_weaker=accept_weaker,
            rehearsal=rehearsal if rehearsed else None,
        )
        self.lines = []
        self.runner = None
        """The last one; whoever wants to stop it finds it here."""

    def _short(self) -> Path:
        short = self.folder / "run"
        short.mkdir(mode=0o700)
        return short

    def _adapter(self, keys: Path, more: str) -> str:
        if self.kind not in PROGRAMS:
            return f'[adapters.agent]\nkind = "{self.kind}"\n{more}'
        name, path = ADDRESSES[self.kind]
        return (
            f'[adapters.agent]\nkind = "{self.kind}"\ncommand = {json.dumps(self._program())}\n'
            f"timeout_ms = 90000\nenv_file = {json.dumps(str(keys))}\n{more}\n"
            f'[adapters.agent.env]\n{name} = "{self.model.url}{path}"\n'
        )

    def _program(self) -> str:
        return self.command or program(PROGRAMS[self.kind])

    def add(self, text: str = "Work.", *, write: tuple[str, ...] = ("src/**",), **intent: Any) -> TaskId:
        """Queue one task file, through the door."""
        payload = {"task": {"role": "worker"}, "scope": {"files-whitelist": list(write)}, "body": {"text": text}}
        data = {
            "task_type": "agent-task",
            "source": "test",
            "payload": payload,
            "requested_profile_id": "worker",
            "max_attempts": 1,
            **({"requested_model": "scripted"} if self.kind == "codex" else {}),
            **intent,
        }
        task = accept(
            read_intent(data),
            self.shop.registry(),
            defaults_of(self.home),
            origin=Origin(),
            task_id=TaskId(new_id()),
            now=self.store.now(),
        )
        return self.store.enqueue([task])[0].task_id

    def run(self, **options: Any) -> int:
        """Run until idle."""
        given = {"jobs": 2, "lease_s": 30.0, "until_idle": True, "backoff": Backoff(first_s=0, cap_s=0)} | options
        self.runner = shop_runner(self.shop, Options(**given), self.lines.append)
        return self.runner.run()

    def task(self, task_id: TaskId):
        found = self.store.task(task_id)
        assert found is not None
        return found

    def attempt(self, task_id: TaskId):
        """The last attempt."""
        return self.store.attempts(task_id)[-1]

    def evidence(self, attempt, name: str) -> bytes:
        return read_evidence(self.home, attempt, name, 0)

    def evidence_files(self, attempt) -> list[str]:
        return evidence_files(self.home, attempt)

    def decisions(self, attempt) -> list[dict[str, Any]]:
        """What the gate said to the agent's calls."""
        lines = [json.loads(line) for line in self.evidence(attempt, "gate.jsonl").splitlines()]
        return [line for line in lines if not line["tool_use_id"].startswith(("canary-", "post:"))]

    def candidate(self, attempt, path: str) -> str:
        """A file of the attempt's candidate."""
        return git(self.root, "show", f"refs/keisei/candidate/{attempt.attempt_id}:{path}")

    def refs(self) -> list[str]:
        """Where work is kept; checkpoints of the ledger are none."""
        found = git(self.root, "for-each-ref", "--format=%(refname)", "refs/keisei").split()
        return [ref for ref in found if ref != "refs/keisei/checkpoints"]

    def close(self) -> None:
        self.store.close()
