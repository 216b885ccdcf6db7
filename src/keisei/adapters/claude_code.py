"""Claude Code. Success is its last `result` line that says no error, and an exit code of 0.

Closed by construction: no settings but ours, no question that anybody could answer, so a dead hook means no. A second
`--settings` or `--permission-mode` would win over the first, so neither may stand in extra_args. An error of the
model's server says `subtype: success`; only `is_error` counts.

Every call of its stream raises the hook under the same id, sub-agents and servers included, with two exceptions that
2.1.197 was seen to make. A call that is turned away first raises none: no such tool, an input of another shape, text to
replace that is not there. And the hook is told relative paths as absolute ones, and text that stands for a number as
the number, so that the digest of such an input is not known here.
"""

import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Literal

from keisei.adapters import fault, transcript
from keisei.adapters.claude_settings import merged
from keisei.adapters.hint import Hint, hint_of_epoch
from keisei.adapters.hook_claude import attempt_settings
from keisei.adapters.launch import QUIET, config_of, guard_of, is_trusted, launch_of, model_of, session_of
from keisei.adapters.port import Guard, Order, Place, Probe
from keisei.adapters.transcript import Calls, Unreadable
from keisei.records.adapter import AdapterConfig, ClaudeAutonomy, ClaudeCodeAdapter
from keisei.records.attempt import Usage
from keisei.records.error import Refused
from keisei.records.form import JsonObject
from keisei.records.launch import Exit, Launch
from keisei.records.report import AgentReport, ErrorKind, HarnessError
from keisei.rules.atom_tool import SERVER

kind = "claude-code"
home: str | None = None
gate: Literal["native", "none"] = "native"
leaves: tuple[str, ...] = ()

RESTRICTED = ("--permission-mode", "dontAsk")
TRUSTED = ("--permission-mode", "bypassPermissions", "--dangerously-skip-permissions")
CLOSED = ("--setting-sources", "", "--strict-mcp-config")
OUTPUT = ("--output-format", "stream-json", "--verbose")
ALONE = QUIET | {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
}
"""Nothing but the model is asked, unless the order says otherwise."""
SANDBOXED = {"IS_SANDBOX": "1"}
"""Without it root may not give up the harness's own prompts; said only where our sandbox holds."""
SERVED = {
    "MCP_CONNECTION_NONBLOCKING": "0",
    "MCP_TIMEOUT": "60000",
    "MCP_CONNECT_TIMEOUT_MS": "60000",
    "MCP_TOOL_TIMEOUT": "86400000",
    "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT": "0",
}
"""With a server of ours: its tools are there before the model is asked, and the runtime's own deadlines hold."""
PATHS = ("file_path", "notebook_path", "path")
"""Fields that its own tools make absolute before the hook is asked."""
REWRITTEN = re.compile(r"-?\d+(?:\.\d+)?|true|false")
"""Text that its own tools may take for another type before the hook is asked, in fields that are no text."""
TEXTS = ("command", "content", "old_string", "new_string", "new_source", "prompt", "pattern", "query")
TURNED_AWAY = "<tool_use_error>"
"""How the result begins of a call that its hook was not asked about."""
LIMITS = ("error_max_turns", "error_max_budget_usd", "error_max_structured_output_retries")
ERRORS: Mapping[str, ErrorKind] = {
    "rate_limit": "rate_limit",
    "overloaded": "overloaded",
    "server_error": "overloaded",
    "authentication_failed": "auth",
    "oauth_org_not_allowed": "auth",
    "billing_error": "auth",
    "invalid_request": "refused",
    "model_not_found": "refused",
    "max_output_tokens": "limit",
}
"""What its message about an error of the model's server is marked with."""


def guard(hook: Sequence[str], place: Place) -> Guard:
    """The settings with the hook in them. Raises OperatorError for paths that no settings file can hold."""
    settings = json.dumps(attempt_settings(hook), ensure_ascii=False)
    servers = None if place.server is None else _servers(place.server, place.server_env)
    return Guard(settings=settings, servers=servers, env=place.server_env)


