"""JSON text: where each value stands, so that one can be added or cut out and every other byte stays."""

import json
from typing import Any, NamedTuple

DEPTH = 64


class Part(NamedTuple):
    """One member of an object or one item of a list."""

    start: int
    """Where it begins: at its key, if it has one."""
    key: str | None
    node: "Node"


class Node(NamedTuple):
    """A value and its place in the text."""

    start: int
    end: int
    value: Any
    parts: tuple[Part, ...] = ()

    def member(self, key: str) -> "Node | None":
        """The member of that name; the last one, where it is written twice."""
        return next((part.node for part in reversed(self.parts) if part.key == key), None)


class TooDeep(ValueError):
    """Nested more than 64 levels."""


class Style(NamedTuple):
    """How a file is written."""

    newline: str
    unit: str | None
    """What one level is indented by; None for a file on one line."""
    colon: str

    @property
    def comma(self) -> str:
        """Between values on one line."""
        return "," + self.colon[1:]


def parse(text: str) -> Node:
    """The text as nodes. Raises json.JSONDecodeError for what is not JSON, TooDeep for what is nested too deeply."""
    node = _value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise json.JSONDecodeError("something follows the value", text, end)
    return node


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 4000 else float(digits)  # noqa: PLR2004 - Python refuses to read 4301 digits


def _constant(name: str) -> Any:  # noqa: ANN401 - never returns
    raise ValueError(name)


_SCALAR = json.JSONDecoder(parse_int=_integer, parse_constant=_constant)


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEPTH:
        raise TooDeep(at)
    opening = text[at : at + 1]
    if opening not in ("{", "["):
        return _scalar(text, at)
    closing, parts, start = {"{": "}", "[": "]"}[opening], list[Part](), at
    at = _skip(text, at + 1)
    while text[at : at + 1] != closing:
        if parts:
            at = _skip(text, _expect(text, at, ","))
        part = _part(text, at, depth, keyed=opening == "{")
        parts.append(part)
        at = _skip(text, part.node.end)
    if opening == "{":
        return Node(start, at + 1, {str(part.key): part.node.value for part in parts}, tuple(parts))
    return Node(start, at + 1, [part.node.value for part in parts], tuple(parts))


def _scalar(text: str, at: int) -> Node:
    try:
        value, end = _SCALAR.raw_decode(text, at)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise json.JSONDecodeError("a value is expected", text, at) from error
    return Node(at, end, value)


def _part(text: str, at: int, depth: int, *, keyed: bool) -> Part:
    if not keyed:
        return Part(at, None, _value(text, at, depth + 1))
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("a key in double quotes is expected", text, at)
    key = _scalar(text, at)
    value_at = _skip(text, _expect(text, _skip(text, key.end), ":"))
    return Part(at, key.value, _value(text, value_at, depth + 1))


def _expect(text: str, at: int, char: str) -> int:
    if text[at : at + 1] != char:
        raise json.JSONDecodeError(f"`{char}` is expected", text, at)
    return at + 1


def style_of(text: str, root: Node) -> Style:
    """How the file is written, from its first member; two spaces where it has none."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if not root.parts:
        return Style(newline, "  ", ": ")
    first = root.parts[0]
    lead = text[root.start + 1 : first.start]
    spaced = text[first.node.start - 1] in " \t\n\r" if first.key is not None else True
    return Style(newline, lead.rpartition("\n")[2] if "\n" in lead else None, ": " if spaced else ":")


def rendered(value: object, style: Style, indent: str) -> str:
    """The value as text whose first line stands at `indent`."""
    if style.unit is None:
        return json.dumps(value, ensure_ascii=False, separators=(style.comma, style.colon))
    text = json.dumps(value, ensure_ascii=False, indent=style.unit, separators=(",", style.colon))
    return text.replace("\n", style.newline + indent)


def added(text: str, container: Node, key: str | None, value: object, style: Style) -> str:
    """The text with one more member or item at the end of an object or list."""
    label = "" if key is None else json.dumps(key, ensure_ascii=False) + style.colon
    if container.parts:
        last = container.parts[-1]
        lead = text[len(text[: last.start].rstrip(" \t\n\r")) : last.start]
        at = last.node.end
        if "\n" not in lead or style.unit is None:
            return text[:at] + style.comma + label + rendered(value, style._replace(unit=None), "") + text[at:]
        indent = lead.rpartition("\n")[2]
        return text[:at] + "," + style.newline + indent + label + rendered(value, style, indent) + text[at:]
    before, after = text[: container.start + 1], text[container.end - 1 :]
    if style.unit is None:
        return before + label + rendered(value, style, "") + after
    line = text[text.rfind("\n", 0, container.start) + 1 : container.start]
    base = line[: len(line) - len(line.lstrip(" \t"))]
    inner = base + style.unit
    body = label + rendered(value, style, inner)
    return before + style.newline + inner + body + style.newline + base + after


def replaced(text: str, node: Node, value: object, style: Style) -> str:
    """The text with another value in the place of one."""
    line = text[text.rfind("\n", 0, node.start) + 1 : node.start]
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    inline = style if "\n" in text[node.start : node.end] else style._replace(unit=None)
    return text[: node.start] + rendered(value, inline, indent) + text[node.end :]


def cut(text: str, container: Node, index: int) -> str:
    """The text without one member or item."""
    parts = container.parts
    if index > 0:
        return text[: parts[index - 1].node.end] + text[parts[index].node.end :]
    if len(parts) > 1:
        return text[: parts[0].start] + text[parts[1].start :]
    return text[: container.start + 1] + text[container.end - 1 :]
