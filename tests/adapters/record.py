"""Records the golden transcripts anew: real harnesses, a scripted model on loopback, nothing of this machine in them.

    .venv/bin/python -m tests.adapters.record                       every case whose program is there
    .venv/bin/python -m tests.adapters.record codex/tool-use ...    those cases

The harnesses are the ones of `make setup-test`. The report that a transcript is expected to be read as is written only
where there is none: look at it before it is committed. `--accept` writes it again.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import structs

from keisei.adapters import adapter_of
from keisei.adapters.codex import RELAY
from keisei.adapters.port import MODEL_KEY, Order, Place
from keisei.records.adapter import HarnessAutonomy
from keisei.records.launch import Call, Exit, Launch
from keisei.sandbox.http import call
from keisei.sandbox.process import run
from keisei.testing.model import Fault, ScriptedModel
from tests.adapters.making import CONFIGS, NOW, an_exit
from tests.adapters.normal import Normal
from tests.system.harness import PATH, program

GOLDEN = Path(__file__).with_name("golden")
ALLOW = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}})
DENY = json.dumps({"decision": "block", "reason": "not here"})
PASSING = ("/bin/sh", "-c", f"cat >/dev/null; printf %s '{ALLOW}'")
SILENT = ("/bin/sh", "-c", "cat >/dev/null")
REFUSING = ("/bin/sh", "-c", f"cat >/dev/null; printf %s '{DENY}'; echo not here >&2; exit 2")


class Case(NamedTuple):
    """One run that is worth keeping."""

    turns: Any = ()
    """What the model says."""
    config: Mapping[str, Any] = {}
    """Other values of the adapter's table."""
    env: Mapping[str, str] = {}
    """Other variables."""
    hook: tuple[str, ...] | None = None
    """The gate's client, where it is not the one that lets everything pass."""
    reached: bool = True
    """Whether the model's server is there."""
    before: Any = None
    """The turns of a session that this one goes on with."""
    model: str = "scripted"
    """Codex has other tools for models that it knows."""


def bash(command):
    return {"tool": "Bash", "input": {"command": command}}


def execute(command):
    return {"tool": "exec_command", "input": {"cmd": command}}


def terminal(command):
    return {"tool": "terminal", "input": {"command": command}}


def script(source):
    return {"tool": "exec", "namespace": "functions", "input": source}


def claude_sub_agent(request):
    if request.results:
        return "finished"
    if "SUB-TASK" in request.prompt:
        return bash("touch made")
    return {"tool": "Agent", "input": {"description": "part", "prompt": "SUB-TASK", "subagent_type": "general-purpose"}}


def codex_sub_agent(request):
    if "SUB-TASK" in request.prompt:
        return "finished" if request.results else execute("touch made") | {"id": "call_touch"}
    group = {"namespace": "multi_agent_v1"}
    if not request.results:
        return group | {"tool": "spawn_agent", "input": {"message": "SUB-TASK"}, "id": "call_spawn"}
    if len(request.results) == 1:
        agent = json.loads(request.results[0])["agent_id"]
        return group | {"tool": "wait_agent", "input": {"targets": [agent]}, "id": "call_wait"}
    return "finished"


def hermes_sub_agent(request):
    if request.results:
        return "finished"
    if "SUB-TASK" in request.prompt:
        return terminal("touch made") | {"id": "call_touch"}
    return {"tool": "delegate_task", "input": {"goal": "SUB-TASK"}, "id": "call_spawn"}


