"""Claude Code: what makes it ignore its settings, our hook with them. Pure."""

from collections.abc import Mapping
from typing import Any

_NEEDS = {
    "command": ("command",),
    "http": ("url",),
    "prompt": ("prompt",),
    "agent": ("prompt",),
    "mcp_tool": ("server", "tool"),
}
_ABSENT = object()
_SHAPES: tuple[tuple[tuple[str, ...], type | tuple[type, ...], str], ...] = (
    (("hooks",), dict, "a table"),
    (("env",), dict, "a table"),
    (("permissions",), dict, "a table"),
    (("permissions", "allow"), list, "a list"),
    (("permissions", "ask"), list, "a list"),
    (("permissions", "deny"), list, "a list"),
    (("permissions", "additionalDirectories"), list, "a list"),
    (("permissions", "defaultMode"), str, "a string"),
    (("disableAllHooks",), bool, "true or false"),
    (("model",), str, "a string"),
    (("apiKeyHelper",), str, "a string"),
    (("cleanupPeriodDays",), (int, float), "a number"),
    (("includeCoAuthoredBy",), bool, "true or false"),
)


def defects(settings: Mapping[str, Any]) -> list[str]:
    """The fields for which Claude ignores the whole file without a word; those that are known."""
    found = []
    for path, kind, words in _SHAPES:
        table = settings if len(path) == 1 else settings.get(path[0])
        value = table.get(path[-1], _ABSENT) if isinstance(table, Mapping) else _ABSENT
        if value is not _ABSENT and not isinstance(value, kind):
            found.append(f"`{'.'.join(path)}` is not {words}")
    hooks = settings.get("hooks")
    if isinstance(hooks, Mapping):
        found += [f"`hooks.{event}`: {each}" for event, groups in hooks.items() for each in group_defects(groups)]
    return found


def group_defects(groups: object, needs: Mapping[str, tuple[str, ...]] = _NEEDS) -> list[str]:
    """What is wrong with the groups of one event."""
    if not isinstance(groups, list):
        return ["is not a list"]
    found = []
    for group in groups:
        hooks = group.get("hooks") if isinstance(group, Mapping) else None
        if not isinstance(hooks, list):
            found.append("a group has no list `hooks`")
            continue
        found += [problem for hook in hooks for problem in _handler_defects(hook, needs)]
        if not isinstance(group.get("matcher", ""), str):
            found.append("a matcher is not a string")
    return found


def _handler_defects(hook: object, needs: Mapping[str, tuple[str, ...]]) -> list[str]:
    if not isinstance(hook, Mapping):
        return ["a hook is not a table"]
    kind = hook.get("type")
    if not isinstance(kind, str) or kind not in needs:
        return [f"the hook type `{kind}` is not known"]
    found = [f"a hook of type `{kind}` has no `{key}`" for key in needs[kind] if not isinstance(hook.get(key), str)]
    timeout = hook.get("timeout", 1)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float):
        found.append("a `timeout` is not a number")
    return found
