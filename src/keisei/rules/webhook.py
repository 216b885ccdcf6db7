"""Webhooks: who has signed a request, and which sensor event it is. Pure: time and secrets arrive as arguments."""

import hashlib
import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from keisei.records.error import OperatorError
from keisei.records.form import JsonObject
from keisei.records.project import ProjectWebhook
from keisei.rules.standard_webhook import signature, signing_key

TOLERANCE_S: Final = 300
"""How far a signed time may be from ours, either way."""
SHORTEST: Final = 16
"""Bytes of a key of Standard Webhooks; senders choose them, and some choose fewer than the specification says."""
SHORTEST_TEXT: Final = 8
"""Bytes of a secret of GitHub, which people make up; a shorter one can be guessed."""
ID: Final = re.compile(r"[!-~]{1,256}")
"""A delivery id: visible characters, so that it can be a key."""
PLACES: Final = ("pull_request", "issue", "release", "discussion", "comment", "repository")
"""Where GitHub's events say what they are about, nearest first."""


class Delivery(NamedTuple):
    """A request whose signature holds."""

    delivery_id: str
    sent_at: datetime | None
    """The signed time; None where the sender signs none."""


class Bad(NamedTuple):
    """A request that is not what it should be."""

    why: str


def secret_key(kind: str, secret: str) -> bytes:
    """The key that a sender signs with. Raises OperatorError, without a word of the secret."""
    if kind != "github":
        return signing_key(secret, SHORTEST)
    key = secret.encode("utf-8", "surrogateescape")
    if len(key.strip()) < SHORTEST_TEXT:
        hint = "make a longer one, `openssl rand -hex 32`, and tell it to GitHub too"
        raise OperatorError(f"the secret of a webhook is shorter than {SHORTEST_TEXT} bytes", hint)
    return key


def verified(kind: str, key: bytes, headers: Mapping[str, str], body: bytes, now: datetime) -> Delivery | Bad:
    """The delivery, where its signature holds. `headers` are by name in lower case. Falls closed."""
    return _github(key, headers, body) if kind == "github" else _standard(key, headers, body, now)


def _github(key: bytes, headers: Mapping[str, str], body: bytes) -> Delivery | Bad:
    given = headers.get("x-hub-signature-256", "")
    expected = f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"
    if not hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode()):
        return Bad("the signature does not hold")
    delivery_id = headers.get("x-github-delivery", "")
    return Delivery(delivery_id, None) if ID.fullmatch(delivery_id) else Bad("X-GitHub-Delivery is missing")


def _standard(key: bytes, headers: Mapping[str, str], body: bytes, now: datetime) -> Delivery | Bad:
    message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not ID.fullmatch(message_id) or not re.fullmatch(r"[0-9]{1,12}", stamp, re.ASCII):
        return Bad("webhook-id or webhook-timestamp is missing")
    sent_at = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=min(int(stamp), 253_402_300_799))
    if abs(now - sent_at) > timedelta(seconds=TOLERANCE_S):
        return Bad("webhook-timestamp is too far from now")
    expected = signature(message_id, stamp, body, key).encode()
    given = headers.get("webhook-signature", "").split(" ")[:10]
    # Every one is compared, so that the time taken tells nothing.
    holds = [hmac.compare_digest(each.encode("utf-8", "replace"), expected) for each in given]
    return Delivery(message_id, sent_at) if any(holds) else Bad("the signature does not hold")


def is_wanted(hook: ProjectWebhook, headers: Mapping[str, str], body: JsonObject) -> bool:
    """Whether the kind of event is one that is listened to: `push`, or with its action `pull_request.opened`."""
    if hook.kind == "github":
        name, action = headers.get("x-github-event", ""), body.get("action")
        if name == "ping":
            return False
        kinds = {name, f"{name}.{action}"}
    else:
        kinds = {str(body.get("type", ""))}
    return not hook.events or not kinds.isdisjoint(hook.events)


def event_data(
    name: str, hook: ProjectWebhook, delivery: Delivery, body: JsonObject, now: datetime
) -> JsonObject | Bad:
    """The sensor event of a delivery, as data for the door; Bad where the body lacks what the table points at."""
    key: str | None = delivery.delivery_id
    if hook.dedupe is not None:
        key = _text_at(body, hook.dedupe)
        if key is None:
            return Bad(f"the body has no value at {hook.dedupe}")
    seen_at = delivery.sent_at or now
    data: JsonObject = {
        "sensor_id": f"webhook:{name}",
        "event_id": delivery.delivery_id,
        "observed_at": seen_at.isoformat(),
        "source_ref": _source_ref(name, hook, delivery, body),
        "dedupe_key": key,
        "payload": body,
    }
    if hook.freshness_s is not None:
        data["freshness_deadline"] = (seen_at + timedelta(seconds=min(hook.freshness_s, 1e9))).isoformat()
    if hook.task is not None:
        data["proposed_task"] = _task(name, hook.task, body)
    if hook.workflow is not None:
        workflow = _workflow(hook.workflow, body)
        if isinstance(workflow, Bad):
            return workflow
        data["proposed_workflow"] = workflow
    return data


def _task(name: str, task: JsonObject, body: JsonObject) -> JsonObject:
    payload = task.get("payload", {})
    filled = {**payload, "event": body} if isinstance(payload, dict) else payload
    return {"source": f"webhook:{name}", **task, "payload": filled}


def _workflow(workflow: JsonObject, body: JsonObject) -> JsonObject | Bad:
    key, context = workflow.get("instance_key"), workflow.get("context") or {}
    if isinstance(key, str) and key.startswith("/"):
        pointed = _text_at(body, key)
        if pointed is None:
            return Bad(f"the body has no value at {key}")
        key = pointed
    told = {**context, "event": body} if isinstance(context, dict) else context
    return {**workflow, "instance_key": key, "context": told}


def _source_ref(name: str, hook: ProjectWebhook, delivery: Delivery, body: JsonObject) -> str:
    """Where to look for oneself, as the sender says it; else the delivery."""
    places = PLACES if hook.kind == "github" else ()
    for place in places:
        found = body.get(place)
        url = found.get("html_url") if isinstance(found, dict) else None
        if isinstance(url, str) and url.startswith("https://") and url.isprintable() and len(url) <= 512:  # noqa: PLR2004
            return url
    return f"webhook:{name}:{delivery.delivery_id}"


def _text_at(body: JsonObject, pointer: str) -> str | None:
    """The value at a JSON pointer, as text; None where there is none, or no plain one."""
    found = pointed(body, pointer)
    if isinstance(found, bool) or not isinstance(found, str | int):
        return None
    return str(found) or None


def pointed(value: Any, pointer: str) -> Any:  # noqa: ANN401 - JSON
    """What stands at a JSON pointer (RFC 6901); None where nothing does."""
    if pointer == "":
        return value
    if not pointer.startswith("/"):
        return None
    for step in pointer[1:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and re.fullmatch(r"0|[1-9][0-9]{0,8}", key, re.ASCII) and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value
