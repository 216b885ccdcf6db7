"""References: `$task.id` as a value, `${task.id}` inside text. What one leads to is never read for more of them."""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from keisei.contracts.words import kind_of, nearest, shown
from keisei.records.error import KeiseiError
from keisei.rules.canonical import canonical

Path = tuple[str | int, ...]
GIVEN = ("input", "item", "index")
"""Roots that are no steps."""
DEEPEST = 64
"""Levels of a value, and parts of a path."""
LONGEST = 500
"""Characters of a text that is remembered as it was read."""

NAME = r"[A-Za-z_][A-Za-z0-9_-]*+"
QUOTED = r'"[^"\\]*+(?:\\.[^"\\]*+)*"'
INDEX = r"(?:0|[1-9][0-9]{0,8}+)(?![0-9A-Za-z_-])"
PART = rf"\.(?:{NAME}|{INDEX})|\[(?:{INDEX}|{QUOTED})\]"
BARE = re.compile(rf"({NAME})((?:{PART})*)")  # no `*+` behind a group: Python 3.11.2 stays behind its last, failed try
EACH_PART, PLAIN = re.compile(PART), re.compile(NAME)
STOP = re.compile(r"\$\$|\$\{")


class Unresolved(KeiseiError):
    """A reference that leads nowhere now; the message is one sentence."""


class BadReference(KeiseiError):
    """Text that looks like a reference and is none."""


class Reference(NamedTuple):
    """One reference."""

    root: str
    """A step, `input`, `item` or `index`."""
    path: Path
    """What is taken of it."""
    place: Path = ()
    """Where it stands in the value it was found in."""
    whole: bool = True
    """Whether it is the value, or a piece of a text."""

    @property
    def text(self) -> str:
        """As people write it: `$task.id`."""
        return f"${self.root}{told(self.path)}"


Template = tuple[str | Reference, ...]
"""Texts and references in turn; a single whole reference stands alone."""


def told(path: Path) -> str:
    """A path as it is written behind a root."""
    return "".join(_part_text(part) for part in path)


def _part_text(part: str | int) -> str:
    plain = isinstance(part, int) or PLAIN.fullmatch(part)
    return f".{part}" if plain else f"[{json.dumps(part, ensure_ascii=False)}]"


def template(text: str) -> Template:
    """A text, read. Raises BadReference with a hint."""
    if "$" not in text:
        return (text,)
    return _remembered(text) if len(text) <= LONGEST else _template(text)


def _template(text: str) -> Template:
    if text.startswith("$") and not text.startswith(("$$", "${")):
        return (_whole(text),)
    return _pieces(text)


_remembered = lru_cache(maxsize=4096)(_template)


def _whole(text: str) -> Reference:
    found = BARE.fullmatch(text, 1)
    if found is None:
        raise BadReference(f"{shown(text)} begins with a dollar and is no reference", _advice(text))
    return _reference(found, whole=True)


def _advice(text: str) -> str:
    found = BARE.match(text, 1)
    literal = f"a dollar that is meant as one is written {shown('$' + text)}"
    if found is None:
        return literal
    return f"inside text write {shown('${' + found[0] + '}' + text[found.end() :])}; {literal}"


def _pieces(text: str) -> Template:
    pieces: list[str | Reference] = []
    start = 0
    while found := STOP.search(text, start):
        pieces.append(text[start : found.start()])
        if found[0] == "$$":
            pieces.append("$")
            start = found.end()
            continue
        inner = BARE.match(text, found.end())
        if inner is None or text[inner.end() : inner.end() + 1] != "}":
            message = f"{shown(text[found.start() :])} opens a reference that cannot be read"
            raise BadReference(message, "write `${step.property}`; a dollar that is meant as one is written `$${`")
        start = inner.end() + 1
        is_all = found.start() == 0 and start == len(text)
        pieces.append(_reference(inner, whole=is_all))
    pieces.append(text[start:])
    return tuple(piece for piece in pieces if piece != "") or ("",)


def _reference(found: re.Match[str], *, whole: bool) -> Reference:
    parts = tuple(_part(part[0]) for part in EACH_PART.finditer(found[2]))
    if len(parts) > DEEPEST:
        raise BadReference(f"a reference has at most {DEEPEST} parts", None)
    return Reference(found[1], parts, (), whole)


def _part(text: str) -> str | int:
    inner = text[1:] if text.startswith(".") else text[1:-1]
    if inner.startswith('"'):
        try:
            return str(json.loads(inner, strict=False))
        except ValueError as error:
            raise BadReference(f"{shown(inner)} is not a key in quotes", "escape as in JSON") from error
    return int(inner) if inner.isdigit() else inner