PATCH = "*** Begin Patch\n*** Add File: made\n+x\n*** End Patch"
IN_COMMAND = "apply_patch <<'EOF'\n" + PATCH.replace("made", "more") + "\nEOF"
IN_SCRIPT = f"""
text(await tools.exec_command({{cmd: "touch first"}}));
text(await tools.apply_patch({json.dumps(PATCH)}));
text(await tools.exec_command({{cmd: {json.dumps(IN_COMMAND)}}}));
"""
LIMIT = "Rate limit reached. Please try again in 20s."
ONCE = {"CLAUDE_CODE_MAX_RETRIES": "1"}
SCHEMA = '{"type":"object","properties":{"status":{"type":"string"}},"required":["status"]}'
HURRIED = {"timeout_ms": 4000}
TRUSTED = {"autonomy": HarnessAutonomy(profile="trusted-vm"), "sandbox": None}
OLLAMA_TURN = '{"status": "completed"}'
CASES: dict[str, dict[str, Case]] = {
    "claude-code": {
        "success": Case(["All done."]),
        "tool-use": Case([bash("touch made"), "finished"]),
        "denied": Case([bash("touch made"), "It was refused."], hook=REFUSING),
        "sub-agent": Case(claude_sub_agent),
        "turned-away": Case(
            [{"tool": "Nothing", "input": {}}, {"tool": "Bash", "input": {"command": 5}}, "It was not there."]
        ),
        "relative": Case([{"tool": "Write", "input": {"file_path": "made", "content": "x"}}, "finished"]),
        "resumed": Case(["second"], before=[bash("true"), "first"]),
        "structured": Case(
            [{"tool": "StructuredOutput", "input": {"status": "completed"}}, "done"],
            config={"extra_args": ("--json-schema", SCHEMA)},
        ),
        "api-400": Case([Fault(400)] * 9),
        "api-401": Case([Fault(401)] * 9, env=ONCE),
        "api-429": Case([Fault(429, LIMIT)] * 9, env=ONCE),
        "api-500": Case([Fault(500)] * 9, env=ONCE),
        "api-529": Case([Fault(529)] * 9, env=ONCE),
        "unreachable": Case(reached=False, env=ONCE),
        "max-turns": Case([bash("true")] * 9, config={"extra_args": ("--max-turns", "2")}),
        "interrupted": Case([bash("kill -INT $PPID; sleep 30")]),
        "killed": Case([["I begin.", bash("kill -9 $PPID; sleep 30")]]),
        "timeout": Case([["I begin.", bash("sleep 300")]], config=HURRIED),
        "unknown-flag": Case(config={"extra_args": ("--no-such-flag",)}),
    },
    "codex": {
        "success": Case(["All done."]),
        "tool-use": Case([execute("touch made"), "finished"]),
        "blocked": Case([execute("touch made"), "It was refused."], hook=REFUSING),
        "sub-agent": Case(codex_sub_agent),
        "patch": Case([{"tool": "apply_patch", "input": PATCH}, "finished"], model="gpt-5.5"),
        "script": Case([script(IN_SCRIPT), "finished"], model="gpt-6-sol"),
        "turned-away": Case(
            [{"tool": "nothing", "input": {}}, {"tool": "exec_command", "input": {"wrong": 1}}, "It was not there."]
        ),
        "resumed": Case(["second"], before=[execute("true"), "first"]),
        "api-400": Case([Fault(400)] * 9),
        "api-401": Case([Fault(401)] * 9),
        "api-429": Case([Fault(429, LIMIT)] * 9),
        "api-500": Case([Fault(500)] * 9),
        "api-529": Case([Fault(529)] * 9),
        "unreachable": Case(reached=False),
        "killed": Case([["I begin.", execute("kill -9 $PPID; sleep 30")]], config=TRUSTED),
        "timeout": Case([["I begin.", execute("sleep 300")]], config=HURRIED),
    },
    "hermes-agent": {
        "success": Case(["All done."]),
        "tool-use": Case([terminal("touch made"), "finished"]),
        "blocked": Case([terminal("touch made"), "It was refused."], hook=REFUSING),
        "sub-agent": Case(hermes_sub_agent),
        "turned-away": Case(
            [{"tool": "nothing", "input": {}}, {"tool": "terminal", "input": "no object"}, "It was not there."]
        ),
        "api-400": Case([Fault(400)] * 9),
        "api-401": Case([Fault(401)] * 9),
        "api-429": Case([Fault(429, LIMIT)] * 9),
        "api-500": Case([Fault(500)] * 9),
        "no-answer": Case([""] * 9),
        "timeout": Case([terminal("sleep 300")], config={"timeout_ms": 9000}),
    },
    "ollama-generate": {
        "success": Case([OLLAMA_TURN]),
        "api-400": Case([Fault(400)]),
        "api-401": Case([Fault(401)]),
        "api-404": Case([Fault(404, "model 'llama' not found")]),
        "api-429": Case([Fault(429, LIMIT)]),
        "api-500": Case([Fault(500)]),
        "unreachable": Case(reached=False),
    },
    "script": {
        "object": Case(config={"extra_args": ("-c", 'echo \'{"status": "completed"}\'')}),
        "prose": Case(config={"extra_args": ("-c", "echo Everything failed.")}),
        "silent": Case(config={"extra_args": ("-c", "true")}),
        "exit-3": Case(config={"extra_args": ("-c", "echo half done; echo retry-after: 300 >&2; exit 3")}),
        "signal": Case(config={"extra_args": ("-c", "kill -9 $$")}),
        "timeout": Case(config={"extra_args": ("-c", "echo begun; sleep 300"), "timeout_ms": 1000}),
    },
}


