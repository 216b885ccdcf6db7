"""The index brought up to date: what is on disk held against what was read of it, and the difference read and kept."""

import gc
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from msgspec.structs import replace

from keisei.graph.vault import Batch, Begun, Entry, Key, Known, Vault
from keisei.library.source import shown_path
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

    def has_seen(self, db: object, version: int) -> bool:
        """Whether this state of the index is the one that was last brought up to date: others write, too."""
        return self._memory is not None and self._memory.mark == (db, version)

    def _whole(self) -> Refreshed:
        self._units = self._corpus.units()
        memory = self._remembered()
        if _difference(self._units, memory, memory.units()).is_empty:
            return Refreshed((), (), memory.problems())
        with self._vault.lock():
            self._units = self._corpus.units()
            memory = self._remembered()
            return self._kept(memory, _difference(self._units, memory, memory.units()), None)

    def _around(self, paths: Sequence[str]) -> Refreshed:
        """All is looked at where a path stands in nothing known, its package is found elsewhere, or others wrote."""
        touched = [unit for unit in self._units if any(unit.holds(path) for path in paths)]
        are_known = all(any(unit.holds(path) for unit in touched) for path in paths)
        if not are_known or not all(map(self._corpus.is_current, touched)):
            return self._whole()
        keys = [unit.key for unit in touched]
        with self._vault.lock():
            before, memory = self._memory, self._remembered()
            if memory is before:
                return self._kept(memory, _difference(touched, memory, keys), keys)
        return self._whole()

    def _kept(self, memory: "_Memory", change: "_Change", units: Iterable[Key] | None) -> Refreshed:
        """Read and keep what changed; `units` are those that were looked at, None for all."""
        with _uncollected():
            entries = {spot.key: spot.entry() for spot in change.read}
            if not change.is_empty:
                self._vault.apply(Batch(entries, frozenset(change.gone)))
        news = tuple(key for key, entry in entries.items() if _is_news(entry, memory.get(key)))
        memory.update(entries, change.gone)
        return Refreshed(news, change.gone, memory.problems(units))

    def _remembered(self) -> "_Memory":
        """What the index knows; asked again only where another process wrote to it, or the file is another one."""
        mark = self._vault.version()
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
        found = sorted(told.values(), key=lambda each: (each.path, each.line or 0))
        return tuple(replace(each, path=shown_path(Path(each.path))) for each in found)


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


@contextmanager
def _uncollected() -> Iterator[None]:
    """Many small objects that all stay: looking for circles among them costs a tenth of reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _is_news(entry: Entry, before: Known | None) -> bool:
    """Whether there is something new to tell. Of one that was young when it was read, nobody knows: it is told."""
    return before is None or before.stamp is None or entry.known[:3] != before[:3]


def again(action: Callable[[], T]) -> T:
    """What an action comes to; where the index was begun again meanwhile, it is done once more."""
    for _ in range(TRIES):
        with suppress(Begun):
            return action()
    return action()
