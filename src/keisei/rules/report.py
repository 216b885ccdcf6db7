"""Reports: the block of `field: value` lines that ends an agent's last message. Never raises, whatever it is given.

A report is the last closed fence whose info string is `report`: backticks or tildes, three or more, closed by as many
or more of the same. Field names are spelled exactly; lines that are no field are passed over. A field that is there
twice counts where both say the same; where they differ nobody can tell what was meant, and that is a fault.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from unicodedata import normalize

from msgspec import Struct

from keisei.records.problem import printable
from keisei.records.verification import Said

NOTHING: Final = frozenset({"", "-", "none", "none."})
"""What stands where there is nothing to say, lower-case."""

_OPENING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*report[ \t]*")
_CLOSING: Final = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*")
_FIELD: Final = re.compile(r" {0,3}([A-Za-z0-9][A-Za-z0-9_-]*)[ \t]*:(.*)")
_LINE: Final = re.compile(r"\r\n|\n|\r")
_COMMAS: Final = 32
_JOINED: Final = 4000
"""Commas of one path, and pieces of a list that may begin such a path: a hostile list must not cost minutes."""
_QUOTES: Final = ("`", '"', "'")


class Field(Struct, frozen=True, kw_only=True):
    """One line of a report."""

    name: str
    """As it is spelled."""
    value: str
    """Without the blanks at its ends."""


class Listed(Struct, frozen=True, kw_only=True):
    """A list of paths, compared with those that are real."""

    missing: tuple[str, ...]
    """Real, and not in the list."""
    invented: tuple[str, ...]
    """In the list, and not real; as they are written."""


class Report(Struct, frozen=True, kw_only=True):
    """What an agent reports."""

    fields: tuple[Field, ...]
    """Its lines, in order."""

    def values(self, name: str) -> tuple[str, ...]:
        """Everything it says under exactly this name, each once."""
        return tuple(dict.fromkeys(each.value for each in self.fields if each.name == name))

    def value(self, name: str) -> str | None:
        """What it says under this name; None where it says nothing, nothing visible, or two things."""
        values = self.values(name)
        return values[0] if len(values) == 1 and is_visible(values[0]) else None

    def fault(self, name: str) -> str | None:
        """What is wrong with a field that must be there; None where nothing is."""
        values = self.values(name)
        if not values:
            near = next((each.name for each in self.fields if each.name.lower() == name.lower()), None)
            return f"the report has no field `{name}`" + (f", only `{near}`" if near else "")
        if len(values) > 1:
            return f"the report says `{name}` twice, and differently"
        return None if is_visible(values[0]) else f"the field `{name}` of the report is empty"


def read(text: str | None) -> Report | None:
    """The last block of a text that is closed; None where there is none."""
    block: list[str] | None = None
    fence, inside = "", list[str]()
    for line in _LINE.split(text or ""):
        if fence:
            closing = _CLOSING.fullmatch(line)
            if closing and closing[1].startswith(fence):
                block, fence = inside, ""
            else:
                inside.append(line)
        elif opening := _OPENING.fullmatch(line):
            fence, inside = opening[1], []
    return None if block is None else _report(block)


def spoken(said: Said) -> Report | None:
    """The report of the last message, else of the file that the agent was told to write; None where there is none."""
    return read(said.text) or read(said.file)


def is_visible(value: str) -> bool:
    """Whether anything of it can be seen."""
    return any(char.isprintable() and not char.isspace() for char in value)


def is_nothing(value: str) -> bool:
    """Whether it says that there is nothing to say."""
    return value.strip().lower() in NOTHING


def listed(value: str, real: Iterable[str]) -> Listed:
    """A list of paths, separated by commas, against the real ones. A real path may have commas and blanks of its own.

    Paths may be quoted, begin with `./`, and be in any Unicode form; `none` is the empty list unless a path has that
    name. A path with more than 32 commas is not recognised.
    """
    known = {key: path for path in real for key in _keys(path)}
    missing = dict.fromkeys(known.values())
    invented = []
    if not (is_nothing(value) and _key(value) not in known):
        for item, path in _items(value, known):
            if path is None:
                invented.append(item)
            else:
                missing.pop(path, None)
    return Listed(missing=tuple(missing), invented=tuple(invented))


def _report(block: Sequence[str]) -> Report:
    found = filter(None, map(_FIELD.fullmatch, block))
    return Report(fields=tuple(Field(name=each[1], value=each[2].strip()) for each in found))


def _items(value: str, known: Mapping[str, str]) -> Iterable[tuple[str, str | None]]:
    """Each item with the real path it names: the longest run of pieces that is one, else a single piece."""
    pieces = value.split(",")
    heads = {_head(key) for key in known if "," in key}
    commas = min(max((key.count(",") for key in known), default=0), _COMMAS)
    tried = at = 0
    while at < len(pieces):
        joins = tried < _JOINED and _head(pieces[at]) in heads
        tried += joins
        sizes = range(min(commas + 1 if joins else 1, len(pieces) - at), 0, -1)
        run = next((run for size in sizes if _key(run := ",".join(pieces[at : at + size])) in known), None)
        if run is not None:
            yield run, known[_key(run)]
        elif pieces[at].strip():
            yield pieces[at].strip(), None
        at += run.count(",") + 1 if run is not None else 1


def _head(text: str) -> str:
    """What stands before the first comma, however it is quoted."""
    return _key(text.partition(",")[0].strip().lstrip("".join(_QUOTES)))


def _keys(path: str) -> set[str]:
    """How a path may be written: as it is, and with what no line can hold escaped."""
    return {_key(path), _key(printable(path))}


def _key(text: str) -> str:
    plain = normalize("NFC", text.strip())
    if len(plain) > 1 and plain[0] in _QUOTES and plain[0] == plain[-1]:
        plain = plain[1:-1].strip()
    return plain.removeprefix("./")
