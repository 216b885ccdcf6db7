"""Documents: the strict parse of one file. Every complaint can say where: line and column come from `locate`."""

import math
import re
from collections.abc import Iterable
from datetime import date, datetime, time
from functools import cached_property
from importlib import import_module
from typing import Any, Literal

from keisei.library.locate import Path, Position, Positions, nearest
from keisei.library.parser import DEPTH, Unparsed
from keisei.library.source import Source
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

Format = Literal["toml", "json", "yaml"]
SUFFIXES: dict[str, Format] = {".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}
LARGEST = 2**53 - 1
SURROGATE = re.compile("[\ud800-\udfff]")


class Document:
    """Parsed data that still knows its file."""

    def __init__(self, source: Source, form: Format, *, text: str | None = None, first_line: int = 1) -> None:
        """Parse at once. Raises AuthorError where the file is not valid, too deep, or writes a key twice."""
        self.source = source
        self.form = form
        self.text = source.text if text is None else text
        self.first_line = first_line
        self.renamed: dict[Path, Path] = {}
        """Where a path of the translated data stands in the text; filled by whoever translates."""
        self.data = self._plain(self._parsed())

    @cached_property
    def positions(self) -> Positions:
        """Where everything stands; computed when the first complaint needs it."""
        found: Positions = import_module(f"keisei.library.locate.{self.form}").positions(self.text)
        return found

    def position(self, path: Path, at: Literal["key", "value"] = "value") -> Position:
        """The line and column of a path, in the file and not in the fragment."""
        found = nearest(self.positions.keys if at == "key" else self.positions.values, self._written(path))
        return Position(found.line + self.first_line - 1, found.column)

    def _written(self, path: Path) -> Path:
        for length in range(len(path) if self.renamed else 0, 0, -1):
            if path[:length] in self.renamed:
                return self.renamed[path[:length]] + path[length:]
        return path

    def problem(  # noqa: PLR0913 - a problem has this many parts
        self,
        code: str,
        path: Path,
        message: str,
        hint: str | None = None,
        *,
        at: Literal["key", "value"] = "value",
        severity: Literal["error", "warning"] = "error",
    ) -> Problem:
        """A complaint about one place of this file."""
        line, column = self.position(path, at)
        return Problem(
            code=code,
            path=self.source.shown,
            line=line,
            column=column,
            message=message,
            hint=hint,
            severity=severity,
        )

    def _parsed(self) -> Any:  # noqa: ANN401 - any data
        try:
            return import_module(f"keisei.library.parser.{self.form}").parse(self.text)
        except Unparsed as error:
            raise AuthorError(
                Problem(
                    code=fault.code,
                    path=self.source.shown,
                    line=fault.place.line + self.first_line - 1,
                    column=fault.place.column,
                    message=fault.message,
                    hint=fault.hint,
                )
                for fault in error.faults
            ) from error

    def _plain(self, data: object) -> Any:  # noqa: ANN401 - JSON
        """The same data in JSON's types. What JSON cannot say is refused where it stands."""
        if _is_plain(data, DEPTH) and (self.form != "yaml" or "&" not in self.text):  # an anchor's value is shared
            return data
        problems: list[Problem] = []
        plain = self._plain_value(data, (), problems)
        if problems:
            raise AuthorError(problems)
        return plain

    def _plain_key(self, key: object, path: Path, table: dict[object, object], problems: list[Problem]) -> str:
        if isinstance(key, str):
            if _half_surrogate(key):
                problems.append(self.problem("not-text", (*path, key), "contains half a surrogate pair", at="key"))
            return key
        written = (each[-1] for each in self.positions.keys if each[:-1] == path and each[-1] not in table)
        name = str(next(written, key))
        problems.append(self.problem("wrong-type", (*path, name), f"the key `{name}` must be a string", at="key"))
        return name

    def _plain_value(self, value: object, path: Path, problems: list[Problem]) -> object:
        if len(path) > DEPTH:
            raise AuthorError([self.problem("too-deep", path, f"nested more than {DEPTH} levels")])
        if isinstance(value, dict):
            return {
                self._plain_key(key, path, value, problems): self._plain_value(item, (*path, str(key)), problems)
                for key, item in value.items()
            }
        if isinstance(value, list):
            return [self._plain_value(item, (*path, index), problems) for index, item in enumerate(value)]
        if isinstance(value, datetime | date | time):
            return value.isoformat().replace("+00:00", "Z")
        if (fault := _unsayable(value)) is not None:
            problems.append(self.problem(fault[0], path, fault[1]))
        return value


def _is_plain(value: object, depth: int) -> bool:
    """Whether it is JSON's as it stands, which almost all data are; no place is kept in mind for that."""
    if depth < 0:
        return False
    if isinstance(value, dict):
        for key in value:
            if not (isinstance(key, str) and (key.isascii() or not _half_surrogate(key))):
                return False
        items: Iterable[object] = value.values()
    elif isinstance(value, list):
        items = value
    else:
        return (value is None or isinstance(value, str | int | float)) and _unsayable(value) is None
    for item in items:
        if not (isinstance(item, str) and item.isascii() and depth > 0) and not _is_plain(item, depth - 1):
            return False
    return True


def _unsayable(value: object) -> tuple[str, str] | None:
    """Why JSON cannot say a value: the problem code and a sentence; None where it can."""
    if isinstance(value, float) and not math.isfinite(value):
        return "wrong-value", "must be a finite number"
    if isinstance(value, int) and abs(value) > LARGEST:
        return "wrong-value", "must be an integer between -(2^53-1) and 2^53-1"
    if isinstance(value, str) and _half_surrogate(value):
        return "not-text", "contains half a surrogate pair"
    return None


def _half_surrogate(text: str) -> bool:
    return not text.isascii() and SURROGATE.search(text) is not None


def parse(source: Source) -> Document:
    """The document of a file, by its ending. Raises AuthorError, also for an ending nobody knows."""
    form = SUFFIXES.get(source.path.suffix.lower())
    if form is None:
        message = f"cannot tell its format from the ending `{source.path.suffix}`"
        hint = f"known endings: {', '.join(SUFFIXES)}"
        raise AuthorError([Problem(code="syntax", path=source.shown, message=message, hint=hint)])
    return Document(source, form)


FENCE = re.compile(r"---[ \t]*\r?\n")
CLOSE = re.compile(r"\n---[ \t]*(?:\r?\n|\Z)")


def parse_frontmatter(source: Source) -> tuple[Document, str]:
    """The YAML between the first two `---` lines, and the body behind it."""
    opened = FENCE.match(source.text)
    closed = CLOSE.search(source.text, opened.end() - 1) if opened else None
    if opened is None or closed is None:
        message = "does not begin with a line `---`" if opened is None else "has no closing line `---`"
        hint = "begin the file with `---`, the keys, and `---`"
        raise AuthorError(
            [Problem(code="no-frontmatter", path=source.shown, line=1, column=1, message=message, hint=hint)]
        )
    text = source.text[opened.end() : closed.start() + 1]
    return Document(source, "yaml", text=text, first_line=2), source.text[closed.end() :]
