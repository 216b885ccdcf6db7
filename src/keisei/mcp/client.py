"""Settings of clients: what they need to start the server, each in its own words. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from keisei.rules.atom_tool import SERVER

Client = Literal["claude", "codex", "json"]
NEEDED: Final = (
    *("KEISEI_HOME", "KEISEI_DATABASE_URL", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"),
    *("KEI_KIT_ROOT", "KEI_RUNTIME_BIN_DIR"),
)
"""Variables by which the server finds the rows, packages and programs of whoever asks."""
UNTOLD: Final = "KEISEI_DATABASE_URL"
"""The one of them that is never printed."""


def snippet(client: Client, command: Sequence[str], environment: Mapping[str, str], *, lean: bool) -> str:
    """What goes into a client's settings.

    Claude Code and Codex begin without a server that is not there at once, unless they are told to wait for it. Codex
    hands on only variables that are named, and most others none: those get the values, but for a secret one.
    """
    told: dict[str, Any] = {"command": command[0], "args": list(command[1:])}
    names = [name for name in NEEDED if environment.get(name)]
    if client == "codex":
        rows = {**told, **({"env_vars": names} if names else {}), "required": True}
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rows.items()]
        return "\n".join((f"[mcp_servers.{SERVER}]", *lines))
    if client == "claude":
        told = {"type": "stdio", **told, **({"alwaysLoad": True} if lean else {})}
    elif values := {name: environment[name] for name in names if name != UNTOLD}:
        told["env"] = values
    return json.dumps({"mcpServers": {SERVER: told}}, indent=2, ensure_ascii=False)
