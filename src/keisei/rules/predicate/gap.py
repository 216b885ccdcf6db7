"""Gaps: an output too long to be kept whole has a line where its middle is missing, and what was there is unknown."""

import re
from typing import Final

_GAP: Final = re.compile(r"^\[\.\.\. [0-9]+ bytes are left out here \.\.\.\]$", re.MULTILINE)


def gap(size: int) -> str:
    """The line that stands for so many bytes."""
    return f"[... {size} bytes are left out here ...]"


def has_gap(output: str) -> bool:
    """Whether something is missing. A program that prints such a line itself is believed: it gains nothing by it."""
    return _GAP.search(output) is not None
