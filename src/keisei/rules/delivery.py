"""Delivery: which channel a message names, what it says, when it is tried again. Time arrives as an argument."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, Final, NamedTuple

from keisei.records.outbox import OutboxItem

FIRST_S: Final = 10.0
"""The wait before the second try; it doubles every time."""
CAP_S: Final = 3600.0
"""The longest wait between two tries, whoever asks for it."""
TRIES: Final = 8
"""So many failures in a row end a message: about 21 minutes where nobody asks for longer waits."""
MOST: Final = 50
"""Messages of one outcome; the others are dead letters, and nobody is asked about them."""
CONSOLE: Final = "console"
"""Where a message that names no channel goes."""
TEXTS: Final = ("text", "body", "message", "content")
TITLES: Final = ("title", "subject")
LONGEST: Final = 32_768
"""Characters of a message that are shown to people; all of it is in the row."""


class Words(NamedTuple):
    """A message for people."""

    title: str
    """Empty where it has none."""
    text: str


def next_try(tries: int, now: datetime, asked_s: float | None = None) -> datetime | None:
    """When a message that has failed so often is tried again; None where it is not. The receiver may ask for longer."""
    if tries >= TRIES:
        return None
    wait = min(FIRST_S * 2 ** (max(1, tries) - 1), CAP_S)
    return now + timedelta(seconds=max(wait, min(asked_s or 0.0, CAP_S)))


def asked_wait_s(header: str | None, now: datetime) -> float | None:
    """What a Retry-After header asks for, in seconds or as a date; None where it cannot be read."""
    if header is None:
        return None
    if header.strip().isascii() and header.strip().isdecimal():
        return min(float(header.strip()[:12]), CAP_S)
    try:
        moment = parsedate_to_datetime(header)
        aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        return max(0.0, min((aware - now).total_seconds(), CAP_S))
    except (ValueError, TypeError, OverflowError):
        return None


def channel_of(payload: Mapping[str, Any]) -> str:
    """The channel a message names."""
    return str(payload.get("channel", CONSOLE))


def words_of(payload: Mapping[str, Any]) -> Words:
    """What a message says, from the keys in which agents write it; where it has none of them, all of it as JSON."""
    text = next((found for name in TEXTS if isinstance(found := payload.get(name), str) and found.strip()), None)
    title = next((found for name in TITLES if isinstance(found := payload.get(name), str)), "")
    said = text if text is not None else json.dumps(dict(payload), ensure_ascii=False, default=str)
    return Words(" ".join(title.split())[:200], said if len(said) <= LONGEST else f"{said[: LONGEST - 1]}…")


def number_of(key: str) -> int | None:
    """The number of a row among those of its kind that one outcome asks for; None for rows that no outcome asks for."""
    parts = key.split("/")
    whole = len(parts) == 3 and parts[2].lstrip("-").isascii() and parts[2].lstrip("-").isdecimal()  # noqa: PLR2004
    return int(parts[2]) if whole else None


def is_notice(item: OutboxItem) -> bool:
    """Whether the runtime tells it, and not an agent."""
    number = number_of(item.key)
    return item.attempt_id is None or number is None or number < 0
