"""Census: the tests in files that a candidate touches, before and after.

A test is the same by its name, first in its file, then anywhere in what is touched: one that moved is not removed. A
test that is skipped is not told as emptied too, because nobody counts it among those that pass.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec import Struct

from keisei.records.problem import printable
from keisei.records.verification import Difference, Function
from keisei.rules.predicate.port import Contents

FILES: Final = frozenset({"100644", "100755"})
Test = tuple[str, Function]
"""A path, and a test in it."""


class TestCensus(Struct, frozen=True, kw_only=True):
    """Tests of touched files, as parsers see them; fulfils `Census`."""

    files: tuple[str, ...] = ()
    """Touched files that hold tests, before or after."""
    emptied: tuple[str, ...] = ()
    """Tests that are there and check nothing, which the base does not have so: `path: name`."""
    skipped: tuple[str, ...] = ()
    """Tests that are marked to be skipped now and were not."""
    removed: tuple[str, ...] = ()
    """Tests that are gone, and not found elsewhere in what the candidate touches."""


def census(difference: Difference, contents: Contents) -> TestCensus:
    """The tests of what would land, or of the candidate where nothing was merged. Raises what `contents` raises."""
    changes = difference.merged or difference.candidate
    before = _tests([(each.path, each.old_blob) for each in changes if each.old_mode in FILES], contents)
    after = _tests([(each.path, each.blob) for each in changes if each.mode in FILES], contents)
    return TestCensus(
        files=tuple(dict.fromkeys(printable(path) for path, _ in sorted(before + after, key=lambda test: test[0]))),
        emptied=_beyond(_those(after, _is_hollow), _those(before, _is_hollow)),
        skipped=_beyond(_those(after, _is_skipped), _those(before, _is_skipped)),
        removed=_beyond(before, after),
    )


def _tests(files: Sequence[tuple[str, str]], contents: Contents) -> list[Test]:
    outlines = contents.outlines(files) if files else ()
    return [
        (path, function)
        for (path, _), outline in zip(files, outlines, strict=True)
        for function in outline.functions
        if function.test
    ]


def _is_hollow(function: Function) -> bool:
    return function.empty and not function.skipped


def _is_skipped(function: Function) -> bool:
    return function.skipped


def _those(tests: Iterable[Test], fit: Callable[[Function], bool]) -> list[Test]:
    return [test for test in tests if fit(test[1])]


def _beyond(tests: Sequence[Test], others: Sequence[Test]) -> tuple[str, ...]:
    """Those of the tests that the others do not have, each of the others standing for one of its name."""
    here = Counter((path, function.name) for path, function in others)
    rest = []
    for path, function in tests:
        if here[path, function.name] > 0:
            here[path, function.name] -= 1
        else:
            rest.append((path, function.name))
    anywhere = Counter[str]()
    for (_, name), count in here.items():
        anywhere[name] += count
    return tuple(f"{printable(path)}: {printable(name)}" for path, name in rest if not _taken(anywhere, name))


def _taken(counter: Counter[str], name: str) -> bool:
    """Whether one is left, which is taken."""
    if counter[name] < 1:
        return False
    counter[name] -= 1
    return True
