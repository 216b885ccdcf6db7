"""sed scripts: the commands that run a program or write a file."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.result import Code, Found

_BLANK = re.compile(r"[\s;]*")
_STEP = re.compile(r"[0-9\0]+(?:~[0-9]+)?|\$|[+~][0-9]+")
_FLAGS = re.compile(r"[gpiImMe0-9]*")


def sed(text: str) -> Code:
    """What a sed script starts and writes. A command it does not know ends the reading."""
    found = Found()
    at = 0
    while at < len(text):
        at = _address(text, at)
        if at >= len(text):
            break
        after = _command(text, at, found)
        at = max(after, at + 1)
    return found.code()


def _address(text: str, at: int) -> int:
    """Where the command after an address starts."""
    while at < len(text):
        at = _end(_BLANK, text, at)
        step = _STEP.match(text, at)
        if step:
            at = step.end()
        elif text.startswith("\\", at) and at + 1 < len(text):
            at = _delimited(text, at + 2, text[at + 1])
            at = _end(re.compile("[IM]*"), text, at)
        elif text.startswith("/", at):
            at = _delimited(text, at + 1, "/")
            at = _end(re.compile("[IM]*"), text, at)
        elif text[at : at + 1] in {",", "!", "{", "}"}:
            at += 1
        else:
            return at
    return at


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _delimited(text: str, at: int, delimiter: str) -> int:
    """Just after the next delimiter that is not escaped and not in brackets."""
    inside, last = False, text.rfind("]")
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif sign == "[" and not inside and at + 2 <= last:
            inside = True
        elif sign == "]":
            inside = False
        elif sign == delimiter and not inside:
            return at + 1
        at += 1
    return len(text) + 1


def _line(text: str, at: int) -> tuple[str, int]:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return text[at:end], end


def _command(text: str, at: int, found: Found) -> int:
    sign = text[at]
    if sign == "s" and at + 1 < len(text):
        return _substitute(text, at, found)
    if sign == "y" and at + 1 < len(text):
        return _delimited(text, _delimited(text, at + 2, text[at + 1]), text[at + 1])
    if sign in "wW":
        path, end = _line(text, at + 1)
        found.write(path.strip())
        return end
    if sign == "e":
        command, end = _line(text, at + 1)
        command = command.strip()
        if command.strip("};") and command.strip(UNKNOWN):
            found.script(command)
        else:
            found.opaque("It runs the text it edits as a command.")
        return end
    if sign in "aic":
        return _inserted(text, at + 1)
    if sign in "rR#:":
        return _line(text, at)[1]
    return _label(text, at) if sign in "btT" else at + 1


def _label(text: str, at: int) -> int:
    return _end(re.compile(r"[^\n;}]*"), text, at)


def _inserted(text: str, at: int) -> int:
    """After the text that a, i and c put in: it goes on after a backslash at the end of a line."""
    while True:
        line, at = _line(text, at)
        if not line.endswith("\\") or at >= len(text):
            return at
        at += 1


def _substitute(text: str, at: int, found: Found) -> int:
    delimiter = text[at + 1]
    middle = _delimited(text, at + 2, delimiter)
    end = _replacement(text, middle, delimiter)
    flags = _FLAGS.match(text, end)
    letters = flags[0] if flags else ""
    after = flags.end() if flags else end
    if "e" in letters:
        found.opaque("It runs the text it edits as a command.")
        replacement = text[middle : end - 1]
        if not re.search(r"&|\\\d", replacement):
            found.script(replacement)
    if text.startswith("w", after):
        path, after = _line(text, after + 1)
        found.write(path.strip())
    return after


def _replacement(text: str, at: int, delimiter: str) -> int:
    while at < len(text):
        if text[at] == "\\":
            at += 1
        elif text[at] == delimiter:
            return at + 1
        at += 1
    return len(text) + 1
