"""Counts of pytest and of unittest."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from keisei.rules.test_tally import Counts, amounts, of

_SUMMARY: Final = re.compile(
    r"(?:=+ )?(no tests ran|[0-9]{1,9} [a-z]+(?: [a-z]+)?(?:, [0-9]{1,9} [a-z]+(?: [a-z]+)?)*)"
    r" in [0-9]{1,9}\.[0-9]{2}s(?: \([0-9a-z:, ]{1,40}\))?(?: =+)?"
)
_WORDS: Final = frozenset(
    {"passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "warning", "warnings", "error", "errors"}
    | {"rerun", "reruns", "subtests passed", "subtests failed", "subtests skipped"}
)
_START: Final = re.compile(r"=+ test session starts =+|[.FEsxXuRr,-]+(?: +\[ *[0-9]{1,3}%\])?")
_INFO: Final = re.compile(r"=+ short test summary info =+")
_NAMED: Final = re.compile(r"(?:FAILED|ERROR|SUBFAILED\S*(?: \(.*?\))?|SUBFAIL) (?=\S)")

_RAN: Final = re.compile(r"Ran ([0-9]{1,9}) tests? in [0-9]{1,9}\.[0-9]{3}s")
_STATUS: Final = re.compile(r"(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z ]+=[0-9]{1,9}(?:, [a-z ]+=[0-9]{1,9})*)\))?")
_AMOUNT: Final = re.compile(r"([a-z][a-z ]*)=([0-9]{1,9})")
_BROKEN: Final = re.compile(r"(?:FAIL|ERROR|UNEXPECTED SUCCESS): (.+)")
_WIDTH: Final = 70


def pytest(lines: Sequence[str]) -> Iterator[Counts]:
    """The last summary of each session."""
    session: Counts | None = None
    names: dict[str, None] = {}
    informing = False
    for line in lines:
        if session is not None and _START.fullmatch(line):
            yield session
            session, names, informing = None, {}, False
        elif _INFO.fullmatch(line):
            names, informing = {}, True
        elif (found := _SUMMARY.fullmatch(line)) and (counts := _pytest(found[1], tuple(names))):
            session, informing = counts, False
        elif informing and _NAMED.match(line):
            names[_node(line)] = None
    if session is not None:
        yield session


def _pytest(text: str, names: tuple[str, ...]) -> Counts | None:
    words = amounts(text) if text != "no tests ran" else {}
    if not words.keys() <= _WORDS:
        return None
    failed, errors = of(words, "failed", "subtests failed"), of(words, "error", "errors")
    return Counts(
        passed=of(words, "passed"),
        failed=failed,
        skipped=of(words, "skipped", "xfailed", "xpassed"),
        errors=errors,
        failing=names if failed or errors else (),
    )


def _node(line: str) -> str:
    """The test's id; a parameter may hold the dash that sets the message apart."""
    text = line.removeprefix("FAILED ").removeprefix("ERROR ")
    dash = text.find(" - ")
    if "[" in text[: max(dash, 0)] and not text.endswith("]"):
        closed = text.find("] - ")
        dash = closed + 1 if closed >= 0 else dash
    elif text.endswith("]") and "[" in text[: max(dash, 0)]:
        dash = -1
    return text if dash < 0 else text[:dash]


def unittest(lines: Sequence[str]) -> Iterator[Counts]:
    """Every `Ran N tests` under its line of dashes that a status follows."""
    names: list[str] = []
    for at, line in enumerate(lines[1:], start=1):
        above = lines[at - 1]
        if (named := _BROKEN.fullmatch(line)) and above == "=" * _WIDTH:
            names.append(named[1])
        elif (ran := _RAN.fullmatch(line)) and above == "-" * _WIDTH:
            status = next((each for each in lines[at + 1 : at + 4] if each), "")
            if (ended := _STATUS.fullmatch(status)) is not None:
                yield _unittest(int(ran[1]), ended[1] or "", tuple(names))
                names = []


def _unittest(ran: int, text: str, names: tuple[str, ...]) -> Counts:
    words = {word: int(number) for word, number in _AMOUNT.findall(text)}
    failed = of(words, "failures", "unexpected successes")
    skipped = of(words, "skipped", "expected failures")
    errors = of(words, "errors")
    passed = max(0, ran - failed - skipped - errors)
    return Counts(passed=passed, failed=failed, skipped=skipped, errors=errors, failing=names)
