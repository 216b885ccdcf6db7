"""The real harnesses, run against a scripted model as a stranger's machine would run them.

Nothing of the developer's own shows: the environment is written out here, HOME is fresh, the key is a dummy and the
model is on loopback. Whatever a run leaves behind is killed when it ends, however it ends.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keisei.testing.model import ScriptedModel

ROOT = Path(__file__).parents[2]
PATH = "/usr/local/bin:/usr/bin:/bin"


class Run(NamedTuple):
    """What a harness left."""

    rc: int
    lines: list[dict[str, Any]]
    """Its standard output, one JSON object a line."""
    stderr: str
    home: Path
    """The run's HOME, still there."""

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The lines of one type: `result`, `assistant`, `item.completed`, ..."""
        return [line for line in self.lines if line.get("type") == kind]


def program(name: str) -> str:
    """The path of a harness that `make setup-test` installs."""
    path = ROOT / ".tools" / "harness" / "bin" / name
    assert path.exists(), f"{path} is missing: run make setup-test"
    return str(path)


def run_claude(  # noqa: PLR0917 - in the order of a command line
    model: ScriptedModel,
    prompt: str,
    cwd: Path,
    settings: Mapping[str, Any],
    flags: Sequence[str] = (),
    timeout: float = 60.0,
    *,
    env: Mapping[str, str] | None = None,
) -> Run:
    """Runs Claude Code to its end with `settings` as its only settings.

    `flags` come last, so they override (`--permission-mode`) and add (`--mcp-config`). HOME is made beside `cwd`.
    """
    home = fresh_home(cwd)
    argv = [program("claude"), "-p", "--output-format", "stream-json", "--verbose", "--include-hook-events"]
    argv += ["--permission-mode", "dontAsk", "--setting-sources", "", "--strict-mcp-config", "--max-turns", "50"]
    argv += ["--settings", json.dumps(settings), *flags]
    environment = {
        **plain_environment(home),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-dummy",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        **(env or {}),
    }
    return run(argv, prompt, cwd, environment, timeout)


def run_codex(  # noqa: PLR0917 - as above
    model: ScriptedModel,
    prompt: str,
    cwd: Path,
    codex_home: Path,
    files: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
    timeout: float = 60.0,
    *,
    env: Mapping[str, str] | None = None,
) -> Run:
    """Runs Codex to its end with `files` (`config.toml`, `hooks.json`, ...) in `codex_home`.

    The model is named on the command line, so `config.toml` is the caller's alone. `flags` come last; Codex's own
    sandbox is off unless they say `-s workspace-write`. `cwd` need not be a git repository.
    """
    for name, text in (files or {}).items():
        path = codex_home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    codex_home.mkdir(parents=True, exist_ok=True)
    home = fresh_home(cwd)
    provider = f'{{name="scripted",base_url="{model.url}/v1",wire_api="responses",env_key="SCRIPTED_KEY"}}'
    argv = [program("codex"), "exec", "--json", "--skip-git-repo-check", "--enable", "hooks"]
    argv += ["--disable", "unified_exec_tty", "--disable", "unbounded_connection_retries"]
    for setting in (f'model="{model.name}"', 'model_provider="scripted"', f"model_providers.scripted={provider}"):
        argv += ["-c", setting]
    if not {"-s", "--sandbox", "--dangerously-bypass-approvals-and-sandbox"} & set(flags):
        argv += ["-s", "danger-full-access"]
    argv += [*flags, "-"]
    environment = {
        **plain_environment(home),
        "CODEX_HOME": str(codex_home),
        "SCRIPTED_KEY": "sk-dummy",
        **(env or {}),
    }
    return run(argv, prompt, cwd, environment, timeout)


def claude_hook(command: str, timeout: int = 10) -> dict[str, Any]:
    """Settings with one hook before every tool call. One wrong field, and Claude ignores all of it without a word."""
    return {"disableAllHooks": False, "hooks": before_every_call(command, timeout)}


def codex_hook(codex_home: Path, command: str, timeout: int = 10, config: str = "") -> dict[str, str]:
    """Files of a CODEX_HOME with one trusted hook before every tool call; `config` goes into config.toml first."""
    hook = {"async": False, "command": command, "timeout": timeout, "type": "command"}
    group = {"event_name": "pre_tool_use", "hooks": [hook], "matcher": "*"}
    text = json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    key = json.dumps(f"{codex_home}/hooks.json:pre_tool_use:0:0", ensure_ascii=False)
    state = f'[hooks.state.{key}]\ntrusted_hash = "sha256:{digest}"\n'
    return {
        "hooks.json": json.dumps({"hooks": before_every_call(command, timeout)}),
        "config.toml": f"{config}\n{state}",
    }


def before_every_call(command: str, timeout: int) -> dict[str, Any]:
    """The `hooks` table that Claude and Codex both read."""
    hook = {"type": "command", "command": command, "timeout": timeout}
    return {"PreToolUse": [{"matcher": "*", "hooks": [hook]}]}


def fresh_home(cwd: Path) -> Path:
    """A new HOME beside the folder a harness works in."""
    home = Path(tempfile.mkdtemp(prefix="home-", dir=cwd.resolve().parent))
    (home / "tmp").mkdir()
    return home


def plain_environment(home: Path) -> dict[str, str]:
    """What every harness starts with. TMPDIR is inside HOME: Codex cannot work when CODEX_HOME is below TMPDIR."""
    return {"PATH": PATH, "HOME": str(home), "TMPDIR": str(home / "tmp"), "LANG": "C.UTF-8"}


def run(argv: Sequence[str], prompt: str, cwd: Path, environment: Mapping[str, str], timeout: float) -> Run:
    """Runs a program with the prompt on its stdin and reads its stdout as JSON lines.

    Raises TimeoutError with what it had said when it takes longer. No process of the run survives: harnesses start
    tools in sessions of their own, so killing a process group would not do.
    """
    home = Path(environment["HOME"])
    keeper = [sys.executable, "-I", "-S", str(Path(__file__).with_name("keeper.py"))]
    with (home / "stdout").open("wb") as out, (home / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [*keeper, *argv], cwd=cwd, env=dict(environment), stdin=subprocess.PIPE, stdout=out, stderr=err
        )
        try:
            process.communicate(prompt.encode(), timeout=timeout)
        except subprocess.TimeoutExpired:
            said = (home / "stdout").read_text()[-2000:] + (home / "stderr").read_text()[-2000:]
            raise TimeoutError(f"{argv[0]} did not end within {timeout} s; it said: {said}") from None
        finally:
            process.terminate()
            process.wait()
    lines = [json.loads(line) for line in (home / "stdout").read_text().split("\n") if line.startswith("{")]
    return Run(process.returncode, lines, (home / "stderr").read_text(), home)
