"""Sed: files edited in place, and those that the commands of its script name."""

import re

from keisei.rules.shell.target.call import Call
from keisei.rules.shell.target.inplace import in_place
from keisei.rules.shell.target.page import Page, Shape, note

_SED_ADDRESS = re.compile(r"[\s;{}0-9$,~+!IM\0]*")

_SED_FLAGS = re.compile(r"[gpiIeMm0-9]*")

_SED_LABEL = re.compile(r"[^;\n]*")


def _sed(call: Call, page: Page) -> None:
    scripts, files = call.values("e"), call.operands
    if not call.has("e", "f") and files:
        # BSD: the suffix of -i is a word of its own, and empty
        bsd = files[0] == "" and call.has("i") and len(files) > 1
        scripts, files = [files[1 if bsd else 0]], files[2 if bsd else 1 :]
    if call.has("i"):
        in_place(files, call.value("i"), page)
    else:
        note(files, page, writes=False)
    for command, path in _sed_files("\n".join(scripts)):
        note([path], page, writes=command in "wW")


def _sed_files(script: str) -> list[tuple[str, str]]:
    """The files that commands of a sed script name: (command, path)."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(script):
        at = _skipped(_SED_ADDRESS, script, at)
        command, at = script[at : at + 1], at + 1
        if command == "/":
            at = _delimited(script, at, "/")
        elif command == "\\":
            at = _delimited(script, at + 1, script[at : at + 1])
        elif command in ("s", "y") and at < len(script):
            delimiter = script[at]
            at = _delimited(script, _delimited(script, at + 1, delimiter), delimiter)
            at = _skipped(_SED_FLAGS, script, at)
        elif command in ("w", "W", "r", "R", "#", "e"):
            end = _line_end(script, at)
            found += [(command, script[at:end].strip())] if command in "wWrR" else []
            at = end
        elif command in ("a", "i", "c"):
            at = _text_end(script, at)
        elif command in (":", "b", "t", "T"):
            at = _skipped(_SED_LABEL, script, at)
    return found


def _skipped(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _text_end(text: str, at: int) -> int:
    """The end of the lines of text that follow `a`, `i` and `c`: a backslash at a line's end joins the next one."""
    while True:
        end = _line_end(text, at)
        line = text[at:end]
        if end == len(text) or (len(line) - len(line.rstrip("\\"))) % 2 == 0:
            return end
        at = end + 1


def _delimited(text: str, at: int, delimiter: str) -> int:
    """Past the next delimiter that no backslash quotes."""
    while at < len(text) and text[at] != delimiter:
        at += 2 if text[at] == "\\" else 1
    return at + 1


SHAPES: dict[str, Shape] = {
    "sed": _sed,
}
"""How sed reads operands, by the name the tables use."""