def reference(text: str) -> Reference:
    """A text that is one whole reference, as `for_each` takes it. Raises BadReference."""
    found = template(text)
    if len(found) == 1 and isinstance(found[0], Reference) and found[0].whole:
        return found[0]
    raise BadReference(f"{shown(text)} is not a reference", "write `$step.property` or `$input.property`")


def scanned(value: object) -> Iterator[Reference | tuple[Path, BadReference]]:
    """Every reference of a value with its place, and every text that is none, in order. Keys are not references."""
    for place, text in _texts(value, ()):
        try:
            for each in template(text):
                if isinstance(each, Reference):
                    yield Reference(each.root, each.path, place, each.whole)
        except BadReference as error:
            yield place, error


def _texts(value: object, place: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        if "$" in value:
            yield place, value
    elif len(place) > DEEPEST:
        raise BadReference(f"nested more than {DEEPEST} levels", None)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*place, key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _texts(item, (*place, index))


def references(value: object) -> tuple[Reference, ...]:
    """Every reference of a value. Raises BadReference for the first text that only looks like one."""
    found: list[Reference] = []
    for each in scanned(value):
        if not isinstance(each, Reference):
            raise each[1]
        found.append(each)
    return tuple(found)


def resolved(value: object, scope: Mapping[str, Any], envelopes: Collection[str] | None = None) -> Any:  # noqa: ANN401
    """The value with every reference replaced. Raises Unresolved or BadReference with one sentence.

    `envelopes` names the roots behind which `.result` means nothing, as `pipe_plan.envelopes` tells them; without it
    `.result` is passed over behind any step whose value has no such key.
    """
    if isinstance(value, str):
        return _text(template(value), scope, envelopes) if "$" in value else value
    if isinstance(value, dict):
        return {key: resolved(item, scope, envelopes) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolved(item, scope, envelopes) for item in value]
    return value


def _text(pieces: Template, scope: Mapping[str, Any], envelopes: Collection[str] | None) -> Any:  # noqa: ANN401 - any JSON
    if len(pieces) == 1 and isinstance(pieces[0], Reference) and pieces[0].whole:
        return looked_up(pieces[0], scope, envelopes)
    return "".join(
        piece if isinstance(piece, str) else _as_text(piece, looked_up(piece, scope, envelopes)) for piece in pieces
    )


def _as_text(found: Reference, value: object) -> str:
    if value is None:
        raise Unresolved(f"`{found.text}` is null, and null is no text")
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value).lower() if isinstance(value, bool) else str(value)
    try:
        return canonical(value).decode("utf-8")
    except ValueError as error:
        raise Unresolved(f"`{found.text}` cannot be written into a text: {error}") from error


def looked_up(found: Reference, scope: Mapping[str, Any], envelopes: Collection[str] | None = None) -> Any:  # noqa: ANN401
    """What a reference leads to. Raises Unresolved with what is there instead."""
    if found.root not in scope:
        raise Unresolved(f"`{found.text}` leads nowhere: there is no `{found.root}`", nearest(found.root, scope))
    value = scope[found.root]
    for part in _beyond_envelope(found, value, envelopes):
        value = _taken(value, part, found)
    return value


def _beyond_envelope(found: Reference, value: object, envelopes: Collection[str] | None) -> Path:
    if found.root in GIVEN or found.path[:1] != ("result",):
        return found.path
    has_none = not (isinstance(value, dict) and "result" in value)
    return found.path[1:] if (has_none if envelopes is None else found.root in envelopes) else found.path


def _taken(value: object, part: str | int, found: Reference) -> object:
    if isinstance(value, dict):
        if str(part) in value:
            return value[str(part)]
        available = listed_names(str(part), [str(key) for key in value])
        raise Unresolved(f"`{found.text}` leads nowhere: there is no {shown(part)}", f"available: {available}")
    if isinstance(value, list) and isinstance(part, int):
        if part < len(value):
            return value[part]
        raise Unresolved(f"`{found.text}` leads nowhere: the list has {len(value)} items")
    what = "index" if isinstance(part, int) else "property"
    raise Unresolved(f"`{found.text}` leads nowhere: {kind_of(value)} has no {what} {shown(part)}")


MOST = 12


def listed_names(wanted: str, names: Collection[str]) -> str:
    """Names for a hint, the nearest first, not more than fit a line."""
    from difflib import get_close_matches  # noqa: PLC0415 - error path only

    few = sorted(names)[:500]
    near = get_close_matches(wanted[:64], few, n=3, cutoff=0.5)
    ordered = [*near, *(name for name in few if name not in near)]
    more = f" and {len(names) - MOST} more" if len(names) > MOST else ""
    return (", ".join(shown(name) for name in ordered[:MOST]) or "nothing") + more
