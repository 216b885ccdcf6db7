"""The index brought up to date: what is on disk held against what was read of it, and the difference read and kept."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple, TypeVar

from keisei.graph.vault import Batch, Begun, Entry, Key, Known, Vault
from keisei.records.problem import Problem
from keisei.wiring.sage_scan import Corpus, Spot, Unit, unit_of

T = TypeVar("T")

TRIES: Final = 3
"""How often everything is looked at anew because somebody deletes the index meanwhile."""


class Refreshed(NamedTuple):
    """What bringing the index up to date came to."""

    changed: tuple[Key, ...]
    """Things that are new, or not what they were."""
    gone: tuple[Key, ...]
    """Things that are not there any more."""
    problems: tuple[Problem, ...]
    """A warning for each file that was looked at and cannot be read, by path."""


class Refresher:
    """Keeps one index up to date with one corpus. Any thread may ask it to."""

    def __init__(self, corpus: Corpus, vault: Vault) -> None:
        self._corpus, self._vault = corpus, vault
        self._turn = threading.Lock()
        self._memory: _Memory | None = None
        self._units: list[Unit] = []

    def refresh(self, paths: Sequence[str] | None = None) -> Refreshed:
        """Bring the index up to date; where `paths` are given, only what stands around them. Raises WorldFault."""
        with self._turn:
            return again(lambda: self._around(paths) if paths is not None else self._whole())

    def _whole(self) -> Refreshed:
        self._units = self._corpus.units()
        memory = self._remembered()
        if _difference(self._units, memory, memory.units()).is_empty:
            return Refreshed((), (), memory.problems())
        with self._vault.lock():
            self._units = self._corpus.units()
            memory = self._remembered()
            return self._kept(memory, _difference(self._units, memory, memory.units()))

    def _around(self, paths: Sequence[str]) -> Refreshed:
        """Where a path stands in nothing that is known, or its folder is gone, another layer may show: then, all."""
        touched = [unit for unit in self._units if any(unit.holds(path) for path in paths)]
        are_known = all(any(unit.holds(path) for unit in touched) for path in paths)
        if not are_known or not all(os.path.isdir(unit.folders[0]) for unit in touched):  # noqa: PTH112 - never raises
            return self._whole()
        keys = [unit.key for unit in touched]
        with self._vault.lock():
            memory = self._remembered()
            return self._kept(memory, _difference(touched, memory, keys), keys)

    def _kept(self, memory: "_Memory", change: "_Change", units: Iterable[Key] | None = None) -> Refreshed:
        entries = {spot.key: spot.entry() for spot in change.read}
        if entries or change.gone:
            self._vault.apply(Batch(entries, frozenset(change.gone)))
        news = tuple(key for key, entry in entries.items() if _is_news(entry, memory.get(key)))
        memory.update(entries, change.gone)
        return Refreshed(news, change.gone, memory.problems(units))

    def _remembered(self) -> "_Memory":
        """What the index knows; asked again only where another process wrote to it, or the file is another one."""
        db = self._vault.db
        mark = (db, db.pragma("data_version"))
        if self._memory is None or self._memory.mark != mark:
            self._memory = _Memory(mark, self._vault.known())
        return self._memory


class _Memory:
    """What the index knows, by units."""

    def __init__(self, mark: tuple[object, ...], known: Mapping[Key, Known]) -> None:
        self.mark = mark
        self._known: dict[Key, dict[Key, Known]] = {}
        for key, each in known.items():
            self._known.setdefault(unit_of(key), {})[key] = each

    def units(self) -> list[Key]:
        return list(self._known)

    def of(self, unit: Key) -> Mapping[Key, Known]:
        return self._known.get(unit, {})

    def get(self, key: Key) -> Known | None:
        return self.of(unit_of(key)).get(key)

    def update(self, entries: Mapping[Key, Entry], gone: Iterable[Key]) -> None:
        for key, entry in entries.items():
            self._known.setdefault(unit_of(key), {})[key] = entry.known
        for key in gone:
            del self._known[unit_of(key)][key]

    def problems(self, units: Iterable[Key] | None = None) -> tuple[Problem, ...]:
        told = {
            (each.path, each.line, each.message): each
            for unit in (self._known if units is None else units)
            for known in self.of(unit).values()
            if (each := known.problem) is not None
        }
        return tuple(sorted(told.values(), key=lambda each: (each.path, each.line or 0)))


class _Change(NamedTuple):
    read: list[Spot]
    gone: tuple[Key, ...]

    @property
    def is_empty(self) -> bool:
        return not self.read and not self.gone


def _difference(units: Sequence[Unit], memory: _Memory, own: Iterable[Key]) -> _Change:
    """What must be read of some units, and which things of their `own` are not there any more."""
    there: set[Key] = set()
    read: list[Spot] = []
    for unit in units:
        known = memory.of(unit.key)
        for spot in unit.spots():
            there.add(spot.key)
            before = known.get(spot.key)
            if before is None or not spot.is_as(before):
                read.append(spot)
    return _Change(read, tuple(key for each in own for key in memory.of(each) if key not in there))


def _is_news(entry: Entry, before: Known | None) -> bool:
    """Whether there is something new to tell: a file that is read again because it is young is none."""
    return before is None or before.stamp is None or entry.known.stamp != before.stamp


def again(action: Callable[[], T]) -> T:
    """What an action comes to; where the index was begun again meanwhile, it is done once more."""
    for _ in range(TRIES):
        with suppress(Begun):
            return action()
    return action()
