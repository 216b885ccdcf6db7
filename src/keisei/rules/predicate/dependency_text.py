"""Texts of manifests and lock files as data. They are hostile: whatever tools could read in two ways is not read."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import ryaml
import yaml

LONG_KEY: Final = re.compile(
    r"(?:^|[{,])[ \t]*+\[{0,2}+[ \t]*+(?:(?:[A-Za-z0-9_-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){65}",
    re.MULTILINE,
)
"""A dotted key of more parts than anybody nests; tomllib takes quadratic time for it."""
FLAT: Final = re.compile(
    r"\s*+(?:- )?(?:[^\s\"'\[\]{}#]++|'[^'\"\[\]{}]*+'):[ ][\[{]"
    r"(?:[^\[\]{}\"'#]|(?<=[ \[{,])'[^'\"\[\]{}]*+')*+[\]}]\s*+"
)
"""A line of a lock file with brackets: one pair, with nothing in it that could hide another."""
MOST_BRACKETS: Final = 2000
"""Those that open on all other lines; parsers of YAML take quadratic time to find out how deep they are."""
ALIAS: Final = re.compile(r"(?:^|[\s\[{,:?-])\*[^\s,\[\]{}]", re.MULTILINE)
BREAKS: Final = re.compile("[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|\r(?!\n)")
"""What ends a line for some tools and not for others."""
BARE: Final = re.compile(r"[\w@/+-]+")


class Unreadable(Exception):
    """Why a text cannot be compared: the end of a sentence that begins with its path."""


class Fact(NamedTuple):
    """One thing that a manifest or a lock file says of dependencies."""

    place: str
    """Where it says so, as a person would write it."""
    value: str
    """What it says, written in one way only."""
    aside: bool = False
    """It is no dependency, and somebody should know of it: a script that runs at an installation."""


def text_of(data: bytes) -> str:
    """The text, without the mark at its beginning. Raises Unreadable."""
    if b"\0" in data:
        raise Unreadable("holds a NUL byte")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Unreadable("is no UTF-8 text") from error


def lines_of(data: bytes) -> list[str]:
    """The lines, where all tools agree what a line is. Raises Unreadable."""
    text = text_of(data)
    if BREAKS.search(text):
        raise Unreadable("holds a character that only some tools take for the end of a line")
    return text.replace("\r\n", "\n").split("\n")


def toml_of(data: bytes) -> dict[str, Any]:
    """The tables of TOML. Raises Unreadable."""
    text = text_of(data)
    if LONG_KEY.search(text):
        raise Unreadable("holds a key of too many parts")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(f"is no TOML: {error}") from error


def json_of(data: bytes) -> dict[str, Any]:
    """The object of JSON. A key that is written twice is not read: some take the first, some the last."""
    return _json(text_of(data))


def json_with_commas(data: bytes) -> dict[str, Any]:
    """The object of JSON with a comma after the last of several, as Bun writes it. Raises Unreadable."""
    return _json(re.sub(r'("(?:[^"\\]|\\.?)*+"?)|,(?=\s*+[}\]])', r"\1", text_of(data), flags=re.DOTALL))


def _json(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise Unreadable(f"is no JSON: {error}") from error
    if not isinstance(read, dict):
        raise Unreadable("is no JSON object")
    return read


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise Unreadable(f"holds the key `{twice}` twice")
    return made


def yaml_of(data: bytes) -> dict[str, Any]:
    """The mapping of YAML. Aliases are not read: a few of them write any amount of text. Raises Unreadable."""
    text = text_of(data)
    if _is_too_deep(text) or _has_alias(text):
        raise Unreadable("holds aliases, or too many brackets")
    try:
        read = ryaml.loads(text)
    except (ryaml.InvalidYamlError, ValueError) as error:
        raise Unreadable(f"is no YAML: {error}") from error
    if read is not None and not isinstance(read, dict):
        raise Unreadable("is no YAML mapping")
    return read or {}


def _is_too_deep(text: str) -> bool:
    if text.count("[") + text.count("{") <= MOST_BRACKETS:
        return False
    lines = (line for line in text.split("\n") if "[" in line or "{" in line)
    return sum(line.count("[") + line.count("{") for line in lines if not FLAT.fullmatch(line)) > MOST_BRACKETS


def _has_alias(text: str) -> bool:
    if ALIAS.search(text) is None:
        return False
    try:
        events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        return any(isinstance(event, yaml.AliasEvent) for event in events)
    except (yaml.YAMLError, UnicodeError):
        return True


def written(value: object) -> str:
    """A value in one way only, whatever the order of its keys."""
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{written(key)}: {written(item)}" for key, item in value.items())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def place_of(*keys: object) -> str:
    """A place in data, as a person would write it."""
    parts = (key if isinstance(key, str) else repr(key) for key in keys)
    return ".".join(part if BARE.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in parts)


def at(data: object, *keys: str) -> Any:  # noqa: ANN401 - any data
    """What is at a place in data; None where there is nothing."""
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def table_at(data: object, *keys: str) -> dict[str, Any]:
    """The table at a place in data; empty where there is none."""
    found = at(data, *keys)
    return found if isinstance(found, dict) else {}


def tables_at(data: object, *keys: str) -> Iterator[dict[str, Any]]:
    """The tables of the list at a place in data. Raises Unreadable where something else is there."""
    found = at(data, *keys)
    if found is None:
        return
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise Unreadable(f"has something at `{place_of(*keys)}` that is no list of tables")
    yield from found


def entries(data: object, *keys: str, aside: bool = False) -> Iterator[Fact]:
    """A fact for every entry of what is at a place in data: a table, a list whatever its order, or one value."""
    found, place = at(data, *keys), place_of(*keys)
    if isinstance(found, dict):
        yield from (Fact(f"{place}.{place_of(key)}", written(item), aside) for key, item in found.items())
    elif isinstance(found, list):
        yield from (Fact(place, written(item), aside) for item in found)
    elif found is not None:
        yield Fact(place, written(found), aside)


def whole(data: object, *keys: str) -> Iterator[Fact]:
    """One fact for what is at a place in data: where packages are looked for first depends on the order."""
    found = at(data, *keys)
    if found is not None:
        yield Fact(place_of(*keys), written(found))


def without(table: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """A table without some of its keys."""
    return {key: value for key, value in table.items() if key not in frozenset(names)}


def is_inside(path: object) -> bool:
    """Whether a path stays below where it begins."""
    if not isinstance(path, str) or re.match(r"[/\\~]|[A-Za-z]:", path):
        return False
    return ".." not in re.split(r"[/\\]", path)