def _servers(server: Sequence[str], env: Mapping[str, str]) -> str:
    """It becomes an argument, so that it names variables of the harness and holds no value of them."""
    told = {
        "type": "stdio",
        "command": server[0],
        "args": list(server[1:]),
        "env": {each: f"${{{each}}}" for each in env},
    }
    return json.dumps({"mcpServers": {SERVER: told}}, ensure_ascii=False)


def plan(order: Order) -> Launch:
    """The command line, the prompt on standard input. Raises Refused for what would free the agent."""
    config = config_of(order, ClaudeCodeAdapter)
    guard, trusted = guard_of(order), is_trusted(order, config)
    autonomy = config.autonomy or ClaudeAutonomy(profile="restricted")
    settings = merged(guard.settings, order.settings_files, autonomy.required_settings_files, trusted=trusted)
    model, session = model_of(order), session_of(order)
    argv = [config.command, "-p", *(TRUSTED if trusted else RESTRICTED), *CLOSED, "--settings", settings, *OUTPUT]
    argv += ["--mcp-config", guard.servers] if guard.servers is not None else []
    argv += ["--model", model] if model else []
    argv += ["--resume", session] if session else []
    argv += ["--max-budget-usd", _budget(order.max_cost_usd)] if order.max_cost_usd is not None else []
    argv += config.extra_args
    env = ALONE | dict(order.env) | dict(guard.env) | (SANDBOXED if trusted and order.confined else {})
    env |= SERVED if guard.servers is not None else {}
    return launch_of(order, config, argv, stdin=order.prompt, env=env)


def _budget(usd: float) -> str:
    if not 0 < usd < transcript.MOST:
        raise Refused(f"a budget of {usd} USD buys nothing", "give the task more, or take `max-cost-usd` out")
    return f"{usd:.6f}"


def probe(config: AdapterConfig) -> Probe:
    """The program has to be there."""
    return Probe(program=getattr(config, "command", None))


def read(ended: Exit, files: Mapping[str, bytes]) -> AgentReport:  # noqa: ARG001 - it leaves no files
    """What the stream says. Never raises."""
    told = _Told()
    for line in transcript.objects(ended.stdout):
        told.hear(line)
    error = fault.interruption(ended) or _error(ended, told)
    result = told.result or {}
    return AgentReport(
        text=told.words if error else transcript.text(result.get("result")),
        envelope=None if error else transcript.envelope(result.get("structured_output")),
        error=error,
        usage=_usage(result),
        model=_model(result, told.model),
        session_ref=told.session,
        tool_calls=told.calls.all(),
        turns=transcript.count(result.get("num_turns")),
    )


class _Told:
    """What counts in a stream, gathered line by line."""

    def __init__(self) -> None:
        self.result: JsonObject | None = None
        self.words: str | None = None
        self.marked: str | None = None
        self.model: str | None = None
        self.session: str | None = None
        self.limit: object = None
        self.unreadable = 0
        self.calls = Calls()

    def hear(self, line: JsonObject) -> None:
        """Note one line. With background work there are several results; the last one counts."""
        self.unreadable += isinstance(line, Unreadable)
        self.session = transcript.name(line.get("session_id")) or self.session
        match line.get("type"):
            case "system" if line.get("subtype") == "init":
                self.model = transcript.name(line.get("model")) or self.model
            case "assistant":
                self._message(line)
            case "user":
                self._results(line)
            case "rate_limit_event":
                about = transcript.table(line.get("rate_limit_info"))
                self.limit = about.get("resetsAt") if about.get("status") == "rejected" else None
            case "result":
                self.result = line
                for denial in map(transcript.table, transcript.items(line.get("permission_denials"))):
                    if not self.calls.knows(denial.get("tool_use_id")):
                        self.calls.add(denial.get("tool_use_id"), denial.get("tool_name"))
                    self.calls.turned_away(denial.get("tool_use_id"), "it was refused")
            case _:
                pass

    def _message(self, line: JsonObject) -> None:
        message = transcript.table(line.get("message"))
        self.marked = transcript.name(line.get("error"))
        for block in map(transcript.table, transcript.items(message.get("content"))):
            if str(block.get("type")).endswith("tool_use"):
                self.calls.add(block.get("id"), block.get("name"), _digest(block))
            elif block.get("type") == "text" and not line.get("parent_tool_use_id") and not self.marked:
                self.words = transcript.text(block.get("text"))

    def _results(self, line: JsonObject) -> None:
        message = transcript.table(line.get("message"))
        for block in map(transcript.table, transcript.items(message.get("content"))):
            said = block.get("content")
            if block.get("is_error") is True and isinstance(said, str) and said.startswith(TURNED_AWAY):
                self.calls.turned_away(block.get("tool_use_id"), said.removeprefix(TURNED_AWAY))


