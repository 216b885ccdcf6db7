"""Rehearsals: a harness is seen to heed the gate before it gets its first work.

It plays one conversation with a scripted model, with the settings, the client and the sandbox that attempts have: one
tool call must not happen and be told as refused, another must happen. Once for each digest of what it is made of and
each runner. No real model is asked.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.adapters.upstream import upstream_of
from keisei.records.error import WorldFault
from keisei.records.launch import Launch
from keisei.records.relay import Upstream
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.rules.policy import Patterns, Policy, Rule
from keisei.wiring.cell import Plan, open_cell
from keisei.wiring.execute import run_held
from keisei.wiring.shop import GATE_LOG
from keisei.wiring.site import ROOM, Site, remove_folder
from keisei.wiring.store import make_folder
from keisei.wiring.yard import Rehearsal, Yard

PATIENCE_S: Final = 90.0
REHEARSAL: Final = "rehearsal"
"""Below the attempt's own folder, so that it goes with it, whoever is killed."""
KILLED: Final = 128 + 9
"""How a sandbox ends whose program was killed."""
REFUSED, ALLOWED = "rehearsal-refused", "rehearsal-allowed"
SCRIPTS: Final = "functions.exec"
"""The one tool that Codex offers to newer models; all others are called from its scripts."""
OWN: Final = ("HOME", "TMPDIR", "KEISEI_ATTEMPT_ID")
"""Variables that a rehearsal sets itself."""
PROMPT: Final = b"Do what you are asked, one step after the other."


class Part(NamedTuple):
    """How a kind of harness is asked to run a command."""

    tool: str
    """The tool's name in its own protocol."""
    field: str
    seen_as: str
    """The tool's name as the gate is told it."""
    protocol: str
    path: str


PARTS: Final[Mapping[str, Part]] = {
    "claude-code": Part("Bash", "command", "Bash", "anthropic", ""),
    "codex": Part("exec_command", "cmd", "Bash", "openai", "/v1"),
    "hermes-agent": Part("terminal", "command", "terminal", "openai", "/v1"),
}


def rehearse(yard: Yard, plan: Plan) -> None:
    """Prove the harness of a plan, unless it is proved already. Raises WorldFault where it does not heed the gate.

    That may pass only where the harness or the gate was killed meanwhile.
    """
    part = PARTS.get(plan.adapter.kind)
    if yard.rehearsal is None or part is None:
        return
    digest = _digest(yard, plan)
    with yard.rehearsing:
        if digest in yard.proved:
            return
        folder = plan.site.folder / REHEARSAL
        try:
            _play(yard, plan, part, folder, yard.rehearsal)
        finally:
            remove_folder(folder)
        yard.proved.add(digest)


