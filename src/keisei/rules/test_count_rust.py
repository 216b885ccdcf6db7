"""Counts of cargo test and of cargo nextest."""

import re
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from keisei.rules.test_tally import Counts, amounts, below, of

_RUNNING: Final = re.compile(r"running ([0-9]{1,9}) tests?")
_RESULT: Final = re.compile(
    r"test result: (?:ok|FAILED)\. ([0-9]{1,9}) passed; ([0-9]{1,9}) failed; ([0-9]{1,9}) ignored;"
    r" ([0-9]{1,9}) measured; [0-9]{1,9} filtered out(?:; finished in [0-9.]{1,20}s)?"
)
_NAME: Final = re.compile(r" {4}(\S.*)")

_SUMMARY: Final = re.compile(
    r" *Summary \[ *[0-9.]{1,20}s\] (?:([0-9]{1,9})/)?([0-9]{1,9}) tests? run: ([0-9]{1,9} passed(?: \(|,|$).*)"
)
_ASIDE: Final = re.compile(r" \([^()]*\)")
_BROKEN: Final = re.compile(
    r" *(?:TRY [0-9]+ )?(?:FAIL|TIMEOUT|TMT|ABORT|LEAK-FAIL|XFAIL|SIG[A-Z]+|FL\+XFAIL) +\[[ >]*[0-9.]+s\] "
    r"(?:\([ 0-9/─-]+\) +)?(.+)"
)


def cargo(lines: Sequence[str]) -> Iterator[Counts]:
    """Of each program of tests its last result, where that adds up to the tests it began with."""
    began, found = -1, Counts()
    names: list[str] = []
    listing = has_result = False
    for line in lines:
        if running := _RUNNING.fullmatch(line):
            if has_result:
                yield found
            began, names, listing, has_result = int(running[1]), [], False, False
        elif line == "failures:":
            names, listing = [], True
        elif listing and (name := _NAME.fullmatch(line)):
            names.append(name[1])
        elif (result := _RESULT.fullmatch(line)) and sum(map(int, result.groups())) == began:
            passed, failed, ignored, measured = map(int, result.groups())
            found, has_result = _cargo(passed + measured, failed, ignored, names), True
        elif not line:
            listing = listing and not names
    if has_result:
        yield found


def _cargo(passed: int, failed: int, ignored: int, names: Sequence[str]) -> Counts:
    return Counts(passed=passed, failed=failed, skipped=ignored, failing=tuple(names) if failed else ())


def nextest(lines: Sequence[str]) -> Iterator[Counts]:
    """Every summary; tests that a cancelled run never started are errors."""
    for at, line in enumerate(lines):
        if (summary := _SUMMARY.fullmatch(line)) is None:
            continue
        words = amounts(_ASIDE.sub("", summary[3]))
        broken = takewhile(bool, map(_BROKEN.fullmatch, below(lines, at)))
        left = int(summary[2]) - int(summary[1]) if summary[1] else 0
        yield Counts(
            passed=of(words, "passed"),
            failed=of(words, "failed", "timed out", "exec failed"),
            skipped=of(words, "skipped"),
            errors=max(0, left),
            failing=tuple(each[1] for each in broken if each),
        )
