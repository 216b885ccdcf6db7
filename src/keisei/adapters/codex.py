"""Codex CLI. Success is a last turn that completed, and an exit code of 0.

Its home is private to the attempt: hooks.json with the gate's hook, config.toml with the hook's trust and the project
untrusted. `write_stdin` is not hooked, so terminals are switched off; so are web search and image generation, which
happen at the vendor, and plugins, which bring servers along. A refused connection would be tried for ever, so that is
switched off too. Blocked calls are not in its output: calls are read from the rollout files in its home.

Its own sandbox cannot start inside ours. Where ours holds, it is off; where none does, its own is the one that is left.
"""

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from keisei.adapters import fault, transcript
from keisei.adapters.codex_rollout import Rollouts, sum_of
from keisei.adapters.hook_codex import Server, attempt_config
from keisei.adapters.launch import QUIET, config_of, guard_of, is_trusted, launch_of, model_of, session_of
from keisei.adapters.port import MODEL_KEY, Guard, Order, Place, Probe
from keisei.adapters.transcript import items, table
from keisei.records.adapter import AdapterConfig, CodexAdapter, Provider
from keisei.records.error import Refused
from keisei.records.form import JsonObject
from keisei.records.launch import Exit, Launch
from keisei.records.report import AgentReport, HarnessError

kind = "codex"
home: str | None = "codex"
gate: Literal["native", "none"] = "native"
LAST_MESSAGE = "last-message.txt"
ROLLOUTS = "codex/sessions/**/rollout-*.jsonl"
leaves: tuple[str, ...] = (LAST_MESSAGE, ROLLOUTS)

OUTPUT = ("--json", "--skip-git-repo-check")
CLOSED = (
    *("--enable", "hooks", "--disable", "unified_exec_tty"),
    *("--disable", "unbounded_connection_retries", "--disable", "image_generation"),
    *("--disable", "apps", "--disable", "plugins", "--disable", "skill_mcp_dependency_install"),
    *("-c", 'web_search="disabled"', "-c", 'shell_environment_policy.inherit="core"'),
    *("-c", "analytics.enabled=false", "-c", 'otel.metrics_exporter="none"'),
    *("-c", "sandbox_workspace_write.exclude_slash_tmp=true"),
)
"""What calls could go past the hook with is off, commands do not see the harness's keys, no metrics are sent.

Its own sandbox, where it is in use, would leave folders called `.git` and `.codex` in the machine's /tmp.
"""
RELAY = "keisei"
"""The provider that stands for the model's relay."""
BYPASS = "--dangerously-bypass-approvals-and-sandbox"
REACHED = (100, 499)
"""Statuses with which a provider answers at all; whether it takes the key is found out by asking the model."""


def guard(hook: Sequence[str], place: Place) -> Guard:
    """hooks.json, and config.toml that trusts it. Raises OperatorError for paths that no settings file can hold."""
    server = None if place.server is None else Server(place.server, place.server_env)
    hooks, config = attempt_config(hook, Path(place.room, "codex"), Path(place.worktree), server)
    return Guard(files={"hooks.json": json.dumps(hooks, ensure_ascii=False), "config.toml": config})


def plan(order: Order) -> Launch:
    """The command line, the prompt on standard input. Raises Refused for what would free the agent."""
    config = config_of(order, CodexAdapter)
    guard, trusted = guard_of(order), is_trusted(order, config)
    _check_gate(guard)
    session = session_of(order)
    argv = [config.command, "exec", *OUTPUT, "-o", f"{order.run_folder}/{LAST_MESSAGE}", *CLOSED]
    argv += _confinement(config, confined=order.confined, trusted=trusted)
    for setting in _settings(config, model_of(order), order.model_address):
        argv += ["-c", setting]
    argv += [each for each in config.extra_args if each not in OUTPUT]
    argv += ["resume", session, "-"] if session else ["-"]
    env = QUIET | dict(order.env) | dict(guard.env) | {"CODEX_HOME": f"{order.run_folder}/{home}"}
    return launch_of(order, config, argv, stdin=order.prompt, env=env)


def probe(config: AdapterConfig) -> Probe:
    """The program has to be there, and its provider has to answer where it is named by address."""
    provider = getattr(config, "provider", None)
    url = f"{provider.base_url.rstrip('/')}/models" if provider and provider.base_url else None
    return Probe(program=getattr(config, "command", None), url=url, statuses=REACHED)


