"""Hermes Agent. Success is a usage file that says completed and not failed, and an exit code of 0.

Its one-shot form is the only one that leaves a machine-readable end. It ends with exit 0 when the model's server fails
and prints the error as if it were the answer, so only the usage file counts. It takes a prompt on its command line and
nowhere else, so it gets one sentence that names the file. One-shot approves by itself: the gate and the sandbox are
what holds.

Its calls are read from the snapshots of its sessions, one for each sub-agent as well. 0.19.0 raises the hook for every
call that it runs, under the id and with the input that stand there; calls that it turns away raise none. A script of
`execute_code` calls tools that raise the hook without an id, and does by itself what no hook sees: the tool is judged
as a whole.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from keisei.adapters import fault, hook_hermes, transcript
from keisei.adapters.launch import QUIET, anew, config_of, guard_of, is_trusted, launch_of, model_of
from keisei.adapters.port import PROMPT, Guard, Order, Place, Probe
from keisei.adapters.transcript import Calls, digest_of, items, table
from keisei.records.adapter import AdapterConfig, HermesAgentAdapter
from keisei.records.attempt import Usage
from keisei.records.error import Refused
from keisei.records.form import JsonObject
from keisei.records.launch import Exit, Launch
from keisei.records.report import AgentReport, HarnessError

kind = "hermes-agent"
home: str | None = "hermes"
gate: Literal["native", "none"] = "native"
USAGE = "usage.json"
SESSIONS = "hermes/sessions/session_*.json"
leaves: tuple[str, ...] = (USAGE, SESSIONS)

ASK = "Read the file `{path}` from its first line to its last. It is your task: do all of it, and answer as it asks."
KNOWN_COSTS = ("actual", "estimated", "included")
TURNED_AWAY = (
    *("Tool call rejected: the tool name was empty. ", "Skipped: another tool call in this turn used an invalid name."),
    *("Error: Invalid JSON arguments. ", "Skipped: other tool call in this response had invalid JSON."),
    '{"error": "Invalid tool arguments", "message": "Tool arguments must be a valid JSON object',
    '{"error": "keisei gate: ',
)
"""How the result begins of a call that it did not run; the last is the gate's, for a call that it could not judge."""


def guard(hook: Sequence[str], place: Place) -> Guard:
    """Its configuration, and the plugin that asks the gate. Raises OperatorError for paths that no program takes."""
    if place.server is not None:
        message = "adapters of kind `hermes-agent` do not get atoms yet, and the role has an `[atoms]` table"
        raise Refused(message, "use claude-code or codex for this role, or take the table out of it")
    return Guard(files=hook_hermes.attempt_files(hook, place.model, place.model_address))


def plan(order: Order) -> Launch:
    """The command line, the prompt as a file. Raises Refused for what would free the agent."""
    config = config_of(order, HermesAgentAdapter)
    guard, trusted = guard_of(order), is_trusted(order, config)
    anew(order)
    if not hook_hermes.is_gated(guard.files):
        raise Refused("the harness's home has no hook before tool calls", "hand in what `attempt_files` builds")
    model = model_of(order)
    argv = [config.command, "-z", ASK.format(path=f"{order.run_folder}/{PROMPT}")]
    argv += ["--usage-file", f"{order.run_folder}/{USAGE}"]
    argv += ["-m", model] if model else []
    argv += ["--yolo"] if trusted else []
    argv += config.extra_args
    private = {"HERMES_HOME": f"{order.run_folder}/{home}"}
    return launch_of(order, config, argv, env=QUIET | dict(order.env) | dict(guard.env) | private)


def probe(config: AdapterConfig) -> Probe:
    """The program has to be there."""
    return Probe(program=getattr(config, "command", None))


def read(ended: Exit, files: Mapping[str, bytes]) -> AgentReport:
    """What its usage file says; standard output is its last message, or an error's text. Never raises."""
    usage = transcript.json_object(files.get(USAGE, b""))
    said = ended.stdout.decode("utf-8", "replace").strip()
    error = fault.interruption(ended) or _error(ended, usage, said, written=USAGE in files)
    usage = usage or {}
    calls = Calls()
    for path in sorted(files):
        if fnmatchcase(path, SESSIONS):
            _hear(calls, files[path])
    return AgentReport(
        text=said if said and not error else None,
        error=error,
        usage=_usage(usage),
        model=transcript.name(usage.get("model")),
        session_ref=transcript.name(usage.get("session_id")),
        tool_calls=calls.all(),
        turns=transcript.count(usage.get("api_calls")),
    )


def _hear(calls: Calls, session: bytes) -> None:
    """Note the calls of one session. A snapshot that cannot be read is one call that nobody knows."""
    told = transcript.json_object(session)
    if told is None:
        calls.add(None, None)
        return
    for message in map(table, items(told.get("messages"))):
        for call in map(table, items(message.get("tool_calls"))):
            about = table(call.get("function"))
            calls.add(call.get("id"), about.get("name"), _digest(about))
        if message.get("role") == "tool" and _is_turned_away(message.get("name"), message.get("content")):
            calls.turned_away(message.get("tool_call_id"), str(message.get("content")))


def _is_turned_away(tool: object, said: object) -> bool:
    unknown = f"Tool '{tool}' does not exist. Available tools: "
    return isinstance(said, str) and said.startswith((unknown, *TURNED_AWAY))


def _digest(call: JsonObject) -> str | None:
    """The digest of what the hook is told; arguments that are no object are turned away."""
    return digest_of(transcript.json_object(str(call.get("arguments")).encode("utf-8", "replace")))


def _error(ended: Exit, usage: JsonObject | None, said: str, *, written: bool) -> HarnessError | None:
    if usage is None and written:
        return HarnessError(kind="invalid", message=f"`{USAGE}` is not a JSON object")
    if usage is None:
        return fault.crash(ended, "it ended with exit 0 and no usage file" if ended.code == 0 else "")
    if usage.get("failed") is not False:
        message = transcript.text(usage.get("failure")) or said or "it says that it failed"
        return fault.fault(fault.kind_of_words(message) or "crash", message, ended)
    if usage.get("completed") is not True:
        return fault.fault("limit", f"it stopped before it was done: {said}", ended)
    if ended.code != 0:
        return fault.crash(ended, f"{fault.how(ended)} although its usage file says completed")
    if ended.stdout_truncated:
        return fault.cut(ended)
    return None


def _usage(usage: JsonObject) -> Usage | None:
    """Its counters are disjoint, as ours are. A cost it does not know is 0 there, and None here."""
    cost = transcript.amount(usage.get("estimated_cost_usd")) if usage.get("cost_status") in KNOWN_COSTS else None
    keys = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    counts = {key: transcript.count(usage.get(key)) for key in keys}
    return transcript.told(Usage(**counts, cost_usd=cost))