def programs() -> dict[str, str]:
    """Where each harness is."""
    return {
        "claude-code": program("claude"),
        "codex": program("codex"),
        "hermes-agent": program("hermes"),
        "ollama-generate": "",
        "script": "/bin/sh",
    }


class Recorded(NamedTuple):
    """What a run left."""

    ended: Exit
    files: dict[str, bytes]


def record(kind: str, case: Case, command: str, folder: Path) -> Recorded:
    """Runs a case in an empty folder; nothing of this machine is in what comes back."""
    ended, files = ran(kind, case, command, folder)
    normal = Normal(folder, ended.started_at)
    clean = {"stdout": normal.data(ended.stdout), "stderr": normal.data(ended.stderr)}
    ended = structs.replace(ended, **clean, started_at=NOW, duration_s=1.0)
    return Recorded(ended, {normal.text(path): normal.data(data) for path, data in files.items()})


def ran(kind: str, case: Case, command: str, folder: Path) -> Recorded:
    """Runs a case in an empty folder; what comes back is as the harness left it."""
    for name in ("work", "home", "home/tmp", "run"):
        (folder / name).mkdir()
    session = None
    if case.before is not None:
        first = _once(kind, case._replace(turns=case.before), command, folder, None)
        session = adapter_of(kind).read(*first).session_ref
    return _once(kind, case, command, folder, session)


def _once(kind: str, case: Case, command: str, folder: Path, session: str | None) -> Recorded:
    with ExitStack() as stack:
        url = stack.enter_context(ScriptedModel(case.turns)).url if case.reached else "http://127.0.0.1:9"
        order = order_of(kind, case, command, folder, url)
        adapter = adapter_of(kind)
        lay_out(order, adapter.home)
        launch = adapter.plan(structs.replace(order, resume=session))
        ended = call(launch) if isinstance(launch, Call) else run(hurried(launch) if kind == "codex" else launch)
    run_folder = Path(order.run_folder)
    found = [path for pattern in adapter.leaves for path in run_folder.glob(pattern)]
    return Recorded(ended, {path.relative_to(run_folder).as_posix(): path.read_bytes() for path in found})


