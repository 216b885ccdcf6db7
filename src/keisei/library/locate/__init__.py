"""Locate: the line and column of a key path in an authored file.

Owns: nothing. Touches: nothing; text in, positions out. Leaves to others: whether the text is right, and the sentence
that tells its author. It is asked only after a file was refused, so it may read the text a second time.

Each format has a module with one function, `positions(text)`, which takes time and memory linear in the text, also
when a text nests deeply, and raises nothing on any text at all. The text is decoded and has no byte order mark. A line
ends at LF, CRLF or a lone CR.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

Path = tuple[str | int, ...]
"""Keys and list indexes from the root, as in a JSON pointer."""

LINE_END = re.compile(r"\r\n?|\n")


class Position(NamedTuple):
    """One character of a text, counted as editors do."""

    line: int
    """1 is the first line."""
    column: int
    """1 is the first character (code point) of the line."""


class Positions(NamedTuple):
    """Where the parts of one text stand."""

    keys: Mapping[Path, Position]
    """Where the key that introduces the path stands; for a list item, where its value starts. The root has none."""
    values: Mapping[Path, Position]
    """Where the value starts; for a TOML table, the `[` of its header, else the header or dotted key that made it."""


def nearest(where: Mapping[Path, Position], path: Path) -> Position:
    """Return the position of the path, else of its nearest known ancestor, else line 1 column 1."""
    for length in range(len(path), -1, -1):
        position = where.get(path[:length])
        if position is not None:
            return position
    return Position(1, 1)


def position_at(text: str, offset: int) -> Position:
    """Return the position of a character, counted from 0."""
    return _position(_line_starts(text), offset)


def _line_starts(text: str) -> list[int]:
    return [0, *(end.end() for end in LINE_END.finditer(text))]


def _position(lines: list[int], offset: int) -> Position:
    line = bisect_right(lines, offset)
    return Position(line, offset - lines[line - 1] + 1)


@dataclass(slots=True, eq=False, repr=False)
class Place:
    """One value of a text and the places inside it. Offsets count characters from 0; None is not known."""

    key: int | None = None
    value: int | None = None
    children: "dict[str | int, Place]" = field(default_factory=dict)

    def add(self, step: str | int, *, key: int, value: int | None = None) -> "Place":
        """Return a new child. It replaces an earlier one of that name and all below it, as parsers do."""
        self.children[step] = child = Place(key, value)
        return child

    def append(self, *, key: int, value: int | None = None) -> "Place":
        """Return a new last item of a list."""
        return self.add(len(self.children), key=key, value=value)

    def find(self, path: Path) -> "Place | None":
        """Return the place at the end of the path, None if the path leaves the tree."""
        place: Place | None = self
        for step in path:
            place = place and place.children.get(step)
        return place

    def positions(self, text: str) -> Positions:
        """Return all positions of the tree under this root. The tree is kept and must not change any more."""
        lines = _line_starts(text)
        return Positions(
            keys=_Where(self, lines, lambda place: place.key),
            values=_Where(self, lines, lambda place: place.value),
        )


class _Where(Mapping[Path, Position]):
    """One kind of offset of a tree, by path and in the order of the text.

    A dictionary of paths would need memory of length times depth, so a path is built only while iterating.
    """

    def __init__(self, root: Place, lines: list[int], offset_of: Callable[[Place], int | None]) -> None:
        self._root = root
        self._lines = lines
        self._offset_of = offset_of

    def __getitem__(self, path: Path) -> Position:
        place = self._root.find(path)
        offset = None if place is None else self._offset_of(place)
        if offset is None:
            raise KeyError(path)
        return _position(self._lines, offset)

    def __iter__(self) -> Iterator[Path]:
        pending: list[tuple[Path, Place]] = [((), self._root)]
        while pending:
            path, place = pending.pop()
            if self._offset_of(place) is not None:
                yield path
            pending.extend(((*path, step), child) for step, child in reversed(place.children.items()))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


class _Open(NamedTuple):
    place: Place
    is_list: bool
    is_key: bool


class Growth:
    """Grows a tree of places from containers, keys and scalars, told in the order of the text.

    Whatever it is told it keeps going: what belongs to no path (a YAML key that is itself a list or a mapping, anything
    after the root) is grown aside and forgotten.
    """

    def __init__(self) -> None:
        """Start with a root that waits for its value."""
        self.root = Place()
        self._open: list[_Open] = []
        self._slot: Place | None = self.root
        self.repeated: int | None = None
        """Where a mapping first writes one of its keys for the second time."""
        self.compound: int | None = None
        """Where the first key stands that is itself a list or a mapping."""

    @property
    def depth(self) -> int:
        """How many containers are open."""
        return len(self._open)

    @property
    def expects_key(self) -> bool:
        """Whether the next scalar is the key of a mapping."""
        return self._slot is None and bool(self._open) and not self._open[-1].is_list

    def key(self, name: str, offset: int) -> None:
        """Name the value that comes next."""
        if self.repeated is None and name in self._open[-1].place.children:
            self.repeated = offset
        self._slot = self._open[-1].place.add(name, key=offset)

    def scalar(self, offset: int) -> None:
        """Note a value that has nothing inside."""
        self._next(offset).value = offset

    def open(self, offset: int, *, is_list: bool) -> None:
        """Note where a list or a mapping starts; what follows is inside, until it is closed."""
        is_key = self.expects_key
        if is_key and self.compound is None:
            self.compound = offset
        place = self._next(offset)
        place.value = offset
        self._open.append(_Open(place, is_list, is_key))

    def close(self) -> None:
        """Leave the innermost container, if there is one."""
        if self._open and self._open.pop().is_key:
            self._slot = Place()

    def _next(self, offset: int) -> Place:
        slot, self._slot = self._slot, None
        if slot is None and self._open and self._open[-1].is_list:
            slot = self._open[-1].place.append(key=offset)
        return slot or Place()
