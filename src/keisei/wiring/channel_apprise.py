"""Apprise channels: a message is handed to the package apprise, in a process of its own that ends in time."""

import json
import sys
import threading
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from keisei.engine.deliver import Failed
from keisei.records.error import OperatorError, WorldFault
from keisei.records.launch import Exit, Launch
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectChannel
from keisei.rules.delivery import words_of
from keisei.sandbox.process import open_process
from keisei.wiring import apprise_program
from keisei.wiring.surroundings import PASSED_ON

TIMEOUT_S: Final = 30.0
PASSED: Final = (*PASSED_ON, "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
TURN_S: Final = 0.2


def notify(channel: ProjectChannel, item: OutboxItem, env: Mapping[str, str], cancel: threading.Event) -> Failed | None:
    """Hand a message over. None: it arrived. Raises OperatorError where the channel is not one that could ever work."""
    if channel.url is not None or channel.url_env is None:
        raise OperatorError("the address of apprise holds secrets", "say `url-env`, the variable that holds it")
    if find_spec("apprise") is None:
        raise _missing()
    url = env.get(channel.url_env, "").strip()
    if not url:
        return Failed(reason=f"the variable `{channel.url_env}` with the address is not set where this runner runs")
    title, text = words_of(item.payload)
    try:
        ended = _run({"url": url, "title": title, "body": text, "timeout_s": TIMEOUT_S}, env, cancel)
    except WorldFault as fault:
        return Failed(reason=fault.message)
    return _verdict(ended)


def _run(order: Mapping[str, object], env: Mapping[str, str], cancel: threading.Event) -> Exit:
    """The address goes in by standard input: command lines and environments can be read by others."""
    launch = Launch(
        argv=(sys.executable, "-I", str(Path(apprise_program.__file__))),
        cwd="/",
        env={name: env[name] for name in PASSED if name in env},
        stdin=json.dumps(order).encode(),
        timeout_s=TIMEOUT_S,
        output_cap=4096,
    )
    with open_process(launch) as process:
        while process.pump(TURN_S):
            if cancel.is_set():
                process.cancel()
        return process.wait()


def _verdict(ended: Exit) -> Failed | None:
    """Only the exit code and a number are believed: what a service says may repeat the address."""
    if ended.timed_out:
        return Failed(reason=f"apprise did not end within {TIMEOUT_S:g} seconds")
    if ended.canceled:
        return Failed(reason="the runner ended before apprise did")
    if ended.code == apprise_program.SENT:
        return None
    if ended.code == apprise_program.MISSING:
        raise _missing()
    if ended.code == apprise_program.UNKNOWN:
        raise OperatorError("apprise does not know such an address", "`apprise --details` lists what it knows")
    status = ended.stdout.decode("ascii", "replace").strip()
    told = f": the service answered {status}" if status.isdecimal() else ""
    return Failed(reason=f"apprise could not deliver it{told}")


def _missing() -> OperatorError:
    return OperatorError("the package apprise is not installed", "pip install 'keisei[apprise]'")
