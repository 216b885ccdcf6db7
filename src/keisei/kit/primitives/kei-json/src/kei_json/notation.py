"""Notations: texts that say what JSON can say. Each reader raises Malformed, with the line."""

import csv
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, time
from typing import Any, NoReturn

from kei_json.context import Context, Data
from kei_json.value import DEEPEST, Json, shown

PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")
_KEY = r"""(?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
DOTTED = re.compile(rf"(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*{_KEY}(?:[ \t]*\.[ \t]*{_KEY}){{{DEEPEST}}}")
"""A key of TOML that stands deeper than a value may; reading it takes room that grows faster than it does."""
LONGEST_NUMBER = 400
"""Characters of a number; more would be read in time that grows faster than they do."""


def malformed(context: Context, line: int | None, message: str) -> Exception:
    """The error of a text that cannot be read."""
    return context.error("Malformed", message if line is None else f"line {line}: {message}")


# --- JSON ------------------------------------------------------------------------------------------------------------


def json_value(context: Context, text: str, line: int = 1) -> Json:
    """One JSON text. A key that stands twice is refused: readers do not agree which of them counts."""
    try:
        return json.loads(
            text, parse_int=_integer, parse_float=_float, parse_constant=_constant, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        raise malformed(context, line + error.lineno - 1, f"column {error.colno}: {error.msg}") from error
    except ValueError as error:
        raise malformed(context, line, str(error)) from error
    except RecursionError as error:
        raise context.error("TooDeep", f"more than {DEEPEST} lists and objects stand inside each other") from error


def json_lines(context: Context, text: str) -> list[Json]:
    """One JSON text a line; blank lines count as lines and hold nothing."""
    numbered = enumerate(text.split("\n"), start=1)
    return [json_value(context, line, number) for number, line in numbered if line.strip()]


def _integer(text: str) -> int:
    return int(_short(text))


def _float(text: str) -> float:
    return float(_short(text))


def _short(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        message = f"a number has more than {LONGEST_NUMBER} characters"
        raise ValueError(message)
    return text


def _constant(text: str) -> NoReturn:
    message = f"{text} is no number of JSON"
    raise ValueError(message)


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    made = dict(pairs)
    if len(made) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        message = f"the key {shown(key)} stands twice in one object"
        raise ValueError(message)
    return made


# --- TOML ------------------------------------------------------------------------------------------------------------


def toml_value(context: Context, text: str) -> Json:
    """A TOML document. Dates and times become texts, as ISO 8601 writes them."""
    if any(line.count(".") >= DEEPEST and DOTTED.search(line) for line in text.split("\n")):
        raise context.error("TooDeep", f"a key names more than {DEEPEST} tables inside each other")
    try:
        return _plain(tomllib.loads(text, parse_float=_float))
    except tomllib.TOMLDecodeError as error:
        place = PLACE.search(str(error))
        line = int(place[1]) if place and place[1] else text.count("\n") + 1
        raise malformed(context, line, PLACE.sub("", str(error))) from error
    except RecursionError as error:
        raise context.error("TooDeep", f"more than {DEEPEST} lists and tables stand inside each other") from error
    except ValueError as error:
        raise malformed(context, None, str(error)) from error


def _plain(value: Any) -> Json:  # noqa: ANN401 - any TOML
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, date | time) else value


# --- CSV -------------------------------------------------------------------------------------------------------------


def csv_rows(context: Context, text: str, delimiter: str) -> list[Data]:
    """Rows as objects; the first row names the fields, and every value is a text."""
    rows = _rows(context, text, delimiter)
    first, names = next(rows, (1, []))
    if "" in names or len(set(names)) < len(names):
        raise malformed(context, first, "the first row names the fields: each has a name, and no two have the same")
    return [_named(context, names, line, row) for line, row in rows]


def _rows(context: Context, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not blank, with the line each ends on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        yield from ((reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise malformed(context, reader.line_num, str(error)) from error


def _named(context: Context, names: list[str], line: int, row: list[str]) -> Data:
    if len(row) != len(names):
        raise malformed(context, line, f"the row has {len(row)} fields, and the first row names {len(names)}")
    return dict(zip(names, row, strict=True))
