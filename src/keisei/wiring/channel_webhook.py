"""Webhook channels: a message is posted by Standard Webhooks, to where the operator said and nowhere else."""

import json
import threading
from collections.abc import Mapping
from datetime import datetime
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from keisei import __version__
from keisei.engine.deliver import Failed
from keisei.records.error import OperatorError, WorldFault
from keisei.records.launch import Call, Exit
from keisei.records.outbox import OutboxItem
from keisei.records.project import ProjectChannel
from keisei.rules.delivery import asked_wait_s, is_notice
from keisei.rules.standard_webhook import message_id, signed_headers, signing_key
from keisei.sandbox.http import call
from keisei.sandbox.stream import Name

TIMEOUT_S: Final = 20.0
"""For everything together; the specification recommends 15 to 30 seconds."""
ANSWER: Final = 1024
"""Bytes of an answer that are listened to; only its status matters."""
LARGEST: Final = 262_144
"""Bytes of a message."""
WAITS: Final = frozenset({429, 503})
GONE: Final = 410
REDIRECTS: Final = range(300, 400)
SUCCESSES: Final = range(200, 300)


def post(
    channel: ProjectChannel, item: OutboxItem, at: datetime, env: Mapping[str, str], cancel: threading.Event
) -> Failed | None:
    """Post a message. None: it arrived. Raises OperatorError where the channel is not one that could ever work."""
    url = _address(channel, env)
    if url is None:
        return Failed(reason=f"the variable `{channel.url_env}` with the address is not set where this runner runs")
    if channel.secret_env is None:
        raise OperatorError("a webhook needs a secret to sign with", "add `secret-env`, the variable that holds it")
    secret = env.get(channel.secret_env, "")
    if not secret:
        return Failed(reason=f"the variable `{channel.secret_env}` with the secret is not set where this runner runs")
    body = _body(item)
    if len(body) > LARGEST:
        return Failed(reason=f"the message has {len(body)} bytes; a webhook takes {LARGEST}", gone=True)
    headers = signed_headers(message_id(item.key), at, body, signing_key(secret))
    headers |= {"Content-Type": "application/json", "User-Agent": f"keisei/{__version__}"}
    request = Call(method="POST", url=url, headers=headers, body=body, timeout_s=TIMEOUT_S, output_cap=ANSWER)
    return _verdict(_called(request, cancel), at)


def _address(channel: ProjectChannel, env: Mapping[str, str]) -> str | None:
    """Where it goes; None where the variable is not set. Raises OperatorError for an address that is not safe."""
    if (channel.url is None) == (channel.url_env is None):
        raise OperatorError("a webhook has one address", "say `url`, or `url-env` where it is a secret")
    url = channel.url if channel.url_env is None else env.get(channel.url_env, "").strip()
    if not url:
        return None
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError as error:
        raise OperatorError("the address of the webhook cannot be read") from error
    if not host or parts.scheme not in ("http", "https"):
        raise OperatorError("the address of the webhook begins with https:// and names a host")
    if parts.scheme == "http" and not _is_loopback(host):
        raise OperatorError(
            "the address of the webhook is plain http, which everybody on the way can read", "use https"
        )
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _body(item: OutboxItem) -> bytes:
    """What is sent. What an agent wrote stands in `message`, and nothing beside it is the agent's."""
    data: dict[str, Any] = {
        "type": "keisei.notice" if is_notice(item) else "keisei.message",
        "timestamp": item.created_at.isoformat().replace("+00:00", "Z"),
        "data": {"key": item.key, "task_id": item.task_id, "attempt_id": item.attempt_id, "message": item.payload},
    }
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _called(request: Call, cancel: threading.Event) -> Exit:
    """Make the call, and hang up on an answer that goes on and on."""
    enough = _Enough(cancel)

    def listen(_name: Name, piece: bytes) -> None:
        enough.heard += len(piece)

    try:
        return call(request, listen, enough)
    except WorldFault as fault:
        raise OperatorError(fault.message, fault.hint) from fault


class _Enough(threading.Event):
    """Set when the runner ends, or when so much was heard that only noise can follow."""

    def __init__(self, cancel: threading.Event) -> None:
        super().__init__()
        self._cancel = cancel
        self.heard = 0

    def is_set(self) -> bool:
        return self.heard > ANSWER or self._cancel.is_set()


def _verdict(ended: Exit, now: datetime) -> Failed | None:
    status = ended.http_status
    if status is None:
        if ended.timed_out:
            return Failed(reason=f"no answer within {TIMEOUT_S:g} seconds")
        return Failed(reason=ended.fault or "the runner ended before there was an answer")
    if status in SUCCESSES:
        return None
    if status == GONE:
        return Failed(reason="the receiver answered 410: it wants no more messages", gone=True)
    if status in REDIRECTS:
        return Failed(reason=f"the receiver answered {status}: a redirect is not followed; say where it leads to")
    wait = asked_wait_s(ended.http_headers.get("retry-after"), now) if status in WAITS else None
    return Failed(reason=f"the receiver answered {status}", retry_after_s=wait)
