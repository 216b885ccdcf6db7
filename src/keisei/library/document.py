"""Documents: the strict parse of one file. Every complaint can say where: line and column come from `locate`."""

import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, time
from functools import cached_property
from importlib import import_module
from itertools import islice
from typing import Any, Literal

import ryaml

from keisei.library.bomb import LONG_KEY, LONG_NUMBER, yaml_bomb, yaml_too_deep
from keisei.library.locate import Path, Position, Positions, nearest, position_at
from keisei.library.source import Source
from keisei.records.error import AuthorError
from keisei.records.problem import Problem

DEPTH = 64
MOST_DUPLICATES = 20
Format = Literal["toml", "json", "yaml"]
SUFFIXES: dict[str, Format] = {".toml": "toml", ".json": "json", ".yaml": "yaml", ".yml": "yaml"}


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
            return {"toml": self._toml, "json": self._json, "yaml": self._yaml}[self.form]()
        except RecursionError as error:
            raise self._refused("too-deep", 1, 1, f"nested more than {DEPTH} levels") from error

    def _toml(self) -> Any:  # noqa: ANN401 - any data
        if found := LONG_KEY.search(self.text):  # tomllib takes quadratic time for these
            raise self._refused("too-deep", *position_at(self.text, found.start(1)), f"nested more than {DEPTH} levels")
        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            line, column, message = _toml_place(str(error), self.text)
            if message.startswith(("cannot overwrite", "cannot declare", "duplicate inline")):
                column = _repeated_key(self.text, line, column, message)
                raise self._refused("duplicate-key", line, column, "this key or table is already there") from error
            raise self._refused("syntax", line, column, message, _toml_hint(self.text, line)) from error
        except ValueError as error:
            raise self._long_number() from error

    def _json(self) -> Any:  # noqa: ANN401 - any data
        twice: dict[int, tuple[dict[str, Any], list[str]]] = {}

        def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
            made = dict(items)
            if len(made) != len(items):
                counts = Counter(key for key, _ in items)
                twice[id(made)] = (made, [key for key, count in counts.items() if count > 1])
            return made

        try:
            data = json.loads(self.text, object_pairs_hook=pairs)
        except json.JSONDecodeError as error:
            raise self._refused("syntax", error.lineno, error.colno, error.msg.lower()) from error
        except ValueError as error:
            raise self._long_number() from error
        if twice:
            places = ((*path, key) for path, value in _walk(data) if id(value) in twice for key in twice[id(value)][1])
            raise AuthorError(
                self.problem("duplicate-key", place, f"the key `{place[-1]}` is written twice", at="key")
                for place in islice(places, MOST_DUPLICATES)
            )
        return data

    def _long_number(self) -> AuthorError:
        """The complaint about an integer of more digits than Python reads."""
        found = LONG_NUMBER.search(self.text)
        place = position_at(self.text, found.start()) if found else Position(1, 1)
        return self._refused("wrong-value", *place, "must be an integer between -(2^53-1) and 2^53-1")

    def _yaml(self) -> Any:  # noqa: ANN401 - any data
        if yaml_too_deep(self.text) or yaml_bomb(self.text):
            raise self._refused("too-deep", 1, 1, f"nested more than {DEPTH} levels, or repeated too often by aliases")
        try:
            return ryaml.loads(self.text)
        except (ryaml.InvalidYamlError, ValueError) as error:
            line, column, code, message = _yaml_place(str(error), self.text)
            raise self._refused(code, line, column, message) from error

    def _refused(self, code: str, line: int, column: int, message: str, hint: str | None = None) -> AuthorError:
        line += self.first_line - 1
        return AuthorError(
            [Problem(code=code, path=self.source.shown, line=line, column=column, message=message, hint=hint)]
        )

    def _plain(self, data: object) -> Any:  # noqa: ANN401 - JSON
        """The same data in JSON's types. What JSON cannot say is refused where it stands."""
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
        if isinstance(value, float) and not math.isfinite(value):
            problems.append(self.problem("wrong-value", path, "must be a finite number"))
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 2**53 - 1:
            problems.append(self.problem("wrong-value", path, "must be an integer between -(2^53-1) and 2^53-1"))
        if isinstance(value, str) and _half_surrogate(value):
            problems.append(self.problem("not-text", path, "contains half a surrogate pair"))
        return value