def order_of(kind: str, case: Case, command: str, folder: Path, url: str) -> Order:
    """The order of a case: a stranger's environment, a fresh HOME, a dummy key."""
    config: dict[str, Any] = {"endpoint": url} if kind == "ollama-generate" else {"command": command}
    if kind == "codex":
        config |= {"sandbox": "workspace-write"}
    model = case.model if kind in {"codex", "hermes-agent"} else None
    place = Place(room=str(folder / "run"), worktree=str(folder / "work"), model=model, model_address=url)
    hook = case.hook or (PASSING if kind == "claude-code" else SILENT)
    home = folder / "home"
    env = {"PATH": PATH, "HOME": str(home), "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8", **case.env}
    env |= KEYS.get(kind, {}) | ({"ANTHROPIC_BASE_URL": url} if kind == "claude-code" else {})
    return Order(
        config=structs.replace(CONFIGS[kind], **config | dict(case.config)),
        model=model,
        prompt=b"go",
        cwd=str(folder / "work"),
        env=env,
        run_folder=str(folder / "run"),
        guard=adapter_of(kind).guard(hook, place),
        model_address=url,
    )


KEYS = {
    "claude-code": {"ANTHROPIC_API_KEY": "sk-dummy"},
    "codex": {MODEL_KEY: "sk-dummy"},
    "hermes-agent": {"OPENAI_API_KEY": "sk-dummy"},
}


def hurried(launch: Launch) -> Launch:
    """Codex with less patience, so that an error is told soon."""
    few = ",request_max_retries=1,stream_max_retries=1}"
    provider = f"model_providers.{RELAY}="
    argv = (f"{word[:-1]}{few}" if word.startswith(provider) else word for word in launch.argv)
    return structs.replace(launch, argv=tuple(argv))


def lay_out(order: Order, home: str | None) -> None:
    """What whoever runs a launch writes before it."""
    run_folder = Path(order.run_folder)
    (run_folder / "prompt.md").write_bytes(order.prompt)
    if home is not None and order.guard is not None:
        for name, text in order.guard.files.items():
            (run_folder / home / name).parent.mkdir(parents=True, exist_ok=True)
            (run_folder / home / name).write_text(text)


def write(folder: Path, recorded: Recorded) -> None:
    """Writes a transcript where the tests find it."""
    ended = recorded.ended
    shutil.rmtree(folder / "files", ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in (("stdout", ended.stdout), ("stderr", ended.stderr)):
        (folder / name).unlink(missing_ok=True)
        if data:
            (folder / name).write_bytes(data)
    told = {key: value for key, value in msgspec.to_builtins(ended).items() if key in KEPT and value}
    (folder / "exit.json").write_text(json.dumps(told, indent=2) + "\n")
    for path, data in recorded.files.items():
        (folder / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / path).write_bytes(data)


KEPT = ("code", "signal", "timed_out", "http_status", "fault")


def transcript_of(folder: Path) -> Recorded:
    """A transcript as it was recorded."""
    told = json.loads((folder / "exit.json").read_text())
    told.setdefault("code", None if {"signal", "fault"} & told.keys() else 0)
    stdout, stderr = (path.read_bytes() if path.exists() else b"" for path in (folder / "stdout", folder / "stderr"))
    ended = an_exit(stdout, stderr, duration_s=1.0, **told)
    files = [path for path in (folder / "files").rglob("*") if path.is_file()]
    return Recorded(ended, {path.relative_to(folder / "files").as_posix(): path.read_bytes() for path in files})


def main(arguments: Sequence[str]) -> None:
    """Records what is asked for."""
    accept = "--accept" in arguments
    wanted = [each for each in arguments if each != "--accept"]
    for kind, cases in CASES.items():
        for name, case in cases.items():
            command = programs()[kind]
            folder = GOLDEN / kind / name
            if wanted and kind not in wanted and f"{kind}/{name}" not in wanted:
                continue
            with tempfile.TemporaryDirectory(prefix="record-") as place:
                write(folder, record(kind, case, command, Path(place)))
            report = msgspec.json.encode(adapter_of(kind).read(*transcript_of(folder)))
            if accept or not (folder / "report.json").exists():
                (folder / "report.json").write_bytes(msgspec.json.format(report, indent=2) + b"\n")
            sys.stdout.write(f"{kind}/{name}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
