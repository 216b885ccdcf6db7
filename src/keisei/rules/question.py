"""Questions: what an agent wants to know of a person, read from its answer and from its report block."""

import re
from typing import Final

from keisei.records.problem import printable

MOST: Final = 20
"""Questions of one attempt."""
LONGEST: Final = 2000
"""Characters of one question."""
NONE: Final = frozenset({"", "-", "none", "none."})
"""What stands where there is nothing to ask."""

OPENING: Final = re.compile(r"^(`{3,})report[ \t]*$")
FIELD: Final = re.compile(r"^questions[ \t]*:(.*)$", re.IGNORECASE)


def is_question(text: str) -> bool:
    """Whether anything is asked at all."""
    return text.strip().lower() not in NONE


def reported(text: str | None) -> tuple[str, ...]:
    """The `questions` of the last `report` block of a message: one line, one question. Never raises."""
    block = _last_block(text or "")
    said = [match[1].strip() for line in block if (match := FIELD.match(line))]
    return tuple(printable(each)[:LONGEST] for each in said[-1:] if is_question(each))


def _last_block(text: str) -> list[str]:
    """The lines of the last block that is closed; nothing where there is none."""
    found: list[str] = []
    fence, inside = "", list[str]()
    for line in text.splitlines():
        opening = OPENING.match(line)
        if not fence and opening:
            fence, inside = opening[1], []
        elif fence and line.rstrip() == fence:
            found, fence = inside, ""
        elif fence:
            inside.append(line)
    return found
