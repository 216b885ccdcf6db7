"""Pointers (RFC 6901): where in a document."""

import re

from kei_json.context import Context
from kei_json.value import Json, shown

INDEX = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)
BAD_ESCAPE = re.compile(r"~(?![01])")


def pointer(keys: list[str | int]) -> str:
    """The keys as a pointer."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in keys)


def keys_of(context: Context, text: str) -> list[str]:
    """The keys of a pointer. Raises BadPointer for what is none."""
    if (text and not text.startswith("/")) or BAD_ESCAPE.search(text):
        raise context.error("BadPointer", f"{shown(text)} is no pointer: each key begins with `/`; `~` is written `~0`")
    return [key.replace("~1", "/").replace("~0", "~") for key in text.split("/")[1:]]


def found(context: Context, document: Json, keys: list[str]) -> Json:
    """What stands there. Raises BadPointer where nothing does."""
    for depth, key in enumerate(keys):
        place = pointer([*keys[: depth + 1]])
        if isinstance(document, dict) and key in document:
            document = document[key]
        elif isinstance(document, list):
            document = document[index(context, document, key, place)]
        else:
            raise context.error("BadPointer", f"nothing stands at {shown(place)}")
    return document


def index(context: Context, values: list[Json], key: str, place: str, *, behind: bool = False) -> int:
    """A place in a list; with `behind` also the one behind its last value, which is `-` too. Raises BadPointer."""
    if behind and key == "-":
        return len(values)
    if not INDEX.fullmatch(key):
        raise context.error("BadPointer", f"{shown(place)} leads into a list, and {shown(key)} is no index of it")
    if int(key) >= len(values) + behind:
        raise context.error("BadPointer", f"{shown(place)} is behind the end of a list of {len(values)}")
    return int(key)
