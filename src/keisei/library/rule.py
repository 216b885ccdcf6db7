"""Rule files: markdown under rules/, linked to as `[[rules/RULE 0.13]]` or by file name."""

import re
from pathlib import Path

from keisei.library.source import read_source
from keisei.records.error import AuthorError

HEADING = re.compile(r"RULE[ -](\d+(?:\.\d+)*)")


def rule_names(path: Path) -> set[str]:
    """What links may call this file: its stem, and `RULE n.m` from its name or first heading."""
    try:
        first = next((line for line in read_source(path).text.splitlines() if line.startswith("#")), "")
    except AuthorError:
        first = ""
    numbers = HEADING.findall(path.stem) + HEADING.findall(first)
    return {path.stem, *(f"RULE {number}" for number in numbers)}
