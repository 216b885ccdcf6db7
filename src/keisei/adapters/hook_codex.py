"""Codex's hook: what its hooks.json and config.toml hold when the gate's client is in them. Pure.

Codex skips a hook it was not told to trust without a word. Trust is a digest in config.toml under
`path:event:group:index`; the formula is Codex 0.166's, checked against its own `hooks/list`.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tomlkit

from keisei.adapters.hook_command import is_ours, shell_form
from keisei.rules.atom_tool import SERVER

EVENTS = {"PreToolUse": "pre_tool_use", "PostToolUse": "post_tool_use"}
TIMEOUT_S = 10
HARNESS = "codex"
_DEFAULT_TIMEOUT_S = 600
SERVER_LIMITS = {"required": True, "startup_timeout_sec": 60, "tool_timeout_sec": 86_400}
"""The runtime's own deadlines hold: those of atoms and of the attempt. It waits for a server that is
required: on a slow machine its model would else be asked before the tools are there."""


class Server(NamedTuple):
    """keisei's own MCP server."""

    argv: Sequence[str]
    env: Mapping[str, str]


class Spot(NamedTuple):
    """Where a hook stands in hooks.json."""

    event: str
    group: int
    place: int

    def key(self, hooks_path: str) -> str:
        """Its name in config.toml."""
        return f"{hooks_path}:{snake(self.event)}:{self.group}:{self.place}"


def snake(event: str) -> str:
    """`PreToolUse` as config.toml writes it."""
    return EVENTS.get(event) or "".join(f"_{char.lower()}" if char.isupper() else char for char in event).lstrip("_")


def entries(command: str) -> dict[str, dict[str, Any]]:
    """The group of hooks each event gets: every tool, one hook."""
    hook = {"type": "command", "command": command, "timeout": TIMEOUT_S}
    return {event: {"matcher": "*", "hooks": [dict(hook)]} for event in EVENTS}


def snippet(command: str) -> dict[str, Any]:
    """The part of hooks.json that is ours."""
    return {"hooks": {event: [group] for event, group in entries(command).items()}}


def trusted_hash(event: str, group: Mapping[str, Any], index: int) -> str:
    """The digest by which Codex knows a command hook again."""
    hook = group["hooks"][index]
    known: dict[str, Any] = {
        "async": hook.get("async", False),
        "command": hook["command"],
        "timeout": hook.get("timeout", _DEFAULT_TIMEOUT_S),
        "type": "command",
    }
    said: dict[str, Any] = {"event_name": snake(event), "hooks": [known]}
    if group.get("matcher") is not None:
        said["matcher"] = group["matcher"]
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8")).hexdigest()


def handlers(hooks_json: Mapping[str, Any]) -> Iterator[tuple[Spot, Mapping[str, Any], Mapping[str, Any]]]:
    """Every hook of a file: where it stands, its group, itself. What has another shape is passed over."""
    hooks = hooks_json.get("hooks")
    for event, groups in hooks.items() if isinstance(hooks, Mapping) else ():
        for number, group in enumerate(groups if isinstance(groups, list) else ()):
            inner = group.get("hooks") if isinstance(group, Mapping) else None
            for index, hook in enumerate(inner if isinstance(inner, list) else ()):
                if isinstance(hook, Mapping):
                    yield Spot(event, number, index), group, hook


def trust(hooks_json: Mapping[str, Any], hooks_path: str) -> dict[str, str]:
    """The trust our hooks of a file need: key to digest."""
    return {
        spot.key(hooks_path): trusted_hash(spot.event, group, spot.place)
        for spot, group, hook in handlers(hooks_json)
        if is_ours(hook.get("command"))
    }


def attempt_config(
    hook: Sequence[str], codex_home: Path, project_root: Path, server: Server | None = None
) -> tuple[dict[str, Any], str]:
    """hooks.json and config.toml for the CODEX_HOME of one attempt; `hook` is the client's whole argv.

    The project is untrusted, so that a repository's own `.codex/` neither switches hooks off nor starts servers. The
    adapter adds model and provider. Symlinks in both paths are followed, as Codex does. Without a
    `server`, config.toml names none.
    """
    hooks_json = snippet(shell_form(hook))
    config = tomlkit.document()
    config["features"] = {"hooks": True}
    config["projects"] = {str(project_root.resolve()): {"trust_level": "untrusted"}}
    path = str(codex_home.resolve() / "hooks.json")
    config["hooks"] = {"state": {key: {"trusted_hash": each} for key, each in trust(hooks_json, path).items()}}
    if server is not None:
        program, *args = server.argv
        config["mcp_servers"] = {SERVER: {"command": program, "args": args, "env": dict(server.env), **SERVER_LIMITS}}
    return hooks_json, tomlkit.dumps(config)


def attempt_flags() -> tuple[str, ...]:
    """The arguments without which calls go past the hook: hooks on, and no terminal that is typed into unseen."""
    return ("--enable", "hooks", "--disable", "unified_exec_tty")
