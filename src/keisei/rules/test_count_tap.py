"""Counts of the Test Anything Protocol, of node --test (both reporters), and of prove."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from keisei.rules.test_tally import Counts, of

_POINT: Final = re.compile(r"( *)(not )?ok ([0-9]{1,9})(?: -)?(?: ([^#]*))?(?:# *((?i:skip|todo))\S*.*|#.*)?")
_PLAN: Final = re.compile(r"1\.\.([0-9]{1,9})(?: *#.*)?")
_FOOTER: Final = re.compile(
    r"[#\u2139] (tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) ([0-9]{1,9})(?:\.[0-9]+)?"
)
_BROKEN: Final = re.compile(r"✖ (.+?) \([0-9.]+ms\)(?: #.*)?")

_TOTAL: Final = re.compile(r"Files=[0-9]{1,9}, Tests=([0-9]{1,9}), .* CPU\)")
_LOST: Final = re.compile(r"(\S.*) \(Wstat: .* Tests: [0-9]{1,9} Failed: ([0-9]{1,9})\)")
_LOST_NUMBERS: Final = re.compile(r" {2}Failed tests?: +([0-9, -]+)")
_SKIPPED: Final = re.compile(r"\t\(less ([0-9]{1,9}) skipped subtests?: .*\)")


class _Document:
    """One TAP document while it is read."""

    def __init__(self) -> None:
        self.passed = self.failed = self.skipped = 0
        self.plan: int | None = None
        self.names: list[str] = []
        self.bailed = False

    @property
    def points(self) -> int:
        return self.passed + self.failed + self.skipped

    def restarts(self, point: re.Match[str]) -> bool:
        """Whether this is the first point of another document."""
        return not point[1] and point[3] == "1" and self.points > 0

    def take(self, point: re.Match[str]) -> None:
        """Inner points only name what failed; the outer one counts."""
        depth, bad, _, name, directive = point.groups()
        if bad and not directive:
            self.names.append((name or "").strip() or "a point without a name")
        if depth:
            return
        if directive and (bad or directive.lower() == "skip"):
            self.skipped += 1
        elif bad:
            self.failed += 1
        else:
            self.passed += 1

    def counts(self) -> Counts | None:
        """None without a plan: then it is not TAP. A point that was promised and is missing is an error."""
        if self.plan is None:
            return None
        missing = max(0, self.plan - self.points) + self.bailed
        return Counts(
            passed=self.passed,
            failed=self.failed,
            skipped=self.skipped,
            errors=missing,
            failing=tuple(self.names),
        )


def anything(lines: Sequence[str]) -> Iterator[Counts]:
    """What prove says, where it ran; else every document: a harness may print the documents that it counts."""
    proved = list(prove(lines))
    yield from proved or tap(lines)


def tap(lines: Sequence[str]) -> Iterator[Counts]:
    """Every document with a plan; where node wrote it, its own footer counts, because that knows inner tests."""
    document, footer = _Document(), dict[str, int]()
    for line in lines:
        if found := _FOOTER.fullmatch(line):
            footer = {**({} if found[1] == "tests" else footer), found[1]: int(found[2])}
            if found[1] == "duration_ms" and "cancelled" in footer:
                yield _node(footer, document.names if line.startswith("#") else [])
                document, footer = _Document(), {}
            continue
        plan, point = _PLAN.fullmatch(line), _POINT.fullmatch(line)
        again = document.plan is not None if plan else bool(point and document.restarts(point))
        if again or line.startswith("TAP version "):
            if (ended := document.counts()) is not None:
                yield ended
            document = _Document()
        if plan:
            document.plan = int(plan[1])
        elif point:
            document.take(point)
        elif line.startswith("Bail out!"):
            document.bailed = True
    if (ended := document.counts()) is not None:
        yield ended


def _node(footer: dict[str, int], names: Sequence[str]) -> Counts:
    return Counts(
        passed=of(footer, "pass"),
        failed=of(footer, "fail", "cancelled"),
        skipped=of(footer, "skipped", "todo"),
        failing=tuple(names),
    )


def spec(lines: Sequence[str]) -> Iterator[Counts]:
    """The names of node's other reporter, which stand behind its footer; the footer is counted with TAP's."""
    naming = False
    names = []
    for line in lines:
        if line == "✖ failing tests:":
            naming = True
        elif naming and (broken := _BROKEN.fullmatch(line)):
            names.append(broken[1])
        elif line.startswith("\u2139 tests "):
            naming = False
    if names:
        yield Counts(failing=tuple(names))


def prove(lines: Sequence[str]) -> Iterator[Counts]:
    """The total of each run of the harness."""
    lost: list[tuple[str, int]] = []
    skipped = 0
    for at, line in enumerate(lines):
        if less := _SKIPPED.fullmatch(line):
            skipped += int(less[1])
        elif broken := _LOST.fullmatch(line):
            numbers = _LOST_NUMBERS.fullmatch(lines[at + 1]) if at + 1 < len(lines) else None
            lost.append((f"{broken[1]} {numbers[1]}" if numbers else broken[1], int(broken[2])))
        elif (total := _TOTAL.fullmatch(line)) and lines[at + 1 : at + 2] in (["Result: PASS"], ["Result: FAIL"]):
            failed = sum(number for _, number in lost)
            errors = 1 if lines[at + 1] == "Result: FAIL" and not failed else 0
            passed = max(0, int(total[1]) - failed - skipped)
            names = tuple(name for name, _ in lost)
            yield Counts(passed=passed, failed=failed, skipped=skipped, errors=errors, failing=names)
            lost, skipped = [], 0
