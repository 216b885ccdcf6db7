"""Claude Code's hook: what its settings hold when the gate's client is in them. Pure."""

from collections.abc import Sequence
from typing import Any

from keisei.adapters.hook_command import shell_form

EVENTS = ("PreToolUse", "PostToolUse")
TIMEOUT_S = 10
HARNESS = "claude"


def handler(command: str) -> dict[str, Any]:
    """One hook. `onFailure` closes what a shell cannot, a timeout; versions that do not know it ignore it."""
    return {"type": "command", "command": command, "timeout": TIMEOUT_S, "onFailure": "block"}


def entries(command: str) -> dict[str, dict[str, Any]]:
    """The group of hooks each event gets: every tool, one hook."""
    return {event: {"matcher": "*", "hooks": [handler(command)]} for event in EVENTS}


def snippet(command: str) -> dict[str, Any]:
    """The part of settings.json that is ours."""
    return {"hooks": {event: [group] for event, group in entries(command).items()}}


def attempt_settings(hook: Sequence[str], *, shell: bool = True) -> dict[str, Any]:
    """What `--settings` gets for one attempt; `hook` is the client's whole argv.

    With `shell` every failure is a refusal in every version. Without it Claude starts the client itself, which saves a
    process; then only `onFailure` and the flags of `attempt_flags` hold a client that dies.
    """
    if shell:
        return {"disableAllHooks": False} | snippet(shell_form(hook))
    program, *args = hook
    direct = handler(program) | {"args": args}
    return {"disableAllHooks": False, "hooks": {event: [{"matcher": "*", "hooks": [direct]}] for event in EVENTS}}


def attempt_flags() -> tuple[str, ...]:
    """The arguments without which a repository or a dead hook frees the agent."""
    return ("--permission-mode", "dontAsk", "--setting-sources", "", "--strict-mcp-config")
