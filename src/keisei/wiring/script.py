"""Scripts of capabilities, run as processes of this machine: gates before a call, verifies after it."""

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from keisei.gate.judge import SCRIPT_LIMIT_S
from keisei.records.effect import ToolCall
from keisei.records.error import KeiseiError
from keisei.records.launch import Launch
from keisei.records.verification import Planned
from keisei.rules.gate import Verdict, one_line
from keisei.rules.policy import (
    Check,
    Policy,
    Rule,
)
from keisei.rules.script import Folders, environment, gate_meaning, pattern_files, stdin, verify_meaning
from keisei.sandbox.process import run
from keisei.wiring.program import program_of
from keisei.wiring.surroundings import passed_on

HELPERS: Final = Path(__file__).parent.parent / "sandbox" / "helper"
PROGRAMS: Final = "/usr/local/bin:/usr/bin:/bin"
LONGEST_LINE: Final = 256
ERRORS_FIRST: Final = '"$@" > "$TMPDIR/said"; code=$?; cat "$TMPDIR/said" >&2; exit "$code"'
"""The contract knows a reason on standard error only; what else a script says may help, and comes after it."""


def run_gate_script(rule: Rule, call: ToolCall, policy: Policy) -> Verdict:
    """One script gate, under its own time limit. Never raises; what breaks falls the way the rule says."""
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-gate-") as folder:
            done = run(_launch(rule, call, policy, Path(folder)))
        meaning = gate_meaning(
            done.code, done.stdout, done.stderr, rule.on_error, done.timed_out, truncated=done.stdout_truncated
        )
        reason = f"{rule.capability}: {meaning.reason}" if meaning.reason else ""
        return Verdict(rule, meaning.decision, meaning.cause, rule.script, reason)
    except (KeiseiError, OSError) as error:
        sentence = error.message if isinstance(error, KeiseiError) else str(error)
        reason = f"{rule.capability}: its gate broke, which is no violation: {sentence}"
        return Verdict(rule, rule.on_error, "error", rule.script, reason)


def _launch(rule: Rule, call: ToolCall, policy: Policy, folder: Path) -> Launch:
    return Launch(
        argv=program_of(rule.script or ""),
        cwd=policy.worktree,
        env=environment(
            script_task(policy), rule.parameters, PROGRAMS, folders_of(rule.capability, rule.lists, folder)
        ),
        stdin=stdin(call, policy.task),
        timeout_s=SCRIPT_LIMIT_S,
        grace_s=0.1,
    )


def folders_of(capability: str, lists: Mapping[str, tuple[str, ...]], folder: Path) -> Folders:
    """What a script is handed, written into a folder of its own."""
    patterns, home = folder / "patterns", folder / "home"
    home.mkdir()
    for name, content in pattern_files({capability: lists}).items():
        path = patterns / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return Folders(str(HELPERS), str(patterns), str(home))


def script_task(policy: Policy) -> dict[str, Any]:
    """What the environment of a script says of the task."""
    return {
        "agent_id": policy.task.get("agent_id", ""),
        "task_toml": policy.task_path,
        "worktree_path": policy.worktree,
        "main_repo": policy.main or policy.worktree,
        "run_mode": "worktree",
    }


# --- verifies on return -----------------------------------------------------------------------------------------------


def broken(script: str) -> str | None:
    """Why a script cannot be started at all, in a sentence; None where it can."""
    try:
        with Path(script).open("rb") as file:
            first = file.readline(LONGEST_LINE)
    except OSError as error:
        return f"its script cannot be read: {(error.strerror or str(error)).lower()}"
    if not first:
        return "its script is empty, so it asks nothing"
    if first.endswith(b"\r\n"):
        return "its script has Windows line ends (CRLF), which no shell reads: save it with LF"
    words = first[2:].split() if first.startswith(b"#!") else []
    if first.startswith(b"#!") and not (words and os.access(words[0], os.X_OK)):
        named = words[0].decode("utf-8", "replace") if words else "nothing"
        return f"its script names the interpreter `{named}`, which is not here"
    return None


def verify_argv(script: str) -> tuple[str, ...]:
    """How the script of a verify is started: what it says on standard error comes first, as its reason."""
    return ("/bin/sh", "-c", ERRORS_FIRST, "verify", *program_of(script))


def verify_env(task: Mapping[str, Any], planned: Planned, folders: Folders) -> dict[str, str]:
    """What the script of a verify is told. Its home is the sandbox's, its programs are those that commands find.

    Raises OperatorError for a parameter that cannot be handed over.
    """
    told = environment(task, planned.parameters, passed_on().get("PATH", PROGRAMS), folders)
    return {name: value for name, value in told.items() if name != "HOME"}


# --- verifies after each call -----------------------------------------------------------------------------------------


class CheckResult(NamedTuple):
    """What a verify that runs after each tool call said."""

    capability: str
    status: str
    severity: str
    reason: str
    detail: str
    duration_ms: float


def run_checks(call: ToolCall, policy: Policy) -> list[CheckResult]:
    """Run the verifies that follow each tool call, in turn. Never raises; what breaks is an `error`."""
    return [_run_check(check, call, policy) for check in policy.checks]


def _run_check(check: Check, call: ToolCall, policy: Policy) -> CheckResult:
    started = time.monotonic()
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-check-") as folder:
            done = run(_check_launch(check, call, policy, Path(folder)))
        result = verify_meaning(done.code, done.stderr, timed_out=done.timed_out)
        status, reason, detail = result.status, result.reason, result.detail
    except (KeiseiError, OSError) as error:
        status, detail = "error", ""
        reason = one_line(error.message if isinstance(error, KeiseiError) else str(error))
    took = (time.monotonic() - started) * 1000
    return CheckResult(check.capability, status, check.severity, one_line(reason) if reason else "", detail, took)


def _check_launch(check: Check, call: ToolCall, policy: Policy, folder: Path) -> Launch:
    return Launch(
        argv=program_of(check.run) if check.kind == "script" else ("/bin/sh", "-c", check.run),
        cwd=policy.worktree,
        env=environment(
            script_task(policy), check.parameters, PROGRAMS, folders_of(check.capability, check.lists, folder)
        ),
        stdin=stdin(call, policy.task),
        timeout_s=min(check.timeout_s, SCRIPT_LIMIT_S),
        grace_s=0.1,
    )