def read(ended: Exit, files: Mapping[str, bytes]) -> AgentReport:
    """What its events, its last message and its rollouts say. Never raises."""
    told, rolled = _Told(), Rollouts(ended.started_at)
    for line in transcript.objects(ended.stdout):
        told.hear(line)
    for path in sorted(files):
        if fnmatchcase(path, ROLLOUTS):
            rolled.hear(files[path])
    error = fault.interruption(ended) or _error(ended, told, rolled)
    last = files.get(LAST_MESSAGE)
    return AgentReport(
        text=last.decode("utf-8", "replace") if last and not error else told.words,
        error=error,
        usage=transcript.told(rolled.usage or sum_of([told.usage])),
        model=rolled.model,
        session_ref=told.thread,
        tool_calls=rolled.calls.all(),
        turns=len(rolled.answers) or None,
    )


def _check_gate(guard: Guard) -> None:
    hooks = transcript.json_object(guard.files.get("hooks.json", "").encode("utf-8", "replace")) or {}
    try:
        config = tomllib.loads(guard.files.get("config.toml", ""))
    except (ValueError, RecursionError):
        config = {}
    if not items(table(hooks.get("hooks")).get("PreToolUse")) or not table(table(config.get("hooks")).get("state")):
        message = "the harness's home has no trusted hook before tool calls"
        raise Refused(message, "hand in what `attempt_config` builds")


def _confinement(config: CodexAdapter, *, confined: bool, trusted: bool) -> list[str]:
    if confined:
        return ["-s", "danger-full-access"]
    if trusted and config.sandbox in {None, "danger-full-access"}:
        return [BYPASS]
    return ["-s", config.sandbox or "workspace-write"]


def _settings(config: CodexAdapter, model: str | None, address: str | None) -> Iterator[str]:
    if model:
        yield f"model={_toml(model)}"
    if address is not None:
        relay = {"name": RELAY, "base_url": f"{address}/v1", "wire_api": "responses", "env_key": MODEL_KEY}
        yield f"model_provider={_toml(RELAY)}"
        yield f"model_providers.{RELAY}={_inline(relay)}"
    elif config.provider is not None:
        yield f"model_provider={_toml(config.provider.id)}"
        if config.provider.base_url is not None:
            yield f"model_providers.{_key(config.provider)}={_provider(config.provider)}"


def _key(provider: Provider) -> str:
    if not provider.id.replace("-", "").replace("_", "").isalnum() or not provider.id.isascii():
        raise Refused(f"the provider id `{provider.id}` is not a plain word", "use letters, digits, `-` and `_`")
    return provider.id


def _provider(provider: Provider) -> str:
    said = {
        "name": provider.name or provider.id,
        "base_url": provider.base_url,
        "wire_api": provider.wire_api or "responses",
        "requires_openai_auth": provider.requires_openai_auth or False,
    }
    return _inline(said)


def _inline(said: Mapping[str, object]) -> str:
    return "{" + ",".join(f"{key}={_toml(value)}" for key, value in said.items()) + "}"


def _toml(value: object) -> str:
    """A string or a truth value; TOML writes both as JSON does."""
    return json.dumps(value, ensure_ascii=True)


class _Told:
    """What counts in the events on standard output."""

    def __init__(self) -> None:
        self.thread: str | None = None
        self.words: str | None = None
        self.complaint: str | None = None
        self.end: str | None = None
        self.usage: JsonObject = {}

    def hear(self, line: JsonObject) -> None:
        """Note one event. The last turn that ended is the one that counts."""
        match line.get("type"):
            case "thread.started":
                self.thread = transcript.name(line.get("thread_id")) or self.thread
            case "item.completed":
                item = table(line.get("item"))
                if item.get("type") == "agent_message":
                    self.words = transcript.text(item.get("text"))
            case "error":
                self.complaint = transcript.text(line.get("message"))
            case "turn.completed":
                self.end, self.usage = "completed", table(line.get("usage"))
            case "turn.failed":
                self.end = "failed"
                self.complaint = transcript.text(table(line.get("error")).get("message")) or self.complaint
            case _:
                pass


def _error(ended: Exit, told: _Told, rolled: Rollouts) -> HarnessError | None:
    if ended.stdout_truncated and told.end != "failed":
        return fault.cut(ended)
    if told.end != "completed":
        return _said(ended, told.complaint) if told.complaint else fault.crash(ended, _no_end(ended))
    if ended.code != 0:
        return fault.crash(ended, f"{fault.how(ended)} although its turn completed")
    if rolled.unreadable:
        message = f"{rolled.unreadable} lines of its rollout cannot be read, so its tool calls are not known"
        return HarnessError(kind="invalid", message=message)
    return None


def _no_end(ended: Exit) -> str:
    return "it ended with exit 0 and no completed turn" if ended.code == 0 else ""


def _said(ended: Exit, complaint: str) -> HarnessError:
    """The error it tells of itself; where the server answered with JSON, that is its whole message."""
    body = table((transcript.json_object(complaint.encode()) or {}).get("error"))
    message = ": ".join(each for each in (body.get("type"), body.get("message")) if isinstance(each, str)) or complaint
    return fault.fault(fault.kind_of_words(message) or "crash", message, ended)
