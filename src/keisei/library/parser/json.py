"""JSON, by the standard library; a key written twice is refused."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from keisei.library.locate import Path, Position, nearest, position_at
from keisei.library.locate.json import positions
from keisei.library.parser import Fault, Unparsed, long_number, lower_first, too_deep

LONG_NUMBER = re.compile(r"[0-9]{4300,}")
MOST = 20
"""Keys written twice that are told of one text."""


def parse(text: str) -> Any:  # noqa: ANN401 - any data
    """The data. Raises Unparsed."""
    twice: dict[int, list[str]] = {}
    kept: list[dict[str, Any]] = []  # an id means an object only while the object lives

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(items)
        if len(made) != len(items):
            kept.append(made)
            twice[id(made)] = [key for key, count in Counter(key for key, _ in items).items() if count > 1]
        return made

    try:
        data = json.loads(text, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise Unparsed(_fault(error, text)) from error
    except RecursionError as error:
        raise too_deep(Position(1, 1)) from error
    except ValueError as error:
        number = LONG_NUMBER.search(text)
        raise long_number(position_at(text, number.start() if number else 0)) from error
    if twice:
        raise Unparsed(*islice(_duplicates(text, data, twice), MOST))
    return data


def _fault(error: json.JSONDecodeError, text: str) -> Fault:
    """The complaint. Pythons differ about a comma too many: some point at it, some behind it."""
    before, after = text[: error.pos].rstrip(), text[error.pos :].lstrip()
    comma = error.pos if after.startswith(",") else len(before) - 1
    if text[comma : comma + 1] == "," and after.lstrip(", \t\r\n")[:1] in ("]", "}"):
        return Fault("syntax", position_at(text, comma), "a comma before the end", "remove the comma")
    return Fault("syntax", Position(error.lineno, error.colno), lower_first(error.msg))


def _duplicates(text: str, data: object, twice: dict[int, list[str]]) -> Iterator[Fault]:
    where = positions(text).keys
    for path, value in _walked(data):
        for key in twice.get(id(value), ()):
            yield Fault("duplicate-key", nearest(where, (*path, key)), f"the key `{key}` is written twice")


def _walked(data: object) -> Iterator[tuple[Path, object]]:
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend(((*path, index), item) for index, item in enumerate(value))
