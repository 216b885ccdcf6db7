"""Claude Code's settings for one attempt: the gate's, and what the operator's settings files add to them.

One field of another shape, and Claude ignores all of `--settings` without a word, the gate with it. So a file may say
only what is known here, in the shape that is known.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from keisei.adapters.transcript import items, json_object, table
from keisei.records.error import Refused
from keisei.rules.adapter import switched_off

KIND = "claude-code"


class Permissions(Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for tools."""

    allow: list[str] = []
    """Calls that run even where the gate's hook is dead; for a trusted machine only."""
    ask: list[str] = []
    """Calls that are refused, since nobody can be asked."""
    deny: list[str] = []
    """Calls that are refused."""


class Command(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A hook that is a command."""

    type: Literal["command"]
    """The one type that starts no other service."""
    command: str
    """What `sh -c` gets."""
    timeout: int | None = None
    """Seconds."""


class Group(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Hooks for some tools."""

    hooks: list[Command]
    """The hooks."""
    matcher: str | None = None
    """Which tools."""


class SettingsFile(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a settings file of the operator may say."""

    permissions: Permissions | None = None
    """Rules for tools."""
    env: dict[str, str] = {}
    """Variables."""
    hooks: dict[str, list[Group]] = {}
    """More hooks, beside the gate's."""


def merged(gate: str | None, files: Mapping[str, str], wanted: Sequence[str], *, trusted: bool) -> str:
    """The JSON for `--settings`. Raises Refused where the gate is not in it, or a file is missing or says too much."""
    settings = _gate(gate)
    for path in wanted:
        if path not in files:
            raise Refused(f"the required settings file `{path}` is missing", "make it, or take it out of the adapter")
        settings = _with(settings, _file(path, files[path], trusted=trusted))
    return json.dumps(settings, ensure_ascii=False)


def _gate(text: str | None) -> dict[str, Any]:
    settings = json_object((text or "").encode("utf-8", "replace")) or {}
    if not items(table(settings.get("hooks")).get("PreToolUse")) or settings.get("disableAllHooks") is not False:
        raise Refused("the settings have no hook before tool calls", "hand in what `attempt_settings` builds")
    return settings


def _file(path: str, text: str, *, trusted: bool) -> SettingsFile:
    try:
        found = msgspec.json.decode(text.encode("utf-8", "replace"), type=SettingsFile)
    except (ValueError, RecursionError) as error:
        raise Refused(f"the settings file `{path}` says what is not known here: {error}", _KNOWN) from error
    if found.permissions is not None and found.permissions.allow and not trusted:
        message = f"the settings file `{path}` allows calls by itself, so a dead gate would free them"
        raise Refused(message, 'leave `permissions.allow` to the gate, or say `profile = "trusted-vm"`')
    for name in switched_off(KIND, found.env):
        raise Refused(f"the settings file `{path}` switches the gate's hook off with `{name}`", "take it out")
    return found


def _with(settings: dict[str, Any], more: SettingsFile) -> dict[str, Any]:
    added = msgspec.to_builtins(more)
    hooks = {**settings["hooks"]}
    for event, groups in added.get("hooks", {}).items():
        hooks[event] = [*hooks.get(event, []), *groups]
    result = {**settings, "hooks": hooks}
    if "env" in added:
        result["env"] = {**settings.get("env", {}), **added["env"]}
    if "permissions" in added:
        ours = settings.get("permissions", {})
        theirs = added["permissions"]
        result["permissions"] = {**ours, **{key: [*ours.get(key, []), *theirs[key]] for key in theirs}}
    return result


_KNOWN = "it may hold `permissions` (allow, ask, deny), `env` and `hooks` of type command"
