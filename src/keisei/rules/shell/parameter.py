"""Parameter expansion: what `${x#a}`, `${x/a/b}`, `${x:1:2}` and their relatives make of a value that is known."""

import fnmatch
import re

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.atom import LONGEST, MOST, Fields, Node


def constant(node: Node | None) -> str | None:
    """The text of an index or offset that is plainly written there."""
    if not node:
        return None
    parts: list[Node] = node.get("Parts") or []
    if len(parts) == 1 and parts[0].get("Type") == "Lit":
        return str(parts[0].get("Value", ""))
    if node.get("Type") == "UnaryArithm" and node.get("Op") == "-":
        inner = constant(node.get("X"))
        return None if inner is None else f"-{inner}"
    if node.get("Type") == "ParenArithm":
        return constant(node.get("X"))
    return None


def sliced(node: Node, value: str) -> str:
    """The part of a value that `${x:offset:length}` means."""
    if UNKNOWN in value:
        return UNKNOWN
    offset, length = constant(node.get("Offset")), constant(node.get("Length"))
    try:
        start = int(offset or 0)
        start = max(len(value) + start, 0) if start < 0 else start
        if node.get("Length") is None:
            return value[start:]
        size = int(length or "x")
    except ValueError:
        return UNKNOWN
    return value[start : start + size] if size >= 0 else value[start:size]


def _pattern(pattern: str) -> re.Pattern[str] | None:
    if UNKNOWN in pattern or len(pattern) > MOST or pattern.count("*") > 3:  # noqa: PLR2004 - no pattern runs away
        return None
    try:
        return re.compile(fnmatch.translate(pattern))
    except re.error:
        return None


def stripped(op: str, value: str, pattern: str) -> str:
    """A value without what a pattern takes from its beginning or end."""
    matcher = _pattern(pattern)
    if matcher is None or UNKNOWN in value or len(value) > LONGEST:
        return UNKNOWN
    sizes = range(len(value) + 1)
    for size in sizes if len(op) == 1 else reversed(sizes):
        if op[0] == "#" and matcher.match(value[:size]):
            return value[size:]
        if op[0] == "%" and matcher.match(value[len(value) - size :]):
            return value[: len(value) - size]
    return value


def recased(op: str, value: str) -> str:
    """A value in capitals, or not."""
    change = str.upper if op[0] == "^" else str.lower
    return change(value) if len(op) == 2 else change(value[:1]) + value[1:]  # noqa: PLR2004 - `^^` is everywhere


def substituted(value: str, pattern: str, new: str, *, everywhere: bool) -> str:
    """A value with a pattern replaced."""
    if UNKNOWN in value or UNKNOWN in pattern or len(value) > LONGEST:
        return UNKNOWN
    if pattern[:1] in ("#", "%") and not any(char in pattern for char in "*?["):
        part = pattern[1:]
        if pattern[0] == "#":
            return new + value[len(part) :] if value.startswith(part) else value
        return value[: len(value) - len(part)] + new if value.endswith(part) else value
    if pattern[:1] in ("#", "%") or any(char in pattern for char in "*?["):
        matcher = _pattern(pattern)
        if matcher is None or pattern[:1] in ("#", "%"):
            return UNKNOWN
        inner = fnmatch.translate(pattern).removesuffix(r"\Z").removesuffix(r"\z")
        return re.sub(inner, lambda _: new, value, count=0 if everywhere else 1)
    return value.replace(pattern, new, -1 if everywhere else 1) if pattern else value


def some(rows: tuple[Fields, ...], cut: Node | None, *, first: int) -> tuple[Fields, ...]:
    """Rows, or the part of each that `${@:offset:length}` means; `first` is the number of the first field."""
    if cut is None:
        return rows
    offset, length = constant(cut.get("Offset")), constant(cut.get("Length"))
    try:
        start, size = int(offset or "x"), int(length) if length is not None else None
    except ValueError:
        return ((UNKNOWN,),)
    if cut.get("Length") is not None and (size is None or size < 0):
        return ((UNKNOWN,),)
    found = []
    for row in rows:
        begin = max(start - first, 0) if start >= 0 else max(len(row) + start, 0)
        found.append(row[begin : None if size is None else begin + size])
    return tuple(found)
