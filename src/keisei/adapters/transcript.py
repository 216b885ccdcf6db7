"""Transcripts: JSON lines of a harness, read with care. An agent has a hand in every byte of them."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import msgspec

from keisei.contracts.hook import one_line, read_json
from keisei.records.attempt import Usage
from keisei.records.form import JsonObject
from keisei.records.report import ToolUse
from keisei.rules.chain import input_digest

MOST = 9_007_199_254_740_991
"""The largest count that every JSON reader holds."""
LONGEST = 200
"""Characters of an id or a name."""


class Unreadable(JsonObject):
    """A line that begins like an object and is none."""


def objects(data: bytes) -> Iterator[JsonObject]:
    """The objects, one a line, in order; other lines are noise. A whole line that cannot be read comes as Unreadable.

    The last line may be half a line, because somebody ended the harness: that one is passed over.
    """
    for line in BytesIO(data):
        if line.lstrip()[:1] != b"{":
            continue
        found = json_object(line)
        if found is not None:
            yield found
        elif line.endswith(b"\n"):
            yield Unreadable()


def json_object(data: bytes) -> JsonObject | None:
    """The object these bytes are, or None. Half a surrogate pair and bytes that are not UTF-8 are read as `?`."""
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        value = _forgiving(data)
    return value if isinstance(value, dict) else None


def _forgiving(data: bytes) -> Any:  # noqa: ANN401 - JSON
    """What the strict reader refuses but harnesses write: broken text must not hide the call it stands in."""
    try:
        value = json.loads(data.decode("utf-8", "replace"), parse_constant=_nothing)
        whole = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return json.loads(whole, parse_constant=_nothing)
    except (ValueError, RecursionError):
        return None


def _nothing(_: str) -> None:
    """What NaN and infinity are read as."""


def envelope(value: object) -> JsonObject | None:
    """The value where it is an object of bounded depth and size, which every later reader can hold."""
    if not isinstance(value, dict):
        return None
    try:
        bounded = read_json(msgspec.json.encode(value))
    except (ValueError, RecursionError, msgspec.MsgspecError):
        return None
    return bounded if isinstance(bounded, dict) else None


def table(value: object) -> JsonObject:
    """The value where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str | None:
    """The value where it is a string, in characters that can be written down."""
    return value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None


def name(value: object) -> str | None:
    """The value where it is an id or a name: short, printable, not empty."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST and value.isprintable():
        return value
    return None


def count(value: object) -> int | None:
    """The value where it counts something. Unknown is None and never 0."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
        return value
    return None


def amount(value: object) -> float | None:
    """The value where it is an amount of money."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST:
        return float(value)
    return None


def total(values: list[int | None]) -> int | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return min(sum(known), MOST) if known else None


def told(usage: Usage) -> Usage | None:
    """The usage, or None where it says nothing."""
    return usage if any(value is not None for value in msgspec.structs.astuple(usage)) else None


def digest_of(value: object) -> str | None:
    """The digest that the gate has of this input; None for what is no object, or has none."""
    try:
        return input_digest(value) if isinstance(value, dict) else None
    except ValueError:
        return None


class Calls:
    """The tool calls of a transcript in order. A call that is told twice, word for word, counts once."""

    def __init__(self) -> None:
        self._all: list[ToolUse] = []
        self._last: dict[str, int] = {}

    def add(self, call_id: object, tool: object, digest: str | None = None, unasked: str | None = None) -> None:
        """Note a call. An id or a name that is none is written `?`: the call still has to be accounted for."""
        call = ToolUse(id=name(call_id) or "?", tool=name(tool) or "?", input_digest=digest, unasked=unasked)
        known = self._last.get(call.id)
        if known is None or msgspec.structs.replace(self._all[known], unasked=unasked) != call:
            self._last[call.id] = len(self._all)
            self._all.append(call)

    def turned_away(self, call_id: object, why: str) -> None:
        """Note that the harness did not run the last call with this id."""
        known = self._last.get(name(call_id) or "")
        if known is not None:
            self._all[known] = msgspec.structs.replace(self._all[known], unasked=one_line(why, LONGEST))

    def knows(self, call_id: object) -> bool:
        """Whether a call has this id."""
        return (name(call_id) or "?") in self._last

    def all(self) -> tuple[ToolUse, ...]:
        """Every call."""
        return tuple(self._all)
