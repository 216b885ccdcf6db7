"""Probes: whether an adapter can be reached, asked before an attempt is worth starting."""

import os
import shutil
import time
from pathlib import Path
from typing import Final, NamedTuple

from keisei.adapters import adapter_of
from keisei.adapters.port import Probe
from keisei.records.adapter import AdapterConfig
from keisei.records.error import WorldFault
from keisei.records.launch import Call
from keisei.sandbox.http import call

PATIENCE_S: Final = 2.5
FRESH_S: Final = 30.0


class Probed(NamedTuple):
    """What a probe found."""

    adapter_id: str
    ok: bool
    reason: str


def probed(config: AdapterConfig, path: str | None = None) -> Probed:
    """Whether the program is there and the address answers. Never raises."""
    asked = adapter_of(str(config.__struct_config__.tag)).probe(config)
    fault = _program_fault(asked, config, path) or _address_fault(asked)
    return Probed(config.adapter_id, fault is None, fault or "reachable")


def _program_fault(asked: Probe, config: AdapterConfig, path: str | None) -> str | None:
    if asked.program is None:
        return None
    if "/" not in asked.program:
        found = shutil.which(asked.program, path=path)
        return None if found else f"the program `{asked.program}` is not on the PATH"
    program = Path(getattr(config, "working_dir", None) or ".") / asked.program
    return None if os.access(program, os.X_OK) and program.is_file() else f"`{program}` is not a program"


def _address_fault(asked: Probe) -> str | None:
    if asked.url is None:
        return None
    try:
        answer = call(Call(method="GET", url=asked.url, timeout_s=PATIENCE_S))
    except WorldFault as error:  # an address that is none, as `http://user:password@host`
        return error.message
    if answer.http_status is None:
        return f"{asked.url} does not answer: {answer.fault or 'out of time'}"
    first, last = asked.statuses
    return None if first <= answer.http_status <= last else f"{asked.url} answers {answer.http_status}"


class Prober:
    """Probes that are remembered for half a minute."""

    def __init__(self) -> None:
        """Nothing is known yet."""
        self._known: dict[str, tuple[float, Probed]] = {}

    def __call__(self, config: AdapterConfig) -> Probed:
        """What was found lately, or is found now. A failure is asked again at once."""
        key = repr(config)
        known = self._known.get(key)
        if known is not None and known[1].ok and time.monotonic() - known[0] < FRESH_S:
            return known[1]
        found = probed(config)
        self._known[key] = (time.monotonic(), found)
        return found
