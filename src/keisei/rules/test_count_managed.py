"""Counts of Maven's surefire, of Gradle and of dotnet test."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from keisei.rules.test_tally import Counts, below, of

_MAVEN: Final = re.compile(
    r"(?:\[(?:INFO|WARNING|ERROR)\] +)?Tests run: ([0-9]{1,9}), Failures: ([0-9]{1,9}), Errors: ([0-9]{1,9}),"
    r" Skipped: ([0-9]{1,9})(?:, Flakes: [0-9]{1,9})?"
)
_MAVEN_NAME: Final = re.compile(
    r"(?:\[ERROR\] +)?(\S+?)(?: --)? +Time elapsed: [0-9.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!"
)

_GRADLE: Final = re.compile(r"([0-9]{1,9}) tests? completed(?:, ([0-9]{1,9}) failed)?(?:, ([0-9]{1,9}) skipped)?")
_GRADLE_ENDS: Final = (" PASSED", " FAILED", " SKIPPED")
_GRADLE_EVENT: Final = re.compile(r"(\S.*? > .*\S) (PASSED|FAILED|SKIPPED)")

_DOTNET: Final = re.compile(
    r" *(?:Passed|Failed|Skipped)! +- Failed: +([0-9]{1,9}), Passed: +([0-9]{1,9}), Skipped: +([0-9]{1,9}),"
    r" Total: +[0-9]{1,9}, Duration: .*"
)
_DOTNET_LINE: Final = re.compile(
    r"Test summary: total: [0-9]{1,9}, failed: ([0-9]{1,9}), succeeded: ([0-9]{1,9}), skipped: ([0-9]{1,9}),"
    r" duration: [0-9.,]+m?s"
)
_DOTNET_TOTAL: Final = re.compile(r"Total tests: [0-9]{1,9}|Test run summary: (?:Passed|Failed|Zero tests ran)!.*")
_DOTNET_AMOUNT: Final = re.compile(r" +(Passed|Failed|Skipped|total|failed|succeeded|skipped): ([0-9]{1,9})")
_DOTNET_NAME: Final = re.compile(r" *[Ff]ailed (\S+(?:\(.*\))?) (?:\[[0-9<].*\]|\([0-9].*\))")


def maven(lines: Sequence[str]) -> Iterator[Counts]:
    """The total of each module; lines of single classes also tell a time and are left out."""
    names: list[str] = []
    for line in lines:
        if named := _MAVEN_NAME.fullmatch(line):
            names.append(named[1])
        elif total := _MAVEN.fullmatch(line):
            ran, failed, errors, skipped = map(int, total.groups())
            passed = max(0, ran - failed - errors - skipped)
            yield Counts(passed=passed, failed=failed, errors=errors, skipped=skipped, failing=tuple(names))
            names = []


def gradle(lines: Sequence[str]) -> Iterator[Counts]:
    """Its events where it logs passed tests; else its totals, which it prints only where something failed."""
    ended = (line for line in lines if line.endswith(_GRADLE_ENDS))
    events = [found.groups() for line in ended if (found := _GRADLE_EVENT.fullmatch(line))]
    failing = tuple(name for name, end in events if end == "FAILED")
    ends = [end for _, end in events]
    if "PASSED" in ends:
        skipped = ends.count("SKIPPED")
        yield Counts(passed=ends.count("PASSED"), failed=len(failing), skipped=skipped, failing=failing)
        return
    totals = [tuple(int(each or 0) for each in found.groups()) for each in lines if (found := _GRADLE.fullmatch(each))]
    if totals:
        ran, failed, skipped = (sum(column) for column in zip(*totals, strict=True))
        yield Counts(passed=max(0, ran - failed - skipped), failed=failed, skipped=skipped, failing=failing)


def dotnet(lines: Sequence[str]) -> Iterator[Counts]:
    """The summary of each project; else the totals of a run."""
    names = tuple(found[1] for line in lines if (found := _DOTNET_NAME.fullmatch(line)))
    single = [found for line in lines if (found := _DOTNET.fullmatch(line))]
    single = single or [found for line in lines if (found := _DOTNET_LINE.fullmatch(line))]
    runs = [Counts(failed=int(each[1]), passed=int(each[2]), skipped=int(each[3])) for each in single]
    runs = runs or [_total(lines, at) for at, line in enumerate(lines) if _DOTNET_TOTAL.fullmatch(line)]
    if runs:
        yield Counts(failing=names)
    yield from runs


def _total(lines: Sequence[str], at: int) -> Counts:
    said = takewhile(bool, map(_DOTNET_AMOUNT.fullmatch, below(lines, at)))
    words = {each[1].lower(): int(each[2]) for each in said if each}
    return Counts(passed=of(words, "passed", "succeeded"), failed=of(words, "failed"), skipped=of(words, "skipped"))
