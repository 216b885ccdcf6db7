"""Tallies: how many tests a run had, as its runner says."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct

AMOUNT: Final = re.compile(r"([0-9]{1,9}) ([A-Za-z]+(?: [a-z]+)?)")


class Counts(Struct, frozen=True, kw_only=True):
    """The tests of one run, or of several together."""

    passed: int = 0
    """Ran, and held."""
    failed: int = 0
    """Ran, and did not hold."""
    skipped: int = 0
    """Did not run, or may fail: skipped, ignored, pending, expected to fail."""
    errors: int = 0
    """Could not run: a fixture, a file or a package that breaks before its tests do."""
    failing: tuple[str, ...] = ()
    """Names of those that failed or could not run, as far as they are printed; a name may stand there twice."""
    coarse: bool = False
    """Somewhere a whole package is counted as one, because its runner says no more."""

    def __add__(self, other: "Counts") -> "Counts":
        """Both runs together."""
        return Counts(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            skipped=self.skipped + other.skipped,
            errors=self.errors + other.errors,
            failing=self.failing + other.failing,
            coarse=self.coarse or other.coarse,
        )

    @property
    def red(self) -> int:
        """How many did not hold."""
        return self.failed + self.errors


def amounts(text: str) -> dict[str, int]:
    """The numbers of a summary by the word behind each: `2 failed, 1 passed`."""
    return {word: int(number) for number, word in AMOUNT.findall(text)}


def of(words: Mapping[str, int], *names: str) -> int:
    """The sum of some of them; a word that is not there is none."""
    return sum(words.get(name, 0) for name in names)


def below(lines: Sequence[str], at: int) -> Iterator[str]:
    """The lines after one of them, without a copy: an output may be large, and every line of it a summary."""
    return (lines[number] for number in range(at + 1, len(lines)))
