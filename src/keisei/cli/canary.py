"""`keisei hooks canary`: a harness, as it is installed, against a scripted model on loopback. No real model is asked.

The harness gets the settings of an attempt, a fresh home and a dummy key, and two calls to make: one that the gate must
refuse and one that it must allow. What counts is what is in the folder afterwards.
"""

import json
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from keisei.adapters import hook_claude, hook_codex
from keisei.records.error import OperatorError
from keisei.records.launch import Exit, Launch
from keisei.records.task_spec import SpecScope, SpecTask, TaskSpec
from keisei.sandbox.process import run
from keisei.settings import Settings
from keisei.testing.model import ScriptedModel
from keisei.wiring import catalog
from keisei.wiring.policy import Setting, spec_policy
from keisei.wiring.start import Order, start, stop_started

LIMIT_S = 90.0
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"


class Sung(NamedTuple):
    """What came of it."""

    harness: str
    program: str
    refused: bool
    """The forbidden call left nothing behind, and the model was told why."""
    allowed: bool
    """The allowed call did its work."""
    detail: str
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the gate fires in this harness."""
        return self.refused and self.allowed


def fire(harness: str, program: str, settings: Settings) -> Sung:
    """Fire the canary through one harness. Raises OperatorError, WorldFault where it cannot even begin."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="keisei-canary-") as folder:
        nest = _Nest(Path(folder), harness, program)
        policy = spec_policy(catalog(settings, start=nest.work), nest.spec, Setting(nest.work, None, nest.home))
        started = start(settings, Order(policy=policy, harness=harness, attempt_id="canary"))
        try:
            with ScriptedModel(nest.turns()) as model:
                done = run(nest.launch(model, started.hook), keeper=True)
        finally:
            stop_started(started)
        told = "\n".join(model.results)
        refused = not (nest.work / "refused").exists() and "policy::no-git-ops" in told
        allowed = (nest.work / "src" / "allowed").exists()
    return Sung(harness, program, refused, allowed, _detail(done, told), time.monotonic() - began)


def _detail(done: Exit, told: str) -> str:
    if done.timed_out:
        return f"the harness did not end within {LIMIT_S:.0f} s"
    last = (done.stderr.decode("utf-8", "replace").strip() or told).split("\n")[-1]
    return f"exit {done.code}; {last[:160]}" if done.code else last[:160]


class _Nest:
    """A worktree, a home and the files a harness wants."""

    def __init__(self, root: Path, harness: str, program: str) -> None:
        self.harness = harness
        self.program = program
        self.work, self.home = root / "work", root / "home"
        (self.work / "src").mkdir(parents=True)
        (self.home / "tmp").mkdir(parents=True)
        scope = SpecScope(files_whitelist=("src/**",))
        self.spec = TaskSpec(task=SpecTask(role="edit-local"), scope=scope)

    def turns(self) -> list[dict[str, Any] | str]:
        forbidden, allowed = "git init refused", "mkdir -p src/allowed"
        if self.harness == "codex":
            return [{"tool": "exec_command", "input": {"cmd": each}} for each in (forbidden, allowed)] + ["done"]
        return [{"tool": "Bash", "input": {"command": each}} for each in (forbidden, allowed)] + ["done"]

    def launch(self, model: ScriptedModel, hook: tuple[str, ...]) -> Launch:
        argv, own = (self._codex if self.harness == "codex" else self._claude)(model, hook)
        base = {"PATH": PROGRAMS, "HOME": str(self.home), "TMPDIR": str(self.home / "tmp"), "LANG": "C.UTF-8"}
        return Launch(argv=argv, cwd=str(self.work), env={**base, **own}, stdin=b"go", timeout_s=LIMIT_S)

    def _claude(self, model: ScriptedModel, hook: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
        argv = (
            *(self.program, "-p", "--output-format", "stream-json", "--verbose", "--max-turns", "10"),
            *hook_claude.attempt_flags(),
            *("--settings", json.dumps(hook_claude.attempt_settings(hook))),
        )
        return argv, {
            "ANTHROPIC_BASE_URL": model.url,
            "ANTHROPIC_API_KEY": "sk-dummy",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def _codex(self, model: ScriptedModel, hook: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
        home = self.home / "codex"
        home.mkdir()
        hooks, config = hook_codex.attempt_config(hook, home, self.work)
        (home / "hooks.json").write_text(json.dumps(hooks))
        provider = f'{{name="scripted",base_url="{model.url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}}'
        (home / "config.toml").write_text(config)
        argv = (
            *(self.program, "exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"),
            *hook_codex.attempt_flags(),
            *("--disable", "unbounded_connection_retries", "-c", f'model="{model.name}"'),
            *("-c", 'model_provider="scripted"', "-c", f"model_providers.scripted={provider}", "-"),
        )
        return argv, {"CODEX_HOME": str(home), "SCRIPTED_KEY": "sk-dummy"}


def found(harness: str, named: Path | None) -> str:
    """The harness's program. Raises OperatorError where there is none."""
    import shutil

    program = shutil.which(str(named) if named is not None else harness)
    if program is None:
        what = f"`{named}` is not a program" if named is not None else f"`{harness}` is not on PATH"
        raise OperatorError(what, "name it with --program")
    return str(Path(program).absolute())
