"""Tools: what the tools of the harnesses are, and which of them are the same thing under two names."""

from collections.abc import Collection
from typing import Final

SHELL: Final = {
    "Bash": "command",
    "shell": "command",
    "local_shell": "command",
    "shell_command": "command",
    "exec_command": "cmd",
    "container.exec": "cmd",
    "terminal": "command",
    "run_shell_command": "command",
    "execute_command": "command",
    "run_terminal_cmd": "command",
}
"""Tools that run a shell, with the field that holds the text."""
WRITERS: Final = frozenset(
    {
        *("Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "create_file", "edit_file", "str_replace_editor"),
        *("str_replace_based_edit_tool", "replace", "patch", "search_replace"),
    }
)
PATCHERS: Final = frozenset({"apply_patch", "applypatch"})
READERS: Final = frozenset(
    {
        *("Read", "NotebookRead", "Glob", "Grep", "LS", "view_image", "read_file", "search_files", "list_dir", "LSP"),
        *("glob", "grep", "list_directory", "search_file_content", "read_many_files"),
    }
)
FETCHERS: Final = frozenset({"WebFetch", "WebSearch", "web_search", "web_fetch", "fetch", "google_web_search"})
AGENTS: Final = frozenset({"Task", "Agent", "spawn_agent", "delegate_task", "TeamCreate", "SendMessage", "send_input"})
TYPISTS: Final = frozenset({"write_stdin", "process"})
"""Tools that type into a program that is already running."""
CODERS: Final = {"execute_code": "code", "python": "code", "code_interpreter": "code"}
QUIET: Final = frozenset(
    {
        *("TodoWrite", "TodoRead", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "TaskOutput", "TaskStop"),
        *("ExitPlanMode", "EnterPlanMode", "AskUserQuestion", "update_plan", "ToolSearch", "StructuredOutput"),
        *("BashOutput", "KillShell", "KillBash", "AgentOutputTool", "ListMcpResourcesTool", "ReadMcpResourceTool"),
        *(
            "list_mcp_resources",
            "read_mcp_resource",
            "list_mcp_resource_templates",
            "todo",
            "wait_agent",
            "close_agent",
        ),
        *("get_goal", "create_goal", "update_goal", "request_user_input", "Skill", "tool_search", "wait", "clarify"),
    }
)
"""Tools that neither run, write nor reach anything."""

_SAME: Final = (
    frozenset(SHELL),
    frozenset({"Task", "Agent", "spawn_agent", "delegate_task"}),
    frozenset({"Read", "read_file", "view_image"}),
    frozenset({"Write", "write_file", "create_file"}),
    frozenset({"Edit", "edit_file", "patch"}),
    frozenset({"WebSearch", "web_search"}),
    frozenset({"TodoWrite", "update_plan"}),
)
_STANDS_FOR: Final = {"apply_patch": frozenset({"Edit", "Write"}), "applypatch": frozenset({"Edit", "Write"})}


def plain(tool: str) -> str:
    """The name without the prefix some harnesses put before their own tools."""
    return tool.removeprefix("functions.")


def is_known(tool: str) -> bool:
    """Whether the tool's fields are understood here; a server's tool is not, but its fields are looked at."""
    kinds = (SHELL, WRITERS, PATCHERS, READERS, FETCHERS, AGENTS, TYPISTS, CODERS, QUIET)
    return any(tool in kind for kind in kinds) or tool.startswith("mcp__")


def names_of(tool: str) -> frozenset[str]:
    """The tool's name and every name it goes by; Codex's `apply_patch` both edits and writes."""
    name = plain(tool)
    if name in _STANDS_FOR:
        return _STANDS_FOR[name] | {tool, name}
    return next((same for same in _SAME if name in same), frozenset({tool, name}))


def is_allowed(tool: str, allowed: Collection[str]) -> bool:
    """Whether a list of names holds the tool, exactly; one that does the work of two needs both."""
    if tool in allowed:
        return True
    if tool in _STANDS_FOR:
        return _STANDS_FOR[tool] <= set(allowed)
    return not names_of(tool).isdisjoint(allowed)
