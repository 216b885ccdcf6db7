"""Escapes: the text of `$'...'`, and of `echo -e` and `printf`, which read the same ones."""

import re
from typing import Final

from keisei.records.effect import UNKNOWN

ESCAPES: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
ESCAPE: Final = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})|x(?P<hex>[0-9A-Fa-f]{1,2})|u(?P<four>[0-9A-Fa-f]{1,4})|U(?P<eight>[0-9A-Fa-f]{1,8})"
    r"|c(?P<control>.)|(?P<plain>.))",
    re.DOTALL,
)


def unescaped(text: str) -> str:
    """The text of `$'...'`. A NUL ends it, as in bash."""

    def one(match: re.Match[str]) -> str:
        if match["octal"]:
            return chr(int(match["octal"], 8) & 0xFF)
        digits = match["hex"] or match["four"] or match["eight"]
        if digits:
            code = int(digits, 16)
            return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else UNKNOWN  # noqa: PLR2004
        if match["control"]:
            return chr(ord(match["control"]) & 0x1F)
        return ESCAPES.get(match["plain"], "\\" + match["plain"])

    found = ESCAPE.sub(one, text)
    return found.split("\0", 1)[0] if "\0" in found else found


def spelled(text: str) -> tuple[str, bool]:
    """The text as `echo -e` and `%b` read it, and whether it is cut short there; octal numbers begin with a zero."""
    head, ended, _ = text.partition("\\c")
    return unescaped(re.sub(r"\\0([0-7]{1,3})", r"\\\1", head)), bool(ended)
