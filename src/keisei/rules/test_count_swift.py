"""Counts of swift test: XCTest and Swift Testing, which both speak in one run."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from keisei.rules.test_tally import Counts

_SUITE: Final = re.compile(r"Test Suite '(?:All tests|Selected tests)' (?:passed|failed) at .*")
_EXECUTED: Final = re.compile(
    r"\s*Executed ([0-9]{1,9}) tests?, with (?:([0-9]{1,9}) tests? skipped and )?([0-9]{1,9}) failures?"
    r" \([0-9]{1,9} unexpected\) in [0-9.]+ \([0-9.]+\) seconds"
)
_CASE: Final = re.compile(r"Test Case '(.+)' failed \([0-9.]+ seconds\)\.?")

_RUN: Final = re.compile(
    r"\S Test run with ([0-9]{1,9}) tests?(?: in [0-9]{1,9} suites?)?"
    r" (passed|failed) after [0-9.]+ seconds(?:\.| with .*)"
)
_TEST: Final = re.compile(r"\S Test (.+) failed after [0-9.]+ seconds with .*")
_SKIPPED: Final = re.compile(r"\S Test (.+) skipped(?:\.|: .*)")


def xctest(lines: Sequence[str]) -> Iterator[Counts]:
    """What the outermost suite executed; failures count assertions there, so tests are counted by their names."""
    names: list[str] = []
    for at, line in enumerate(lines):
        if case := _CASE.fullmatch(line):
            names.append(case[1])
        elif at and _SUITE.fullmatch(lines[at - 1]) and (executed := _EXECUTED.fullmatch(line)):
            ran, skipped, failures = (int(each or 0) for each in executed.groups())
            failed = len(names) or failures
            passed = max(0, ran - skipped - failed)
            yield Counts(passed=passed, failed=failed, skipped=skipped, failing=tuple(names))
            names = []


def testing(lines: Sequence[str]) -> Iterator[Counts]:
    """Every test run; how many failed is told by their names alone."""
    names: list[str] = []
    skipped = 0
    for line in lines:
        if run := _RUN.fullmatch(line):
            failed = max(len(names), 1) if run[2] == "failed" else 0
            passed = max(0, int(run[1]) - failed - skipped)
            yield Counts(passed=passed, failed=failed, skipped=skipped, failing=tuple(names))
            names, skipped = [], 0
        elif test := _TEST.fullmatch(line):
            names.append(test[1])
        elif _SKIPPED.fullmatch(line):
            skipped += 1
