"""Severity: the report names the highest grade, and how many findings there are."""

import re
from typing import Final

from keisei.records.verification import Difference, Planned, Reply, Said
from keisei.rules.output import short
from keisei.rules.predicate.port import Forks
from keisei.rules.predicate.report import reply, unreported, words
from keisei.rules.report import Report, spoken

NUMBER: Final = re.compile(r"[0-9]{1,9}")
FEWEST: Final = 2
"""Grades of a scale: one that is bad, and the one that means nothing was found."""


def severity(planned: Planned, said: Said, _difference: Difference, _forks: Forks) -> Reply:
    """`severity` is one of the grades, as a whole word; the last grade goes with `findings: 0`, and only with that."""
    grades = words(planned, "grades")
    if grades is None or len(grades) < FEWEST:
        return Reply(status="error", told=("grades is no list of at least two grades, the worst first",))
    report = spoken(said)
    if report is None:
        return unreported()
    faults = [fault for name in ("severity", "findings") if (fault := report.fault(name)) is not None]
    return reply(faults or _faults(report, grades))


def _faults(report: Report, grades: tuple[str, ...]) -> list[str]:
    grade, number = report.value("severity") or "", report.value("findings") or ""
    faults = []
    if grade not in grades:
        faults.append(f"severity is `{short(grade, 60)}`, which is none of {', '.join(grades)}")
    if not NUMBER.fullmatch(number):
        faults.append(f"findings is `{short(number, 60)}`, which is no number")
    if not faults and (grade == grades[-1]) != (int(number) == 0):
        faults.append(
            f"severity {grade} does not go with {int(number)} findings: {grades[-1]} goes with 0, only with 0"
        )
    return faults
