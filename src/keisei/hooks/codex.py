"""Codex: what makes it drop its hooks.json, and where hooks go when ours are put in or taken out. Pure."""

from collections.abc import Mapping
from typing import Any

from keisei.adapters.hook_codex import Spot, handlers
from keisei.adapters.hook_command import is_ours
from keisei.hooks.claude import group_defects

_TOP = ("description", "hooks")
_NEEDS: dict[str, tuple[str, ...]] = {"command": ("command",), "mcp_tool": (), "prompt": (), "agent": ()}


def moves(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[Spot, Spot]:
    """Where the hooks of others went when ours were put in or taken out: their trust hangs on their place."""
    before, after = _others(old), _others(new)
    if len(before) != len(after):
        return {}
    return {was: now for was, now in zip(before, after, strict=True) if was != now}


def _others(hooks_json: Mapping[str, Any]) -> list[Spot]:
    found = [spot for spot, _, hook in handlers(hooks_json) if not is_ours(hook.get("command"))]
    return sorted(found)


def defects(hooks_json: Mapping[str, Any]) -> list[str]:
    """What makes Codex drop the whole file; it says so once and runs every call."""
    found = [f"the key `{key}` is not known" for key in hooks_json if key not in _TOP]
    if not isinstance(hooks_json.get("description", ""), str):
        found.append("`description` is not a string")
    hooks = hooks_json.get("hooks", {})
    if not isinstance(hooks, Mapping):
        return [*found, "`hooks` is not a table"]
    # Codex takes a group without `hooks` for an empty one; a file with one in an event of ours could not be merged.
    return found + [f"`hooks.{event}`: {each}" for event, groups in hooks.items() for each in _defects(groups)]


def _defects(groups: object) -> list[str]:
    if isinstance(groups, list):
        groups = [{"hooks": []} | group if isinstance(group, dict) else group for group in groups]
    return group_defects(groups, _NEEDS)
