"""Counts of jest, vitest, mocha, ava, deno and bun."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Final

from keisei.rules.test_tally import Counts, amounts, below, of

_JEST: Final = re.compile(r"Tests: +((?:[0-9]{1,9} (?:failed|skipped|todo|passed), )*[0-9]{1,9} total)")
_JEST_FILE: Final = re.compile(r"FAIL (\S.*?)(?: \([0-9.]+ m?s\))?")
_JEST_NAME: Final = re.compile(r" {2}● (\S.*)")
_LOST: Final = "Test suite failed to run"

_VITEST: Final = re.compile(
    r" +Tests {2}([0-9]{1,9} [a-z]+(?: [a-z]+)?(?: \| [0-9]{1,9} [a-z]+(?: [a-z]+)?)*) \([0-9]{1,9}\)"
)
_VITEST_ERRORS: Final = re.compile(r" +Errors {2}([0-9]{1,9}) errors?")
_VITEST_NAME: Final = re.compile(r" FAIL {2}(\S.*)")

_MOCHA: Final = re.compile(r" {2}([0-9]{1,9}) passing \([0-9]{1,9}(?:ms|s|m|h)\)")
_MOCHA_MORE: Final = re.compile(r" {2}([0-9]{1,9}) (pending|failing)")
_MOCHA_NAME: Final = re.compile(r" {2}[0-9]{1,9}\) (\S.*)")

_AVA: Final = re.compile(
    r" {2}[0-9]{1,9} (?:tests? (?:passed|failed|skipped|todo)|known failures?|uncaught exceptions?"
    r"|unhandled rejections?|test files? (?:did not report any tests?|failed)|tests? remaining)"
)
_AVA_SKIPPED: Final = (" skipped", " todo", " failure", " failures")
_AVA_NAME: Final = re.compile(r" {2}✘ \[fail\]: (.+?)(?: \([0-9.]+m?s\))?")

_DENO: Final = re.compile(
    r"(?:ok|FAILED) \| ([0-9]{1,9} passed(?: \([0-9]+ steps?\))? \| [0-9]{1,9} failed(?: \([0-9]+ steps?\))?"
    r"(?: \| [0-9]{1,9} (?:ignored|measured|filtered out)(?: \([0-9]+ steps?\))?)*) \([0-9a-zµ]+\)"
)
_ASIDE: Final = re.compile(r" \([^()]*\)")
_DENO_NAME: Final = re.compile(r"(\S.*) => (\S+?)(?::[0-9]+)*")

_BUN: Final = re.compile(r"Ran [0-9]{1,9} tests? across [0-9]{1,9} files?\. \[[0-9.]+m?s\]")
_BUN_AMOUNT: Final = re.compile(
    r" *([0-9]{1,9} (?:pass|fail|skip|todo|errors?|filtered out|snapshots?.*|expect\(\) calls?)),?"
)
_BUN_NAME: Final = re.compile(r"\(fail\) (.+?)(?: \[[0-9.]+m?s\])?")


def jest(lines: Sequence[str]) -> Iterator[Counts]:
    """Every `Tests:` under its `Test Suites:`; a file that cannot be loaded is an error."""
    file, names = "", dict[str, None]()
    for at, line in enumerate(lines):
        if found := _JEST_FILE.fullmatch(line):
            file = found[1]
        elif file and (found := _JEST_NAME.fullmatch(line)):
            names[f"{file} {found[1]}"] = None
        elif (found := _JEST.fullmatch(line)) and at and lines[at - 1].startswith("Test Suites: "):
            words = amounts(found[1])
            lost = sum(name.endswith(f" {_LOST}") for name in names)
            yield _counts(words, failed=("failed",), skipped=("skipped", "todo"), errors=lost, names=tuple(names))
            file, names = "", {}


def vitest(lines: Sequence[str]) -> Iterator[Counts]:
    """Every `Tests` under its `Test Files`; a file that cannot be loaded is an error."""
    names: dict[str, None] = {}
    for at, line in enumerate(lines):
        if found := _VITEST_NAME.fullmatch(line):
            names[found[1]] = None
        elif at and lines[at - 1].lstrip().startswith("Test Files  ") and line.lstrip().startswith("Tests  "):
            words = _piped(line)
            if words is None:
                continue
            said = (_VITEST_ERRORS.fullmatch(each) for each in lines[at + 1 : at + 4])
            lost = sum(" > " not in name for name in names) + sum(int(each[1]) for each in said if each)
            yield _counts(words, failed=("failed",), skipped=("skipped", "todo"), errors=lost, names=tuple(names))
            names = {}


def _piped(line: str) -> dict[str, int] | None:
    """The numbers of vitest's line; None where it is another line."""
    if line.strip() == "Tests  no tests":
        return {}
    found = _VITEST.fullmatch(line)
    return None if found is None else amounts(found[1])


