"""Answers: the one JSON object an agent ends with, found among its prose. Linear in the text, whatever stands in it."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NoReturn

import msgspec

from keisei.rules.canonical import LARGEST as LARGEST_INTEGER

LONGEST: Final = 1_048_576
"""Characters of one answer; a longer object is none."""
DEEPEST: Final = 64
"""Objects and lists inside each other; deeper is no answer, and would exhaust whoever walks through it."""

KEYED: Final = re.compile(r'\{[ \t\r\n]*+"')
"""How an object with a key begins. Other braces in prose are code, or decoration."""
PIECE: Final = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{}]')
"""Braces, and strings that hide them. A string of JSON ends in its line, so a lone quote hides one line at most."""
NESTING: Final = re.compile(r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"?|[{}\[\]]')

NEAR: Final = 200
"""Characters before an object that tell whether it is a value."""

Span = tuple[int, int]
NOWHERE: Final[Span] = (-1, -1)


def last_object(text: str) -> dict[str, Any] | None:
    """The last balanced JSON object of a text, in a fence or not, with any prose around it. Never raises.

    The last one counts and nothing stands in for it: where it is cut off, does not parse, has a key twice, NaN, a
    number beyond every double, NUL or half a surrogate pair, the answer is None and not an earlier or an inner object,
    which may say the opposite. Items of a list and what stands in other braces are inner ones. Braces without a key say
    nothing and are passed over.
    """
    span = _last_span(text)
    return None if span is None or _is_item(text, span) else _parsed(text, span)


def reread(answer: Mapping[str, Any]) -> dict[str, Any] | None:
    """An answer that somebody else has parsed, if it fits what `last_object` asks of one. Never raises."""
    try:
        text = json.dumps(answer, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return None
    return _parsed(text, (0, len(text)))


def _last_span(text: str) -> Span | None:
    """Where the last object with keys stands that is in no other braces; None where there is none, or it never ends.

    Prose may quote a beginning without its end. What stands after it is then inside it, as far as braces go; only an
    object that begins anew counts as one of its own.
    """
    opened: list[int] = []
    inside: dict[int, Span] = {}
    last: Span = NOWHERE
    for place in _braces(text, opened):
        if text[place] == "{":
            opened.append(place)
            continue
        start = opened.pop()
        if not opened:
            last = (start, place + 1) if KEYED.match(text, start) else last
        elif KEYED.match(text, start) and _begins_anew(text, start):
            inside[opened[-1]] = (start, place + 1)
    last = max((inside[start] for start in opened if start in inside), default=last)
    cut = any(start > last[0] and KEYED.match(text, start) for start in opened)
    return None if cut or last is NOWHERE else last


def _braces(text: str, opened: list[int]) -> Iterator[int]:
    """Every brace that counts: while none is open, quotes are prose and a closing brace closes nothing."""
    place = text.find("{")
    while place >= 0:
        yield place
        if opened:
            match = PIECE.search(text, place + 1)
            while match is not None and text[match.start()] == '"':
                match = PIECE.search(text, match.end())
            place = -1 if match is None else match.start()
        else:
            place = text.find("{", place + 1)


def _begins_anew(text: str, start: int) -> bool:
    """Whether an object stands at the beginning of a line, and not as a value in what stands before it."""
    before = text[max(0, start - NEAR) : start]
    return before.endswith("\n") and not before.rstrip().endswith(("[", ",", '":'))


def _is_item(text: str, span: Span) -> bool:
    """Whether it stands in a list."""
    before, after = text[: span[0]].rstrip()[-1:], text[span[1] :].lstrip()[:1]
    return before in ("[", ",") and after in ("]", ",")


def _parsed(text: str, span: Span) -> dict[str, Any] | None:
    raw = text[slice(*span)]
    if len(raw) > LONGEST or _is_deep(raw):
        return None
    try:
        data = json.loads(raw, object_pairs_hook=_once, parse_constant=_refuse, parse_int=_integer, parse_float=_double)
        msgspec.json.encode(data)  # raises for half a surrogate pair, which no store takes
    except ValueError:
        return None
    has_nul = "\\u0000" in raw and any("\0" in each for each in _texts(data))
    return data if isinstance(data, dict) and not has_nul else None


def _is_deep(raw: str) -> bool:
    depth = 0
    for match in NESTING.finditer(raw):
        piece = raw[match.start()]
        depth += (piece in "{[") - (piece in "}]")
        if depth > DEEPEST:
            return True
    return False


def _once(items: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(items)
    if len(made) != len(items):
        message = "a key is written twice"
        raise ValueError(message)
    return made


def _refuse(constant: str) -> NoReturn:
    message = f"{constant} is not JSON"
    raise ValueError(message)


def _integer(text: str) -> int | float:
    """As a reader of doubles has it: what a double cannot count is not kept as if it could."""
    value = int(text)
    return value if abs(value) <= LARGEST_INTEGER else _double(text)


def _double(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        message = "a number beyond every double"
        raise ValueError(message)
    return value


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
