"""Counts of the runners of Ruby and PHP: rspec, minitest, test-unit and PHPUnit."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from keisei.rules.test_tally import Counts, amounts, of

_RSPEC: Final = re.compile(
    r"[0-9]{1,9} examples?, [0-9]{1,9} failures?(?:, [0-9]{1,9} pending)?"
    r"(?:, [0-9]{1,9} errors? occurred outside of examples)?"
)
_RSPEC_NAME: Final = re.compile(r"rspec '?(\S+?)(?::[0-9]+|\[[0-9:]+\])?'? # (.+)")

_MINITEST: Final = re.compile(
    r"[0-9]{1,9} (?:runs|tests), [0-9]{1,9} assertions, [0-9]{1,9} failures, [0-9]{1,9} errors,"
    r" (?:[0-9]{1,9} skips|[0-9]{1,9} pendings, [0-9]{1,9} omissions, [0-9]{1,9} notifications)"
)
_MINITEST_NAME: Final = re.compile(r"(\S+#test_\S.*?)(?: \[.*\])?:")
_UNIT_NAME: Final = re.compile(r"(?:Failure|Error): (test\S*\(\S+\)).*")

_PHPUNIT: Final = re.compile(r"OK \(([0-9]{1,9}) tests?, [0-9]{1,9} assertions?\)")
_PHPUNIT_WORDS: Final = re.compile(r"Tests: [0-9]{1,9}, Assertions: [0-9]{1,9}(?:, [A-Za-z ]+: [0-9]{1,9})*\.")
_PHPUNIT_ABOVE: Final = re.compile(r"FAILURES!|ERRORS!|WARNINGS!|OK, but .*|There were .*|No tests executed!")
_PHPUNIT_SECTION: Final = re.compile(r"There (?:was|were) [0-9]{1,9} (.+):")
_PHPUNIT_NAME: Final = re.compile(r"[0-9]{1,9}\) (\S+::\S.*)")
_PAIR: Final = re.compile(r"([A-Za-z][A-Za-z ]*): ([0-9]{1,9})")


def rspec(lines: Sequence[str]) -> Iterator[Counts]:
    """The line of examples under each `Finished in`; names follow it."""
    finished = summed = False
    names = []
    for line in lines:
        if line.startswith("Finished in "):
            finished = True
        elif finished and _RSPEC.fullmatch(line):
            finished, summed, words = False, True, amounts(line)
            ran, failed = of(words, "example", "examples"), of(words, "failure", "failures")
            skipped, errors = of(words, "pending"), of(words, "error occurred", "errors occurred")
            passed = max(0, ran - failed - skipped)
            yield Counts(passed=passed, failed=failed, skipped=skipped, errors=errors)
        elif found := _RSPEC_NAME.fullmatch(line):
            names.append(f"{found[1]} {found[2]}")
    if summed and names:
        yield Counts(failing=tuple(names))


def minitest(lines: Sequence[str]) -> Iterator[Counts]:
    """Every line of runs and assertions."""
    names: dict[str, None] = {}
    for line in lines:
        if found := (_MINITEST_NAME.fullmatch(line) or _UNIT_NAME.fullmatch(line)):
            names[found[1]] = None
        elif _MINITEST.fullmatch(line):
            words = amounts(line)
            failed, errors = of(words, "failures"), of(words, "errors")
            skipped = of(words, "skips", "pendings", "omissions")
            passed = max(0, of(words, "runs", "tests") - failed - errors - skipped)
            failing = tuple(names) if failed or errors else ()
            yield Counts(passed=passed, failed=failed, errors=errors, skipped=skipped, failing=failing)
            names = {}


def phpunit(lines: Sequence[str]) -> Iterator[Counts]:
    """Every last line; a risky test, which asserts nothing, counts as skipped."""
    names: list[str] = []
    section = ""
    for at, line in enumerate(lines):
        if found := _PHPUNIT_SECTION.fullmatch(line):
            section = found[1]
        elif section.startswith(("failure", "error")) and (found := _PHPUNIT_NAME.fullmatch(line)):
            names.append(found[1])
        elif found := _PHPUNIT.fullmatch(line):
            yield Counts(passed=int(found[1]))
        elif at and _PHPUNIT_WORDS.fullmatch(line) and _PHPUNIT_ABOVE.fullmatch(lines[at - 1]):
            yield _phpunit(line, tuple(names))
            names, section = [], ""


def _phpunit(line: str, names: tuple[str, ...]) -> Counts:
    words = {word: int(number) for word, number in _PAIR.findall(line)}
    failed, errors = of(words, "Failures"), of(words, "Errors")
    skipped = of(words, "Skipped", "Incomplete", "Risky")
    passed = max(0, of(words, "Tests") - failed - errors - skipped)
    return Counts(passed=passed, failed=failed, errors=errors, skipped=skipped, failing=names)
