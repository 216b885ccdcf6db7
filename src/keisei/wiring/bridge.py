"""Bridges of the original: events of GitHub and Discord as intents. The same event twice is the same task."""

from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei.records.error import OperatorError
from keisei.rules.canonical import digest

STORY: Final = "Explain what changed and why it matters."
REPLY: Final = "Draft a concise Discord reply."


class GithubEvent(Struct, frozen=True, kw_only=True):
    """What the original's GitHub bridge reads of an event."""

    event: str
    """What happened, as `pull_request.closed`."""
    repository: str
    """Owner and name."""
    title: str
    """Of the pull request."""
    number: int
    """Of the pull request."""
    author: str
    """Who made it."""
    url: str
    """Where it stands."""
    merged: bool = False
    """Whether it was merged."""
    summary: str = ""
    """What it is about."""
    operator_question: str = STORY
    """What is to be told."""


class DiscordEvent(Struct, frozen=True, kw_only=True):
    """What the original's Discord bridge reads of an event."""

    event: str
    """What happened, as `discord.mention`."""
    channel: str
    """Where."""
    author: str
    """Who said it."""
    message: str
    """What was said."""
    reply_style: str = "short"
    """How to answer."""
    operator_goal: str = REPLY
    """What the answer is for."""


def github_intent(data: object) -> dict[str, Any]:
    """The story that an event asks for, under the default profile. Raises OperatorError for another shape."""
    event = _read(data, GithubEvent, "GitHub")
    return _intent("github", "github-story", 7, msgspec.to_builtins(event), data)


def discord_intent(data: object) -> dict[str, Any]:
    """The reply that an event asks for, under the default profile. Raises OperatorError for another shape."""
    event = _read(data, DiscordEvent, "Discord")
    return _intent("discord", "discord-reply", 6, msgspec.to_builtins(event), data)


def _read(data: object, kind: type[Struct], house: str) -> Struct:
    """Keys with null are as good as not there; others that nobody knows are left alone, as in the original."""
    given = {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        needed = ", ".join(each.name for each in msgspec.structs.fields(kind) if each.required)
        message = f"this is no {house} event: {str(error).replace('`$', '`event')}"
        raise OperatorError(message, f"an event has {needed}") from error


def _intent(bridge: str, task_type: str, priority: int, event: dict[str, Any], data: object) -> dict[str, Any]:
    """The whole event is its key: what says the same is the same, an `id` of its own makes it another."""
    try:
        key = digest(data)
    except ValueError as error:
        raise OperatorError(f"the event cannot be kept: {error}", "give one JSON object") from error
    return {
        "task_type": task_type,
        "source": f"{bridge}-bridge",
        "priority": priority,
        "payload": {name: value for name, value in event.items() if name != "event"},
        "idempotency_key": f"bridge:{bridge}:{key}",
    }
