"""Leavings: what a harness leaves behind, read carefully; how it was started, told without secrets."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from keisei.records.launch import Call, Launch
from keisei.records.report import AgentReport
from keisei.rules.redact import Redactor
from keisei.wiring.environment import Surroundings

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file that is read; a larger one counts as not left."""
PAYLOAD: Final = "AGENT_RUNTIME_TASK_PAYLOAD_JSON"
"""The payload stands in task.json already."""
MOST: Final = 100
"""Files of one pattern that are read."""


def left_behind(folder: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Files of the run folder that an adapter wants to see, by relative path. Links and pipes are left alone."""
    found: dict[str, bytes] = {}
    for pattern in patterns:
        for path in sorted(folder.glob(pattern))[:MOST]:
            data = _plain_file(path)
            if data is not None:
                found[path.relative_to(folder).as_posix()] = data
    return found


def _plain_file(path: Path) -> bytes | None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > LARGEST:
            return None
        return file.read(LARGEST)


def without_secrets(report: AgentReport, secrets: Iterable[str]) -> AgentReport:
    """The report with every known secret taken out, whatever form it has there, and as text that can be stored."""
    known = tuple(secrets)
    redactor = Redactor(known) if known else None
    return msgspec.convert(scrubbed(msgspec.to_builtins(report), redactor), AgentReport)


def scrubbed(value: Any, redactor: Redactor | None) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """JSON without secrets and without half surrogates, keys included, nothing cut."""
    if isinstance(value, str):
        return _text(value, redactor)
    if isinstance(value, dict):
        return {_text(key, redactor): scrubbed(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(item, redactor) for item in value]
    return value


def _text(text: str, redactor: Redactor | None) -> str:
    told = redactor.text(text) if redactor is not None else text
    return told if told.isascii() else told.encode("utf-8", "replace").decode("utf-8")


def invocation(what: Launch | Call, around: Surroundings) -> bytes:
    """invocation.json: how the harness was started. Secrets are names; input and body are digests."""
    redactor = Redactor(around.secrets)
    told: dict[str, Any]
    if isinstance(what, Launch):
        hidden = {*around.secret_names, PAYLOAD}
        shown = {name: value for name, value in what.env.items() if name not in hidden}
        told = {
            "argv": list(what.argv),
            "cwd": what.cwd,
            "env": shown,
            "secret_env": sorted(around.secret_names),
            "stdin_sha256": _digest(what.stdin),
            "timeout_s": what.timeout_s,
            "silence_s": what.silence_s,
        }
    else:
        told = {
            "method": what.method,
            "url": what.url,
            "headers": dict(what.headers),
            "body_sha256": _digest(what.body),
            "timeout_s": what.timeout_s,
        }
    return json.dumps(scrubbed(told, redactor), indent=2, ensure_ascii=False).encode("utf-8", "replace")


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
