"""Patches: which files the patch text of `apply_patch` writes and deletes."""

import re
from typing import Final

from keisei.records.effect import UNKNOWN

HEADER: Final = re.compile(
    r"[ \t]*\*\*\*[ \t]*(Add|Update|Delete|Move|Rename)[ \t]*(File|to)[ \t]*:[ \t]*(.*?)[ \t]*$",
    re.IGNORECASE | re.DOTALL,
)
UNIFIED: Final = re.compile(r"(?:---|\+\+\+)\s+([^\t\n]+)")


def patched(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Paths written and paths deleted. Text without any header touches what cannot be told."""
    writes: dict[str, None] = {}
    deletes: dict[str, None] = {}
    updated = ""
    for line in _lines(text):
        match = HEADER.match(line)
        if match is None:
            continue
        verb, path = match[1].lower(), match[3].strip("`\"'")
        if verb == "delete":
            deletes[path] = None
        elif verb in ("move", "rename"):
            writes[path] = None
            if updated:
                deletes[updated] = None
        else:
            writes[path] = None
            updated = path
    if not writes and not deletes:
        writes = dict.fromkeys(unified(text, 1)) or {UNKNOWN: None}
    return tuple(writes), tuple(deletes)


def unified(text: str, strip: int) -> tuple[str, ...]:
    """Every path a unified diff names, without its first `strip` components. Empty where it names none."""
    found: dict[str, None] = {}
    for match in filter(None, map(UNIFIED.match, _lines(text))):
        path = match[1].strip()
        parts = path.split("/")
        if path != "/dev/null":
            found["/".join(parts[strip:]) if 0 < strip < len(parts) else path] = None
    return tuple(found)


def _lines(text: str) -> list[str]:
    """Lines as a patch has them: what else ends a line elsewhere is part of a name here."""
    return [line.removesuffix("\r") for line in text.split("\n")]
