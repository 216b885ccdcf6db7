"""TOML, by tomllib."""

import re
import tomllib
from typing import Any

from keisei.library.locate import Position, position_at
from keisei.library.parser import Fault, Unparsed, long_number, lower_first, too_deep

MOST_DOTS = 65
NAME = r"(?:[A-Za-z0-9_-]++|\"[^\"\n]*\"|'[^'\n]*')"
LONG_KEY = re.compile(rf"(?:^|[{{,])[ \t]*+\[{{0,2}}+[ \t]*+((?:{NAME}[ \t]*+\.[ \t]*+){{{MOST_DOTS}}})", re.MULTILINE)
"""A dotted key of more parts than anybody nests; tomllib takes quadratic time for it."""
LONG_NUMBER = re.compile(r"[0-9_]{4300,}")
TWICE = ("cannot overwrite", "cannot declare", "duplicate inline")


def parse(text: str) -> Any:  # noqa: ANN401 - any data
    """The data. Raises Unparsed."""
    if _has_long_lines(text) and (found := LONG_KEY.search(text)):
        raise too_deep(position_at(text, found.start(1)))
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unparsed(_fault(str(error), text)) from error
    except RecursionError as error:
        raise too_deep(Position(1, 1)) from error
    except ValueError as error:
        number = LONG_NUMBER.search(text)
        raise long_number(position_at(text, number.start() if number else 0)) from error


def _has_long_lines(text: str) -> bool:
    """Whether some line has as many dots as a key that is too long."""
    return any(line.count(".") >= MOST_DOTS for line in text.split("\n"))


def _fault(told: str, text: str) -> Fault:
    place, message = _place(told, text)
    if message.startswith(TWICE):
        column = _repeated_key(text, place, message)
        return Fault("duplicate-key", Position(place.line, column), "this key or table is already there")
    return Fault("syntax", place, message, _hint(text, place.line))


def _place(told: str, text: str) -> tuple[Position, str]:
    message, _, place = told.rpartition(" (at ")
    numbers = re.search(r"line (\d+), column (\d+)", place)
    if numbers:
        return Position(int(numbers[1]), int(numbers[2])), lower_first(message)
    rows = text.rstrip("\n").split("\n")
    return Position(len(rows), len(rows[-1]) + 1), lower_first(message or told)


def _hint(text: str, line: int) -> str | None:
    """What people write from habit: null, True, and text without quotes."""
    rows = text.split("\n")
    key, _, value = (rows[line - 1] if line <= len(rows) else "").partition("=")
    key, value = key.strip(), value.split("#")[0].strip()
    if value in ("null", "nil", "None", "~"):
        return f'TOML has no null; leave the line out, or write `{key} = ""`'
    if value.lower() in ("true", "false"):
        return f"write `{value.lower()}`"
    if re.fullmatch(r"[A-Za-z_][\w-]*", value):
        return f'put text in quotes: `{key} = "{value}"`'
    return None


def _repeated_key(text: str, place: Position, message: str) -> int:
    """The column of the second key: tomllib stops behind its value."""
    row = text.split("\n")[place.line - 1]
    inline = re.search(r"inline table key '(.*)'", message)
    if inline:
        return max(row.rfind(inline[1], 0, place.column - 1), 0) + 1
    return len(row) - len(row.lstrip()) + 1
