"""Scripts of ed: the commands that start a program or write a file."""

import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.code.result import QUOTED, Code, Found

_ADDRESS = re.compile(r"(?:[0-9\0]+|[.$,;+\-\s^%]|'[a-z]|/(?:[^/\\]|\\.)*/?|\?(?:[^?\\]|\\.)*\??)*")
_TEXT = frozenset("aic")
_GLOBAL = frozenset("gvGV")
_NAMED = re.compile(r"(wq?|W|r|e|E|f)(?:[ \t]+(.*))?$", re.DOTALL)
_NAME = re.compile(r"(?<!\\)%")
_DEEP = 4


def ed(text: str) -> Code:
    """What a script of ed starts and writes. The text that a, i and c put in is data."""
    reader = _Script()
    reader.read(text.split("\n"), 0)
    return reader.found.code()


class _Script:
    """Reads commands, and remembers the name that `w` writes to by itself."""

    def __init__(self) -> None:
        self.found = Found()
        self._name: str | None = None
        self._last = ""

    def read(self, lines: list[str], depth: int) -> None:
        """Do the commands of these lines."""
        at = 0
        while at < len(lines):
            at = self._command(lines, at, depth)

    def _command(self, lines: list[str], at: int, depth: int) -> int:
        line = lines[at]
        start = _ADDRESS.match(line)
        body = line[start.end() if start else 0 :]
        sign = body[:1]
        if not sign:
            self._nothing(line)
        elif sign in _TEXT:
            return _after_text(lines, at + 1)
        elif sign in _GLOBAL or sign == "s":
            whole, at = _continued(lines, at, body)
            if sign in _GLOBAL:
                self._global(whole, depth)
        elif sign == "!":
            self._run(body[1:])
        else:
            self._file(body)
        return at + 1

    def _nothing(self, line: str) -> None:
        if UNKNOWN in line and not line.strip(f"{UNKNOWN} \t;"):
            self.found.opaque("Part of it is code that only the shell knows.")

    def _global(self, body: str, depth: int) -> None:
        """`g/re/commands`: what stands after the pattern is done for every line."""
        match = re.match(r".\s*(\S)", body)
        if not match:
            return
        rest = re.compile(rf"(?:[^{re.escape(match[1])}\\]|\\.)*", re.DOTALL).match(body, match.end())
        inner = body[rest.end() + 1 :] if rest else ""
        if depth > _DEEP:
            self.found.opaque("It is nested too deeply to be read.")
        elif inner.strip():
            self.read(inner.split("\n"), depth + 1)

    def _run(self, command: str) -> None:
        command = _NAME.sub(lambda _: self._name or QUOTED, command)
        if command.startswith("!"):
            command = self._last + command[1:]
        self._last = command
        self.found.script(command)

    def _file(self, body: str) -> None:
        match = _NAMED.match(body)
        if not match:
            return
        name = (match[2] or "").strip()
        if name.startswith("!") and match[1] != "f":
            self._run(name[1:])
            return
        if match[1] in {"e", "E", "f"} and name:
            self._name = name
        elif match[1] in {"w", "wq", "W"} and (name or self._name):
            self.found.write(name or self._name or "")
            self._name = self._name or name


def _after_text(lines: list[str], at: int) -> int:
    while at < len(lines) and lines[at] != ".":
        at += 1
    return at + 1


def _continued(lines: list[str], at: int, body: str) -> tuple[str, int]:
    """A command that goes on after a backslash at the end of its line, and its last line."""
    parts = [body]
    while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\") and at + 1 < len(lines):
        at += 1
        parts[-1] = parts[-1][:-1]
        parts.append(lines[at])
    return "\n".join(parts), at
