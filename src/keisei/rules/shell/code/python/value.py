"""Values of Python code that is read and not run: constants, names of known things, and what is not known."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.result import QUOTED

_WIDE = 16
"""More possibilities than this are not told apart."""
_CONSTANTS = (str, bytes, bool, int, float, type(None), slice)

_HEAVY = 1024
LONG = 1024
"""Longer lists are not built."""


class Blank(Enum):
    """Values nothing is known of."""

    ANY = "any"
    """Could be everything, and probably is data."""
    NUMBER = "number"
    """A number or quoted text: harmless inside shell text."""
    HIDDEN = "hidden"
    """Reached by a computed name inside a module that starts programs: calling it is opaque."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Something of a module, by its dotted name."""

    name: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several values."""

    values: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class PathValue:
    """A pathlib path."""

    text: str


@dataclass(frozen=True, slots=True)
class FileText:
    """The text of a file, not read."""

    path: str


@dataclass(frozen=True, slots=True)
class Stream:
    """Something with a `read` that gives its content."""

    content: object


@dataclass(frozen=True, slots=True)
class Many:
    """Any number of values, all like this one: what a glob or a walk through a folder gives."""

    element: object


@dataclass(frozen=True, slots=True)
class Scratch:
    """A temporary folder: `with` gives its path."""

    path: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a value, not called yet."""

    owner: object
    name: str


@dataclass(frozen=True, slots=True)
class Native:
    """A function made by a function that is known: partial, methodcaller."""

    call: Callable[[list[object]], object]


_COMPARED = (list, tuple, dict, Ref, PathValue, FileText, Scratch)


def join(values: Iterable[object]) -> object:
    """One value that stands for all of these."""
    kept: list[object] = []
    for value in values:
        for single in singles(value):
            if not any(_same(single, other) for other in kept):
                kept.append(single)
    if len(kept) == 1:
        return kept[0]
    if len(kept) > _WIDE:
        kept = [*kept[:_WIDE], Blank.ANY]
    return Choice(tuple(kept)) if kept else Blank.ANY


def _same(one: object, other: object) -> bool:
    if one is other or type(one) is not type(other):
        return one is other
    if isinstance(one, _CONSTANTS):
        return one == other
    return isinstance(one, _COMPARED) and _light(one) and _light(other) and one == other


def _light(value: object) -> bool:
    """Whether a value has few enough parts to be looked at. Lists shared inside lists can have very many."""
    waiting, count = [value], 0
    while waiting and count < _HEAVY:
        count += 1
        last = waiting.pop()
        if isinstance(last, list | tuple | set | frozenset):
            waiting.extend(itertools.islice(last, _HEAVY))
        elif isinstance(last, dict):
            waiting.extend(itertools.islice(last.values(), _HEAVY))
    return not waiting


def singles(value: object) -> tuple[object, ...]:
    """The values a value may have."""
    return value.values if isinstance(value, Choice) else (value,)


def spread(function: Callable[..., object], *values: object) -> object:
    """A function of every combination of what the values may be, joined; too many combinations are unknown."""
    if not any(isinstance(value, Choice) for value in values):
        return function(*values)
    combinations = itertools.product(*(singles(value) for value in values))
    return join(function(*some) for some in itertools.islice(combinations, _WIDE * 2))


def known(value: object) -> bool:
    """Whether a value is a constant through and through, and not too large."""
    return _light(value) and _constant(value)


def _constant(value: object) -> bool:
    if isinstance(value, list | tuple | set | frozenset):
        return all(_constant(part) for part in value)
    if isinstance(value, dict):
        return all(_constant(key) and _constant(part) for key, part in value.items())
    if isinstance(value, str):
        return UNKNOWN not in value and QUOTED not in value and BELOW not in value
    return isinstance(value, _CONSTANTS)


def text(value: object) -> str:
    """The text a value is, with UNKNOWN where it is not known."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, PathValue):
        return value.text
    if isinstance(value, Scratch):
        return value.path
    if value is Blank.NUMBER:
        return QUOTED
    return UNKNOWN


def shown(value: object) -> str:
    """What `str()` makes of a value."""
    return str(value) if isinstance(value, int | float) or value is None else text(value)


def argvs(value: object) -> list[tuple[str, ...]] | None:
    """The command lines a list of words may be; None where it is no list."""
    if not isinstance(value, list | tuple):
        return None
    parts = [tuple(text(single) for single in singles(part)) for part in value[:256]]
    return list(itertools.islice(itertools.product(*parts), _WIDE))


def sequence(value: object) -> Sequence[object] | None:
    """The elements of a constant that can be walked through; None where they are not known."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, str | bytes):
        return list(value) if len(value) <= LONG and known(value) else None
    if isinstance(value, dict | set | frozenset):
        return list(value)
    return None
