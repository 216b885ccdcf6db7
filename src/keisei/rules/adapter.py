"""Adapters: which arguments and variables give up a guard, and which ones only the runtime sets."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

BYPASS = (
    "--full-auto",
    "--yolo",
    "--bare",
    "--safe-mode",
    "--approve-for-me",
)
"""Flags that give up a harness's guard, or the gate with it; so does every flag that says `dangerously`."""
WORDS = ("bypassPermissions", "danger-full-access", "approval_policy=never")
"""The same as values, wherever they stand in an argument."""
OWN: Mapping[str, tuple[str, ...]] = {
    "claude-code": (
        *("-p", "--print", "--permission-mode", "--permission-prompt-tool", "--allowedTools", "--allowed-tools"),
        *("--settings", "--setting-sources", "--managed-settings", "--strict-mcp-config"),
        *("--output-format", "--input-format", "--model", "--bg", "--background"),
        *("-r", "--resume", "-c", "--continue", "--session-id", "--fork-session", "--no-session-persistence"),
        *("-w", "--worktree"),
    ),
    "codex": (
        *("-s", "--sandbox", "-a", "--ask-for-approval", "--add-dir", "-C", "--cd", "--worktree"),
        *("--ignore-user-config", "--ignore-rules", "-p", "--profile", "-m", "--model"),
        *("-o", "--output-last-message", "--ephemeral", "--last"),
    ),
    "hermes-agent": (
        *("-z", "--oneshot", "--usage-file", "-m", "--model", "--ignore-user-config"),
        *("-r", "--resume", "-c", "--continue", "-w", "--worktree", "--tui", "--cli"),
    ),
}
"""Flags that the runtime sets, or that would take back one it sets: a second one wins over the first."""
TABLES = (
    *("features", "hooks", "projects", "profile", "profiles", "model", "model_provider", "model_providers"),
    *("sandbox_mode", "sandbox_workspace_write", "approval_policy", "permissions", "default_permissions"),
    *("web_search", "tools", "shell_environment_policy"),
)
"""Tables of Codex's configuration that only the runtime writes; `-c` would change them."""
SWITCHES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("CLAUDE_CODE_SIMPLE", "CLAUDE_CODE_SAFE_MODE"),
    "hermes-agent": ("HERMES_SAFE_MODE", "HERMES_IGNORE_USER_CONFIG"),
}
"""Variables that switch a harness's hooks off."""
_FEATURE = re.compile(
    r"(?:codex_)?hooks|unified_exec\w*|unbounded_connection_retries|image_generation|apps|plugins|\w*web_search\w*"
    r"|skill_mcp_dependency_install"
)
_OPENLY = 'say it openly: `autonomy = { profile = "trusted-vm" }`'


class Objection(NamedTuple):
    """Why an argument may not stand where it stands."""

    place: int
    """Which argument, from 0."""
    reason: str
    """The end of a sentence that begins with the argument."""
    hint: str
    """What to do instead."""


def objections(kind: str, arguments: Sequence[str]) -> list[Objection]:
    """What is wrong with `extra_args` of an adapter of that kind. Falls closed: a shortened flag counts as the flag."""
    found = []
    for index, argument in enumerate(arguments):
        if bypasses(argument):
            found.append(Objection(index, "gives up a guard", _OPENLY))
        elif _is_own(kind, argument):
            found.append(Objection(index, "is the runtime's to set", "take it out; other keys of the adapter say it"))
    return found


def bypasses(argument: str) -> bool:
    """Whether an argument gives up a harness's guard, in any of the ways a command line can say it."""
    plain = _unquoted(argument)
    flag = plain.partition("=")[0]
    said = flag.startswith("--") and "dangerously" in flag
    return said or flag in BYPASS or any(word in plain for word in WORDS)


def switched_off(kind: str, env: Mapping[str, str]) -> Iterable[str]:
    """The variables of an environment that switch the harness's hooks off."""
    return [name for name in SWITCHES.get(kind, ()) if env.get(name)]


def _is_own(kind: str, argument: str) -> bool:
    if kind not in OWN:
        return False
    name = argument.partition("=")[0]
    if name == "--" or (kind == "codex" and _is_codex_table(argument)):
        return True
    if name.startswith("--"):
        return any(own.startswith(name) for own in OWN[kind])
    return name[:2] in OWN[kind]


def _is_codex_table(argument: str) -> bool:
    """Values of `-c`, `--enable` and `--disable`, alone or in one word with their flag."""
    plain = re.sub(r"^(?:-c|--config=|--enable=|--disable=)(?=.)", "", _unquoted(argument))
    key, equals, _ = plain.partition("=")
    return bool(_FEATURE.fullmatch(plain)) or (bool(equals) and key.partition(".")[0] in TABLES)


def _unquoted(argument: str) -> str:
    return re.sub(r"[\s\"']", "", argument)
