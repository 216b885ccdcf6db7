"""What the runtime itself tells an attempt: its variables, and the arguments of a script."""

from collections.abc import Mapping
from typing import Any, Final

from keisei.records.move import Claimed
from keisei.wiring.shop import Shop
from keisei.wiring.site import Site

REPORT: Final = "report.md"
"""The file of an attempt's room in which it may leave its report instead of saying it."""
LARGEST_VALUE: Final = 96 * 1024
"""Bytes of a payload that still travels as a variable; a larger one is a file only."""


def variables(shop: Shop, claimed: Claimed, site: Site) -> dict[str, str]:
    """What the runtime tells an attempt. A payload that is too large for a variable is a file only."""
    payload = site.room / "payload.json"
    own = {
        "HOME": str(site.room / "home"),
        "TMPDIR": str(site.room / "tmp"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "AGENT_REPORT_PATH": str(site.room / REPORT),
        "KEISEI_ATTEMPT_ID": claimed.attempt.attempt_id,
        "AGENT_RUNTIME_NAME": shop.name,
        "AGENT_RUNTIME_TASK_ID": claimed.task.task_id,
        "AGENT_RUNTIME_ATTEMPT_ID": claimed.attempt.attempt_id,
        "AGENT_RUNTIME_ARTIFACT_DIR": str(shop.artifact_folder(claimed.task)),
        "AGENT_RUNTIME_STATE_DIR": str(shop.state or site.room),
        "AGENT_RUNTIME_TASK_PAYLOAD_FILE": str(payload),
    }
    raw = payload.read_bytes()
    return own if len(raw) > LARGEST_VALUE else {**own, "AGENT_RUNTIME_TASK_PAYLOAD_JSON": raw.decode("utf-8")}


def arguments(payload: Mapping[str, Any]) -> tuple[str, ...]:
    """The arguments a payload gives to a script; what is no text is left out, as in the original."""
    args = payload.get("args")
    return tuple(each for each in args if isinstance(each, str)) if isinstance(args, list) else ()
