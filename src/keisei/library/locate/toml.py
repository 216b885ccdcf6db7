"""TOML positions: one pass, no recursion, every character matched a bounded number of times."""

import re
import tomllib
from contextlib import suppress

from keisei.library.locate import Place, Positions

# Groups that repeat are not possessive: Python 3.11.0 to 3.11.4 gets those wrong (python/cpython#106052).
BLANK = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*")
DOT = re.compile(r"[ \t]*+\.[ \t]*+")
EQUALS = re.compile(r"[ \t]*+=[ \t]*+")
HEADER = re.compile(r"\[\[?[ \t]*+")
HEADER_END = re.compile(r"[ \t]*+\]\]?")
NAME = re.compile(
    r"""
      [A-Za-z0-9_-]++
    | "(?:[^"\\\r\n]++|\\.)*"
    | '[^'\r\n]*+'
    """,
    re.VERBOSE,
)
# A short string never starts with three quotes: an unclosed long string must not be tried as a short one, or a hostile
# text makes us look for the same closing quotes again and again. The last line is a number, a date (which may have a
# space inside) or a boolean.
SCALAR = re.compile(
    r'''
      """(?:[^"\\]++|\\.|"(?!""))*"{3,5}
    | \'\'\'(?:[^']++|'(?!''))*'{3,5}
    | (?!""")"(?:[^"\\\r\n]++|\\[^\r\n])*"
    | (?!\'\'\')'[^'\r\n]*+'
    | [^"'\[\]{},\#\r\n]++
    ''',
    re.VERBOSE | re.DOTALL,
)

# Nearly every line is one of these two, and is read at once; whatever is not takes the way piece by piece.
PAIR = re.compile(r"""([A-Za-z0-9_-]++)[ \t]*+=[ \t]*+("(?!"")[^"\\\r\n]*+"|'(?!'')[^'\r\n]*+'|[^"'\[\]{},\#\r\n]++)""")
LIST_HEADER = re.compile(r"\[\[([A-Za-z0-9_-]++)\]\]")
BETWEEN = re.compile(r"(?:[ \t\r\n,]++|#[^\n]*+)*")

Part = tuple[str, int]
"""One name of a dotted key, and its offset."""


def positions(text: str) -> Positions:
    """Return the positions of a text that `tomllib.loads` has accepted.

    The root table starts at line 1 column 1. A table made by several headers stands at the one that defines it. Never
    raises: a text that is not TOML gives what could be told of it up to the first thing that makes no sense.
    """
    scanner = _Scanner(text)
    with suppress(_LostError, tomllib.TOMLDecodeError):
        scanner.read_document()
    return scanner.root.positions(text)


class _LostError(Exception):
    """The text is not TOML from here on."""


class _Scanner:
    """A cursor over the text, and the table that the next key belongs to. Every method may raise _LostError."""

    def __init__(self, text: str) -> None:
        self.root = Place(value=0)
        self._text = text
        self._at = 0
        self._table = self.root
        self._open: list[tuple[Place, bool]] = []

    def read_document(self) -> None:
        self._take(BLANK)
        while self._at < len(self._text):
            self._read_statement()
            self._take(BLANK)

    def _read_statement(self) -> None:
        if self._read_pair(self._table):
            return
        if self._peek() == "[":
            self._table = self._read_header()
        else:
            self._read_value(self._read_key(self._table))

    def _read_pair(self, table: Place) -> bool:
        """Read a plain key with a plain value at once; False where there is none."""
        found = PAIR.match(self._text, self._at)
        if found is None:
            return False
        table.add(found[1], key=found.start(), value=found.start(2))
        self._at = found.end()
        return True

    def _read_header(self) -> Place:
        start = self._at
        if found := LIST_HEADER.match(self._text, start):
            self._at = found.end()
            return _append(self.root, (found[1], start + 2), start)
        is_list = self._take(HEADER).startswith("[[")
        *parents, last = self._read_parts()
        self._take(HEADER_END)
        parent = _descend(self.root, parents, start)
        return _append(parent, last, start) if is_list else _define(parent, last, start)

    def _read_key(self, table: Place) -> Place:
        """Read a key and its equals sign; return the place of the value that follows."""
        start = self._at
        *parents, (name, offset) = self._read_parts()
        self._take(EQUALS)
        return _descend(table, parents, start).add(name, key=offset)

    def _read_parts(self) -> list[Part]:
        parts = [self._read_part()]
        while DOT.match(self._text, self._at):
            self._take(DOT)
            parts.append(self._read_part())
        return parts

    def _read_part(self) -> Part:
        offset = self._at
        return _decode(self._take(NAME)), offset

    def _read_value(self, place: Place) -> None:
        self._begin(place)
        while self._open:
            self._take(BETWEEN)
            self._read_inside()

    def _begin(self, place: Place) -> None:
        """Read a scalar, or the bracket that opens an array or an inline table."""
        bracket = self._peek()
        place.value = self._at
        if bracket in ("[", "{"):
            self._open.append((place, bracket == "["))
            self._at += 1
        else:
            self._take(SCALAR)

    def _read_inside(self) -> None:
        """Read the next piece of the innermost array or inline table."""
        place, is_list = self._open[-1]
        mark = self._peek()
        if mark in ("]", "}"):
            self._open.pop()
            self._at += 1
        elif is_list or not self._read_pair(place):
            self._begin(place.append(key=self._at) if is_list else self._read_key(place))

    def _peek(self) -> str:
        if self._at == len(self._text):
            raise _LostError
        return self._text[self._at]

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._at)
        if match is None:
            raise _LostError
        self._at = match.end()
        return match.group()


def _descend(place: Place, parts: list[Part], start: int) -> Place:
    """Follow the names to the table they mean; those not there yet are made, and stand at start."""
    for name, offset in parts:
        place = _newest(place.children.get(name) or place.add(name, key=offset, value=start))
    return place


def _newest(place: Place) -> Place:
    """Return the latest table of an array of tables, or the table itself."""
    last = next(reversed(place.children), None)
    return place.children[last] if isinstance(last, int) else place


def _define(parent: Place, part: Part, start: int) -> Place:
    """Return the table of a `[header]`. It may have been made on the way to one of its sub-tables."""
    name, offset = part
    table = parent.children.get(name) or parent.add(name, key=offset)
    table.key, table.value = offset, start
    return table


def _append(parent: Place, part: Part, start: int) -> Place:
    """Return the new table of a `[[header]]`."""
    name, offset = part
    tables = parent.children.get(name) or parent.add(name, key=offset, value=start)
    return tables.append(key=start, value=start)


def _decode(token: str) -> str:
    if token[0] not in "\"'":
        return token
    if token[0] == "'" or "\\" not in token:
        return token[1:-1]
    return str(tomllib.loads(f"key = {token}")["key"])
