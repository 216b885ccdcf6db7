"""Exits and orders as the tests need them: every test says only what it is about."""

import json
from datetime import UTC, datetime

from msgspec import structs

from keisei.adapters.hook_hermes import attempt_files
from keisei.adapters.port import Guard, Order
from keisei.records.adapter import (
    ClaudeCodeAdapter,
    CodexAdapter,
    HermesAgentAdapter,
    OllamaGenerateAdapter,
    ScriptAdapter,
)
from keisei.records.launch import Exit

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
HOOK = {"matcher": "*", "hooks": [{"type": "command", "command": "gate", "timeout": 10}]}
SETTINGS = {"disableAllHooks": False, "hooks": {"PreToolUse": [HOOK]}}
STATE = '[hooks.state."/run/attempt/codex/hooks.json:pre_tool_use:0:0"]\ntrusted_hash = "sha256:0"\n'
GUARDS = {
    "claude-code": Guard(settings=json.dumps(SETTINGS)),
    "codex": Guard(files={"hooks.json": json.dumps({"hooks": {"PreToolUse": [HOOK]}}), "config.toml": STATE}),
    "hermes-agent": Guard(files=attempt_files(["gate"])),
}
CONFIGS = {
    "claude-code": ClaudeCodeAdapter(adapter_id="claude", command="claude", timeout_ms=60_000),
    "codex": CodexAdapter(adapter_id="codex", command="codex", timeout_ms=60_000),
    "hermes-agent": HermesAgentAdapter(adapter_id="hermes", command="hermes", timeout_ms=60_000),
    "ollama-generate": OllamaGenerateAdapter(
        adapter_id="ollama", endpoint="http://127.0.0.1:11434", model="llama", timeout_ms=60_000
    ),
    "script": ScriptAdapter(adapter_id="script", command="true", timeout_ms=60_000),
}


def an_exit(stdout=b"", stderr=b"", **changes):
    """A program that ended well at 12:00, unless the changes say otherwise."""
    plain = Exit(
        code=None if changes.get("signal") else 0,
        signal=None,
        stdout=stdout,
        stderr=stderr,
        stdout_truncated=False,
        stderr_truncated=False,
        timed_out=False,
        canceled=False,
        survivors_killed=0,
        survivors_left=0,
        level="mark",
        started_at=NOW,
        duration_s=0.0,
    )
    return structs.replace(plain, **changes)


def an_order(kind, config=None, **changes):
    """An order that every adapter of that kind takes; `config` holds other values of its table."""
    plain = Order(
        config=structs.replace(CONFIGS[kind], **(config or {})),
        prompt=b"Do it.",
        cwd="/srv/tree",
        env={"PATH": "/usr/bin", "HOME": "/run/attempt/home"},
        run_folder="/run/attempt",
        guard=GUARDS.get(kind),
    )
    return structs.replace(plain, **changes)


def json_lines(*lines):
    """Lines as a harness writes them."""
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)
