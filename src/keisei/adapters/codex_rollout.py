"""Codex's rollout files: what it writes down of every thread in its home, blocked calls and sub-agents included.

What 0.166.0 was seen to do with its hook, and how calls are told here so that they are the same on both sides:

- `exec_command` is the hook's `Bash` with `command` alone; `apply_patch` has its patch in `command`. A tool in a group
  is the hook's group and name without a gap (`multi_agent_v1wait_agent`), but `spawn_agent` of `multi_agent_v1` has its
  bare name, a server's tool is `mcp__server__tool`, and the group `functions` is none.
- Newer models write a script for the tool `exec` instead of calls. It runs in an isolate that has nothing but tools;
  each call from it raises the hook under an id of its own, and stands in the rollout as an item with that id.
- `exec`, `wait` and `write_stdin` raise no hook: see `QUIET`. Nor do calls that are turned away: no such tool,
  arguments of another shape, a patch that is none.
- Web search and image generation happen at the vendor, without a hook. They are switched off.
"""

from collections.abc import Mapping
from datetime import datetime

from keisei.adapters import transcript
from keisei.adapters.transcript import Calls, Unreadable, digest_of, items, table
from keisei.records.attempt import Usage
from keisei.records.form import JsonObject

QUIET: Mapping[str, str] = {
    "exec": "a script that can only call tools, and each of its calls is judged",
    "wait": "it waits for a script whose calls are judged",
    "write_stdin": "it waits for the output of a command that was judged; terminals are off, so nothing is typed",
}
"""Tools that raise no hook, and why that is harmless."""
TURNED_AWAY = (
    *("unsupported call: ", "unsupported custom tool call: ", "failed to parse function arguments: "),
    *("apply_patch verification failed: ", "Command blocked by PreToolUse hook: "),
)
"""How the output begins of a call that did not run. What ran begins with its wall time, a chunk id or an exit code."""
SPOKEN = frozenset(
    {
        *("UserMessage", "AgentMessage", "Reasoning", "Plan", "HookPrompt", "FunctionCallOutput", "SubAgentActivity"),
        *("ContextCompaction", "EnteredReviewMode", "ExitedReviewMode"),
    }
)
"""Items that are no tool calls; an item of any other type is one."""


class Rollouts:
    """What counts in the rollout files, one for each thread, sub-agents included.

    A session that goes on keeps writing into its old file: lines from before this launch are another attempt's.
    """

    def __init__(self, since: datetime) -> None:
        self._since = since
        self.model: str | None = None
        self.unreadable = 0
        self.answers: dict[str, JsonObject] = {}
        self.calls = Calls()

    @property
    def usage(self) -> Usage | None:
        """The sum over every answer of a model; None where none is written down."""
        return sum_of(list(self.answers.values())) if self.answers else None

    def hear(self, data: bytes) -> None:
        """Note one file. A thread that was forked repeats its parent's lines; they count once."""
        for line in transcript.objects(data):
            self.unreadable += isinstance(line, Unreadable)
            payload = table(line.get("payload"))
            if _is_before(line.get("timestamp"), self._since):
                continue
            match line.get("type"):
                case "turn_context":
                    self.model = self.model or transcript.name(payload.get("model"))
                case "token_usage_record":
                    self.answers[str(payload.get("response_id"))] = table(payload.get("usage"))
                case "response_item":
                    self._response(payload)
                case "event_msg" if payload.get("type") == "item_completed":
                    self._item(table(payload.get("item")))
                case _:
                    pass

    def _response(self, payload: JsonObject) -> None:
        kind = str(payload.get("type"))
        if kind.endswith("_call"):
            tool, digest = _tool(payload), _digest(payload)
            unasked = QUIET.get(tool) if isinstance(tool, str) else None
            self.calls.add(payload.get("call_id") or payload.get("id"), tool, digest, unasked)
        elif kind.endswith("_call_output"):
            said = payload.get("output")
            if isinstance(said, str) and said.startswith(TURNED_AWAY):
                self.calls.turned_away(payload.get("call_id"), said)

    def _item(self, item: JsonObject) -> None:
        """Note a call out of a script. One that the model made itself is known already, under the same id."""
        if item.get("type") not in SPOKEN and not self.calls.knows(item.get("id")):
            self.calls.add(item.get("id"), *_told(item))


def _is_before(timestamp: object, since: datetime) -> bool:
    """Whether a line is older. A time that cannot be read is taken for a new one, so that no call hides behind it."""
    try:
        return datetime.fromisoformat(str(timestamp)) < since
    except (ValueError, TypeError):
        return False


def _tool(payload: JsonObject) -> object:
    """The name that the hook has for a call."""
    name, group = payload.get("name") or payload.get("type"), payload.get("namespace")
    if name == "exec_command":
        return "Bash"
    if not isinstance(group, str) or group == "functions" or (group, name) == ("multi_agent_v1", "spawn_agent"):
        return name
    return f"{group}__{name}" if group.startswith("mcp__") else f"{group}{name}"


def _digest(payload: JsonObject) -> str | None:
    """The digest of what the hook is told of a call."""
    if payload.get("type") == "custom_tool_call":
        return digest_of({"command": payload.get("input")})
    given = transcript.json_object(str(payload.get("arguments")).encode("utf-8", "replace"))
    if given is not None and payload.get("name") == "exec_command":
        return digest_of({"command": given.get("cmd")})
    return digest_of(given)


def _told(item: JsonObject) -> tuple[object, str | None]:
    """Tool and digest of an item. A patch is told by what it changed, so that its input is not known."""
    match item.get("type"):
        case "CommandExecution":
            words = items(item.get("command"))
            return "Bash", digest_of({"command": words[-1]}) if words else None
        case "FileChange":
            return "apply_patch", None
        case "McpToolCall":
            own = item.get("server") == "codex"
            tool = item.get("tool") if own else f"mcp__{item.get('server')}__{item.get('tool')}"
            return tool, digest_of(item.get("arguments"))
        case kind:
            return kind, None


def sum_of(answers: list[JsonObject]) -> Usage:
    """The sum of what answers used. Codex's input counts what came from the cache and went into it; ours does not."""
    keys = ("input_tokens", "output_tokens", "cached_input_tokens", "cache_write_input_tokens")
    whole, output, read_, written = (
        transcript.total([transcript.count(each.get(key)) for each in answers]) for key in keys
    )
    fresh = None if whole is None else max(0, whole - (read_ or 0) - (written or 0))
    return Usage(
        input_tokens=fresh, output_tokens=output, cache_read_tokens=read_, cache_write_tokens=written, cost_usd=None
    )