def mocha(lines: Sequence[str]) -> Iterator[Counts]:
    """Every `passing` with what stands below it."""
    for at, line in enumerate(lines):
        if (passing := _MOCHA.fullmatch(line)) is None:
            continue
        more = takewhile(bool, map(_MOCHA_MORE.fullmatch, below(lines, at)))
        words = {each[2]: int(each[1]) for each in more if each} | {"passed": int(passing[1])}
        names = tuple(_mocha_names(below(lines, at))) if words.get("failing") else ()
        yield _counts(words, failed=("failing",), skipped=("pending",), names=names)


def _mocha_names(lines: Iterable[str]) -> Iterator[str]:
    """Titles of failures, each with those of its groups: the first line that ends with a colon closes it."""
    title: list[str] = []
    for line in lines:
        if _MOCHA.fullmatch(line):
            return
        if found := _MOCHA_NAME.fullmatch(line):
            title = [found[1]]
        elif title:
            title.append(line.strip())
        if title and (title[-1].endswith(":") or not title[-1]):
            yield " ".join(title).removesuffix(":")
            title = []


def ava(lines: Sequence[str]) -> Iterator[Counts]:
    """What stands under the last dash of each run."""
    names: list[str] = []
    for at, line in enumerate(lines):
        if found := _AVA_NAME.fullmatch(line):
            names.append(found[1])
        elif line == "  ─" and lines[at + 1 : at + 2] == [""]:
            said = list(takewhile(_AVA.fullmatch, lines[at + 2 : at + 12]))
            if not said:
                continue
            words = amounts(",".join(said))
            yield Counts(
                passed=of(words, "test passed", "tests passed"),
                failed=of(words, "test failed", "tests failed"),
                skipped=sum(number for word, number in words.items() if word.endswith(_AVA_SKIPPED)),
                errors=sum(number for word, number in words.items() if word.split()[0] in {"uncaught", "unhandled"}),
                failing=tuple(names),
            )
            names = []


def deno(lines: Sequence[str]) -> Iterator[Counts]:
    """Every last line, with the names under FAILURES."""
    names, listing = list[str](), False
    for line in lines:
        if line.strip() == "FAILURES":
            names, listing = [], True
        elif found := _DENO.fullmatch(line):
            words = amounts(_ASIDE.sub("", found[1]))
            yield _counts(words, failed=("failed",), skipped=("ignored",), names=tuple(names))
            names, listing = [], False
        elif listing and (found := _DENO_NAME.fullmatch(line)):
            names.append(f"{found[2]} {found[1]}")


def bun(lines: Sequence[str]) -> Iterator[Counts]:
    """The lines above every `Ran N tests`."""
    names: list[str] = []
    for at, line in enumerate(lines):
        if found := _BUN_NAME.fullmatch(line):
            names.append(found[1])
        elif _BUN.fullmatch(line):
            above = takewhile(bool, map(_BUN_AMOUNT.fullmatch, reversed(lines[max(0, at - 12) : at])))
            words = amounts(", ".join(each[1] for each in above if each))
            errors = of(words, "error", "errors")
            words["passed"] = of(words, "pass")
            yield _counts(words, failed=("fail",), skipped=("skip", "todo"), errors=errors, names=tuple(names))
            names = []


def _counts(
    words: dict[str, int],
    *,
    failed: tuple[str, ...],
    skipped: tuple[str, ...],
    errors: int = 0,
    names: tuple[str, ...] = (),
) -> Counts:
    return Counts(
        passed=of(words, "passed"), failed=of(words, *failed), skipped=of(words, *skipped), errors=errors, failing=names
    )