def _digest(block: JsonObject) -> str | None:
    """The digest of an input that the hook is told as it stands here."""
    given, own = transcript.table(block.get("input")), not str(block.get("name")).startswith("mcp__")
    if own and any(_is_rewritten(key, value) for key, value in given.items()):
        return None
    return transcript.digest_of(given)


def _is_rewritten(key: str, value: object) -> bool:
    if not isinstance(value, str):
        return False
    moved = key in PATHS and (not value.startswith("/") or posixpath.normpath(value) != value)
    return moved or (key not in TEXTS and bool(REWRITTEN.fullmatch(value)))


def _error(ended: Exit, told: _Told) -> HarnessError | None:
    if told.result is not None and told.result.get("is_error") is True:
        return _said(ended, told, told.result)
    if ended.stdout_truncated:  # what was cut off could be another result, and calls
        return fault.cut(ended)
    if told.result is None:
        return fault.crash(ended, _no_result(ended))
    if told.result.get("is_error") is not False:
        return HarnessError(kind="invalid", message="its result does not say whether it is an error")
    if ended.code != 0:
        return fault.crash(ended, f"{fault.how(ended)} although its result says success")
    if told.unreadable:
        message = f"{told.unreadable} lines of its transcript cannot be read, so its tool calls are not known"
        return HarnessError(kind="invalid", message=message)
    return None


def _no_result(ended: Exit) -> str:
    return "it ended with exit 0 and no result" if ended.code == 0 else ""


def _said(ended: Exit, told: _Told, result: JsonObject) -> HarnessError:
    """The error it tells of itself."""
    words = [result.get("result"), *transcript.items(result.get("errors"))]
    message = "; ".join(each for each in words if isinstance(each, str))
    if result.get("subtype") != "success":
        message = f"{result.get('subtype')}: {message or result.get('terminal_reason')}"
    hint = hint_of_epoch(told.limit, fault.end_of(ended)) if told.limit is not None else Hint()
    return fault.fault(_kind(result, told.marked, message), message, ended, hint)


def _kind(result: JsonObject, marked: str | None, message: str) -> ErrorKind:
    if result.get("subtype") in LIMITS:
        return "limit"
    if result.get("subtype") == "error_during_execution":
        return "crash"
    status = transcript.count(result.get("api_error_status"))
    by_words = fault.kind_of_words(message, status)
    if status is not None and by_words is not None:
        return by_words
    if by_words == "network":  # it marks an unreachable server as a server's error
        return "network"
    return ERRORS.get(marked or "") or by_words or "crash"


def _usage(result: JsonObject) -> Usage | None:
    """Its sums over every model, sub-agents included; `usage` is the main conversation alone."""
    models = [transcript.table(each) for each in transcript.table(result.get("modelUsage")).values()]
    keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    if not models:
        models = [transcript.table(result.get("usage"))]
        keys = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    sums = [transcript.total([transcript.count(each.get(key)) for each in models]) for key in keys]
    cost = transcript.amount(result.get("total_cost_usd"))
    return transcript.told(
        Usage(
            input_tokens=sums[0],
            output_tokens=sums[1],
            cache_read_tokens=sums[2],
            cache_write_tokens=sums[3],
            cost_usd=cost,
        )
    )


def _model(result: JsonObject, announced: str | None) -> str | None:
    """The model that answered: the announced one where it did, else the one that wrote most; None where none did."""
    models = transcript.table(result.get("modelUsage"))
    if announced in models:
        return announced
    wrote = {
        each: transcript.count(transcript.table(models[each]).get("outputTokens")) or 0
        for each in models
        if transcript.name(each)
    }
    return max(wrote, key=lambda each: wrote[each]) if wrote else None
