"""Questions: what an agent wants to know of a person, read from its answer and from its report block."""

from typing import Final

from keisei.records.problem import printable
from keisei.rules.report import is_nothing, read

MOST: Final = 20
"""Questions of one attempt."""
LONGEST: Final = 2000
"""Characters of one question."""


def is_question(text: str) -> bool:
    """Whether anything is asked at all."""
    return not is_nothing(text)


def reported(text: str | None) -> tuple[str, ...]:
    """The `questions` of the last `report` block of a message: one line, one question. Never raises.

    Here the name may be in any case, and of two lines the last one counts: a question is better asked than lost.
    """
    report = read(text)
    said = [each.value for each in report.fields if each.name.lower() == "questions"] if report is not None else []
    return tuple(printable(each)[:LONGEST] for each in said[-1:] if is_question(each))
