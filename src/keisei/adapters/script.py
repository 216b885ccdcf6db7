"""Scripts: plain programs. Success is an exit code of 0, which says that it ended and not that work was done."""

from collections.abc import Mapping, Sequence
from typing import Literal

from keisei.adapters import fault
from keisei.adapters.launch import anew, config_of, launch_of
from keisei.adapters.port import Order, Place, Probe
from keisei.contracts.hook import read_json
from keisei.records.adapter import AdapterConfig, ScriptAdapter
from keisei.records.form import JsonObject
from keisei.records.launch import Exit, Launch
from keisei.records.report import AgentReport, HarnessError

kind = "script"
home: str | None = None
gate: Literal["native", "none"] = "none"
leaves: tuple[str, ...] = ()

OUTPUT = 8 * 1024 * 1024
"""Bytes of output that are kept."""


def guard(hook: Sequence[str], place: Place) -> None:
    """Nothing: it has no tools."""


def plan(order: Order) -> Launch:
    """The command, its arguments, those of the payload; standard input is empty. Raises Refused for what is too long.

    The payload comes as AGENT_RUNTIME_TASK_PAYLOAD_JSON, or in the file that AGENT_RUNTIME_TASK_PAYLOAD_FILE names
    where it is longer than a variable may be: whoever makes the order decides and writes the file.
    """
    config = config_of(order, ScriptAdapter)
    anew(order)
    argv = (config.command, *config.extra_args, *order.args)
    return launch_of(order, config, argv, output_cap=OUTPUT)


def probe(config: AdapterConfig) -> Probe:
    """The program has to be there."""
    return Probe(program=getattr(config, "command", None))


def read(ended: Exit, files: Mapping[str, bytes]) -> AgentReport:  # noqa: ARG001 - it leaves no files
    """Standard output is the message, and the envelope where all of it is one object. Never raises."""
    error = fault.interruption(ended) or _error(ended)
    said = ended.stdout.decode("utf-8", "replace")
    return AgentReport(text=said or None, envelope=None if error else _envelope(ended.stdout), error=error)


def _error(ended: Exit) -> HarnessError | None:
    if ended.code != 0:
        return fault.crash(ended)
    return fault.cut(ended) if ended.stdout_truncated else None


def _envelope(stdout: bytes) -> JsonObject | None:
    if stdout.strip()[:1] != b"{":
        return None
    try:
        value = read_json(stdout)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
