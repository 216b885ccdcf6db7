"""Programs of dc: what they start."""

import re

from keisei.rules.shell.code.result import Code, Found

_COMMAND = re.compile(r"!(?![<>=])([^\n]*)")


def dc(text: str) -> Code:
    """What a dc program starts: the rest of a line after an exclamation mark. Strings with one may be run as macros."""
    found = Found()
    outside, inside = _parted(text)
    for match in _COMMAND.finditer(outside):
        found.script(match[1])
    if _COMMAND.search(inside) and re.search(r"[x<>=?]", outside):
        found.opaque("It runs a macro that may start a program.")
    return found.code()


def _parted(text: str) -> tuple[str, str]:
    """What stands outside of brackets, and what stands inside."""
    parts: tuple[list[str], list[str]] = ([], [])
    depth = 0
    for piece in re.split(r"([\[\]])", text):
        if piece in {"[", "]"}:
            depth = max(0, depth + (1 if piece == "[" else -1))
        else:
            parts[depth > 0].append(piece)
    return "".join(parts[0]), " ".join(parts[1])
