"""A project whose agent is a shell script: what `keisei run` and `keisei agent run` are tried with."""

import json
import subprocess

from keisei.records.decision import GateDecision
from tests.cli.shop import PROJECT, Shop

ADAPTER = """
[adapters.fake]
kind = "script"
command = "sh"
extra_args = ["{}"]
timeout_ms = 60000
"""
DONE = {"status": "completed", "machine_status": "ok", "operator_summary": "did it"}
NEVER = "sleep 600 & wait"
"""An agent that would work for ever."""


class Workplace(Shop):
    """The project `shop` with the adapter `fake`; its role `program` confines nothing."""

    def __init__(self, shell):
        super().__init__(shell)
        self.program = shell.folder / "agent.sh"
        (self.folder / "keisei.toml").write_text(PROJECT + ADAPTER.format(self.program))

    def agent(self, text="", **answer):
        """What the agent does, and what it answers then."""
        self.program.write_text(f"{text}\necho '{json.dumps(DONE | answer)}'\n")

    def mark(self, name):
        """A file by which a test and its agent speak to each other; outside of the project, where changes count."""
        return self.shell.folder / name

    def words(self, *more, instruction="Do it."):
        return ("run", instruction, "--role", "program", "--adapter", "fake", *more)

    def events(self, *more):
        """Everything a run tells as data, and its exit code."""
        done = self.run(*self.words(*more, "--json"))
        assert done.err == ""
        return [json.loads(line) for line in done.out.splitlines()], done.code

    def only_task(self):
        """The one task there is."""
        (task,) = self.json("task", "list")
        return task


def decision(tool, call, *, denied=None, tool_use_id="t1"):
    """A line of gate.jsonl."""
    return GateDecision(
        attempt_id="a",
        tool_use_id=tool_use_id,
        tool=tool,
        input=call,
        input_digest="0" * 64,
        decision="allow" if denied is None else "deny",
        cause="rule",
        capability=None if denied is None else denied[0],
        reason=None if denied is None else denied[1],
        latency_ms=1.0,
        policy_digest="0" * 64,
        decided_at="2026-01-01T00:00:00Z",
        previous_hash=None,
        hash="0" * 64,
    )


ROLE = """\
[role]
name = "confined"
description = "A program that is held."
spawnable = true

[capabilities]
required = ["scope::files-whitelist"]

[tools]
allowed = []
bash-patterns-allowed = []

[isolation]
require = "full"
network = "none"
"""
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.hooksPath=/dev/null")


class Held(Workplace):
    """The same in a repository, with a role that has its agent work in a worktree, as well confined as can be here."""

    def __init__(self, shell):
        super().__init__(shell)
        self.program = self.folder / "agent.sh"
        (self.folder / "keisei.toml").write_text(PROJECT + ADAPTER.format("agent.sh"))
        (self.folder / ".keisei/roles").mkdir(parents=True)
        (self.folder / ".keisei/roles/confined.toml").write_text(ROLE)
        (self.folder / "src").mkdir()
        (self.folder / "src/old.txt").write_text("one\ntwo\n")

    def agent(self, text="", **answer):
        """The agent stands in the repository: a worktree is all it sees."""
        super().agent(text, **answer)
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")

    def git(self, *words):
        done = subprocess.run([*GIT, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout

    def words(self, *more, instruction="Do it."):
        chosen = ("--role", "confined", "--adapter", "fake", "--write", "src/**", "--accept-weaker")
        return ("run", instruction, *chosen, *more)