def _digest(yard: Yard, plan: Plan) -> str:
    """What a proof holds for: the program, its settings and variables, the confinement and the machine's layers."""
    config = plan.order.config
    found = shutil.which(getattr(config, "command", ""), path=plan.order.env.get("PATH"))
    real = Path(found).resolve() if found else None
    facts = real.stat() if real is not None else None
    program = None if facts is None else (str(real), facts.st_size, facts.st_mtime_ns, facts.st_ino)
    settings = sorted(plan.order.settings_files.items())
    parts = (
        program,
        msgspec.json.encode(config),
        settings,
        sorted(variables(plan).items()),
        plan.network,
        yard.machine,
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _play(yard: Yard, plan: Plan, part: Part, folder: Path, rehearsal: Rehearsal) -> None:
    room = folder / ROOM
    for each in (folder, room, room / "home", room / "tmp", room / "stage"):
        make_folder(each)
    refused, allowed = room / "stage" / REFUSED, room / "stage" / ALLOWED
    with rehearsal(_script(part)) as model:
        upstream = Upstream(url=f"{model.url}{part.path}", protocol=part.protocol)  # type: ignore[arg-type]
        with open_cell(yard, _plan(plan, part, folder, upstream)) as cell:
            if not isinstance(cell.launch, Launch):
                return
            done = run_held(replace(cell.launch, timeout_s=PATIENCE_S, silence_s=None), plan.hold)
            lives = cell.admitted is None or yard.gatehouse.is_alive(cell.admitted)
        asked = len(model.requests)
    told = _last_words(done.stderr or done.stdout)
    name = plan.order.config.adapter_id
    if refused.exists():
        raise WorldFault(f"adapter `{name}` does not heed the gate: a call that was refused has happened")
    if not allowed.exists():
        why = "it asked its model nothing" if not asked else "a call that is allowed did not happen"
        killed = not lives or done.code in (None, KILLED)
        message = f"adapter `{name}` could not be proved: {why} ({told or f'exit {done.code}'})"
        raise WorldFault(message, retryable=killed)
    if not _was_refused(folder / GATE_LOG):
        raise WorldFault(f"adapter `{name}` does not ask the gate before a call")


def _script(part: Part) -> Callable[[Any], Any]:
    """One call that the gate refuses, one that it allows, then the end; sub-requests get the end at once."""
    turns = [_call(part, REFUSED), _call(part, ALLOWED)]

    def turn(request: Any) -> Any:  # noqa: ANN401 - the scripted model's own types
        if turns and part.tool in request.tools:
            return turns.pop(0)
        if turns and SCRIPTS in request.tools:
            return _in_script(turns.pop(0))
        return "done"

    return turn


def _in_script(call: dict[str, Any]) -> dict[str, Any]:
    """The call out of a script, which is how Codex lets newer models call anything."""
    given = json.dumps(call["input"])
    source = f"try {{ text(await tools.{call['tool']}({given})) }} catch (error) {{ text(String(error)) }}"
    return {"tool": "exec", "namespace": "functions", "input": source}


def _call(part: Part, name: str) -> dict[str, Any]:
    """A name without a folder: the harness stands where it is to be made, and no path can be misspelt for a shell."""
    return {"tool": part.tool, "input": {part.field: f"touch {name}"}}


def variables(plan: Plan) -> dict[str, str]:
    """The variables of attempts, which may switch a hook off, without what is one attempt's alone or the relay's."""
    upstream = upstream_of(plan.order.config, plan.order.env)
    hidden = {*OWN, *(upstream.key_names if upstream is not None else ())}
    env = plan.order.env.items()
    return {name: value for name, value in env if name not in hidden and not name.startswith("AGENT_RUNTIME_")}


def _plan(plan: Plan, part: Part, folder: Path, upstream: Upstream) -> Plan:
    room = folder / ROOM
    env = variables(plan)
    env |= {"HOME": str(room / "home"), "TMPDIR": str(room / "tmp"), "KEISEI_ATTEMPT_ID": folder.name}
    stage = room / "stage"
    (room / "prompt.md").write_bytes(PROMPT)
    return plan._replace(
        attempt_id=folder.name,
        order=replace(plan.order, prompt=PROMPT, cwd=str(stage), env=env, run_folder=str(room.resolve())),
        site=Site(folder=folder, room=room, cwd=stage.resolve(), workspace=None, confined=True),
        spec=TaskSpec(task=SpecTask(role="rehearsal")),
        policy=_policy(part, stage),
        artifacts=stage,
        budget=None,
        upstream=upstream,
        atoms={},
    )


def _policy(part: Part, stage: Path) -> Policy:
    """One tool and one command."""
    return Policy(
        role="rehearsal",
        rules=(
            Rule(capability="role::tools", tools_allowed=(part.seen_as,)),
            Rule(capability="role::bash", patterns=(Patterns(mode="allow-only", items=(rf"\Atouch {ALLOWED}\Z",)),)),
        ),
        worktree=os.path.realpath(stage),
        scratch=(),
    )


def _was_refused(log: Path) -> bool:
    lines = log.read_bytes().splitlines() if log.is_file() else []
    told = [msgspec.json.decode(line) for line in lines]
    return any(each["decision"] == "deny" and REFUSED in str(each["input"]) for each in told)


def _last_words(data: bytes) -> str:
    return " ".join(data.decode("utf-8", "replace").split())[-300:]