def parse(source: Source) -> Document:
    """The document of a file, by its ending. Raises AuthorError, also for an ending nobody knows."""
    form = SUFFIXES.get(source.path.suffix.lower())
    if form is None:
        message = f"cannot tell its format from the ending `{source.path.suffix}`"
        hint = f"known endings: {', '.join(SUFFIXES)}"
        raise AuthorError([Problem(code="syntax", path=source.shown, message=message, hint=hint)])
    return Document(source, form)


FENCE = re.compile(r"---[ \t]*\r?\n")
CLOSE = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)


def parse_frontmatter(source: Source) -> tuple[Document, str]:
    """The YAML between the first two `---` lines, and the body behind it."""
    opened = FENCE.match(source.text)
    closed = CLOSE.search(source.text, opened.end()) if opened else None
    if opened is None or closed is None:
        message = "does not begin with a line `---`" if opened is None else "has no closing line `---`"
        hint = "begin the file with `---`, the keys, and `---`"
        raise AuthorError(
            [Problem(code="no-frontmatter", path=source.shown, line=1, column=1, message=message, hint=hint)]
        )
    text = source.text[opened.end() : closed.start()]
    return Document(source, "yaml", text=text, first_line=2), source.text[closed.end() :]


def _walk(data: object) -> Iterator[tuple[Path, object]]:
    waiting: list[tuple[Path, object]] = [((), data)]
    while waiting:
        path, value = waiting.pop()
        yield path, value
        if isinstance(value, dict):
            waiting.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            waiting.extend(((*path, index), item) for index, item in enumerate(value))


def _toml_place(text: str, source: str) -> tuple[int, int, str]:
    message, _, place = text.rpartition(" (at ")
    numbers = re.search(r"line (\d+), column (\d+)", place)
    if numbers:
        return int(numbers[1]), int(numbers[2]), _lower_first(message)
    last = source.rstrip("\n").rsplit("\n", 1)[-1]
    return source.rstrip("\n").count("\n") + 1, len(last) + 1, _lower_first(message or text)


def _toml_hint(text: str, line: int) -> str | None:
    """What people write from habit: null, and keys without quotes around their values."""
    lines = text.splitlines()
    row = lines[line - 1] if line <= len(lines) else ""
    key, _, value = row.partition("=")
    if value.split("#")[0].strip() in ("null", "nil", "None", "~"):
        return f'TOML has no null; leave the line out, or write `{key.strip()} = ""`'
    if value.split("#")[0].strip().lower() in ("true", "false"):
        return f"write `{value.split('#')[0].strip().lower()}`"
    if re.fullmatch(r"\s*[A-Za-z_][\w-]*\s*", value.split("#")[0]) and value.strip() not in ("true", "false"):
        return f'put text in quotes: `{key.strip()} = "{value.split("#")[0].strip()}"`'
    return None


def _repeated_key(text: str, line: int, column: int, message: str) -> int:
    """Where the second key stands: tomllib stops behind its value."""
    row = text.split("\n")[line - 1]
    inline = re.search(r"inline table key '(.*)'", message)
    if inline:
        return max(row.rfind(inline[1], 0, column - 1), 0) + 1
    return len(row) - len(row.lstrip()) + 1


def _yaml_place(text: str, source: str) -> tuple[int, int, str, str]:
    numbers = re.search(r"at line (\d+) column (\d+)", text)
    line, column = (int(numbers[1]), int(numbers[2])) if numbers else (1, 1)
    message = _lower_first(text.split(" at line", maxsplit=1)[0].split(", while", maxsplit=1)[0])
    if "limit exceeded" in text:
        return line, column, "too-deep", message
    if "duplicate entry" in text:
        found = import_module("keisei.library.locate.yaml").first_duplicate(source)
        line, column = found or (1, 1)
        return line, column, "duplicate-key", "this key is already there"
    if "unhashable type" in text:
        line, column = import_module("keisei.library.locate.yaml").first_compound_key(source) or (1, 1)
        return line, column, "wrong-type", "a key must be a string"
    return line, column, "syntax", message


def _half_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
