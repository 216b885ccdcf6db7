"""A deployment of the original: its runtime.json, its profiles, an agent that does as it is told, and its verbs."""

import json
import sys

from tests.cli.shop import Shop

OK = {"status": "completed", "machine_status": "ok", "operator_summary": "done"}
PROFILE = {
    "profile_id": "lumen",
    "style": "claude-like",
    "role": "Subscription-backed implementation / migration agent",
    "system_prompt_parts": ["Prefer small changes."],
    "skills": ["repo-editing", "code-review"],
    "default_adapter": "shell",
    "tool_policy": {"allow_repo_changes": True},
    "context_policy": {"include_recent_task_memory": True, "max_prompt_chars": 9000},
    "result_schema": {"primary_output": "x", "allow_follow_up_tasks": True, "allow_external_messages": False},
    "integration_policies": {"aibtc": "none"},
}
RUNTIME = {
    "runtimeName": "lumen-1",
    "runtimePolicy": "Be brief.",
    "stateDir": "./state",
    "logDir": "./state/logs",
    "artifactDir": "./state/artifacts",
    "dbPath": "./state/runtime.db",
    "lockPath": "./state/dispatch.lock",
    "defaultProfile": "lumen",
    "defaultAdapter": "shell",
    "maxAttempts": 2,
    "retryBackoffSeconds": 60,
    "profiles": {"lumen": "./profiles/lumen.json"},
    "adapters": {"shell": {"mode": "script", "command": "sh", "timeoutMs": 20000, "retry_hint_service": "aibtc"}},
}
SHELL = {"mode": "script", "timeoutMs": 20000}
AGENT = """import hashlib, json, os, pathlib
payload = json.loads(os.environ["AGENT_RUNTIME_TASK_PAYLOAD_JSON"])
folder = pathlib.Path(os.environ["AGENT_RUNTIME_ARTIFACT_DIR"])
home = pathlib.Path(__file__).parent
phase = payload.get("phase")
own = {"plan": "proposal_artifact", "execute": "implementation_artifact", "verify": "verification_artifact"}
keys = ["output_path", "checklist_path", *([own[phase]] if phase in own else own.values())]
named = [payload[key] for key in keys if key in payload] + payload.get("required_artifacts", [])
wrote = dict.fromkeys(each.removeprefix("state/artifacts/") for each in named if isinstance(each, str))
told = dict(json.loads((home / "answer.json").read_text()))
for name in wrote if told.pop("writes", True) else ():
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    raw = b"# Of " + os.environ["AGENT_RUNTIME_TASK_ID"].encode() + b"\\r\\n\\xff\\x00 no newline"
    (folder / name).write_bytes(raw)
    with (home / "written.jsonl").open("a") as log:
        line = {"path": str(folder / name), "sha256": hashlib.sha256(raw).hexdigest(), "phase": phase}
        log.write(json.dumps(line) + "\\n")
with (home / "asked.jsonl").open("a") as log:
    log.write(json.dumps(payload) + "\\n")
wanted = payload.get("response_contract", {}).get("required_workflow_signal")
if phase == "verify" and wanted:
    signals = json.loads((home / "signals.json").read_text())
    wanted = signals.pop(0) if signals else "complete"
    (home / "signals.json").write_text(json.dumps(signals))
if told.pop("talks", False):
    print("I have written everything that was asked for. It is all done and verified!")
else:
    print(json.dumps({"status": "completed", "machine_status": "ok", "operator_summary": "did " + str(phase),
                       "artifact_paths": list(wrote), **({"workflow_signal": wanted} if wanted else {}), **told}))
"""


class Runtime(Shop):
    """A deployment of the original."""

    def __init__(self, shell):
        super().__init__(shell)
        self.home = self.folder / "deploy"
        (self.home / "profiles").mkdir(parents=True)
        self.write("profiles/lumen.json", PROFILE)
        self.write("runtime.json", RUNTIME)

    @property
    def artifacts(self):
        return self.home / "state/artifacts"

    def write(self, name, data):
        (self.home / name).write_text(json.dumps(data))
        return self.home / name

    def configure(self, **more):
        self.write("runtime.json", RUNTIME | more)

    def agent(self, *signals, **answer):
        """An agent that writes what a payload asks for; verifiers answer with these signals, then `complete`."""
        program = self.home / "agent.py"
        program.write_text(AGENT)
        self.instruct(*signals, **answer)
        self.configure(
            adapters={"shell": {**SHELL, "command": sys.executable, "extraArgs": ["-I", str(program)]}},
            retryBackoffSeconds=1,
        )

    def instruct(self, *signals, **answer):
        """Tell the agent what to answer from now on."""
        self.write("signals.json", list(signals))
        self.write("answer.json", answer)

    def lines(self, name):
        """What the agent has noted."""
        path = self.home / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def verb(self, verb, *words):
        """A verb, whatever becomes of it."""
        return self.run("compat", verb, "--config", self.home / "runtime.json", *words)

    def call(self, verb, *words):
        """A verb that does as it is told: what it prints, and what it says beside."""
        done = self.verb(verb, *words)
        assert done.code == 0, done
        return json.loads(done.out), done.err

    def told(self, verb, *words):
        """What a verb prints that has nothing to complain of."""
        out, err = self.call(verb, *words)
        assert err == ""
        return out

    def work_off(self, most=60):
        """Run once and again until there is nothing to do; what was run."""
        ran = []
        while (done := self.call("run-once")[0])["status"] != "idle":
            ran.append(done)
            assert len(ran) < most, ran[-3:]
        return ran

    def intake(self, **task):
        return self.told("intake", "--json", json.dumps({"kind": "readiness", "source": "s", "payload": {}} | task))

    def script(self, text, kind="readiness", payload=None, **task):
        """Queue a script, run it, and say what run-once says."""
        payload = {"args": ["-c", text]} | (payload or {})
        told = self.intake(kind=kind, payload=payload, **{"max_attempts": 1} | task)
        ran, err = self.call("run-once")
        assert ran.get("task_id", told["task_id"]) == told["task_id"]
        return ran, err

    def ours(self, *words):
        """One of our own commands, on the same rows."""
        self.shell.setenv("KEISEI_DATABASE_URL", f"sqlite://{self.home}/state/keisei/state.db")
        try:
            return self.json(*words)
        finally:
            self.shell._monkeypatch.delenv("KEISEI_DATABASE_URL")

    def tasks(self, *words):
        """Tasks as they are stored, newest first."""
        return self.ours("task", "list", "--limit", 1000, *words)

    def stored(self):
        """The newest task as it is stored."""
        return self.tasks()[0]


def answer(**more):
    return f"echo '{json.dumps(OK | more)}'"
