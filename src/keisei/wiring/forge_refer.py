"""References of schemas: the files of a package that planned schemas lead to, however many others stand beside them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote

import msgspec

from keisei.library.source import read_raw
from keisei.records.error import AuthorError

MOST: Final = 500
"""Files that one schema may lead to."""


def referred(package: Path, texts: Mapping[str, str]) -> list[str]:
    """What these schemas refer to, and what that refers to, relative to the package. Never raises."""
    waiting: list[tuple[str, str | bytes]] = [(path, text) for path, text in texts.items() if path.endswith(".json")]
    found: list[str] = []
    while waiting and len(found) < MOST:
        path, text = waiting.pop()
        for each in _references(text):
            target = os.path.normpath(os.path.join(os.path.dirname(path), unquote(each.partition("#")[0])))  # noqa: PTH118, PTH120 - relative
            is_known = target in found or target in texts
            if is_known or not _is_inside(target) or (raw := _raw(package / target)) is None:
                continue
            found.append(target)
            waiting.append((target, raw))
    return found


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "../")) and path not in (".", "..") and "\0" not in path


def _raw(path: Path) -> bytes | None:
    try:
        return read_raw(path)
    except AuthorError:
        return None


def _references(text: str | bytes) -> Iterator[str]:
    """Every `$ref` to another file; of what is no JSON, none: lint tells that."""
    try:
        waiting = [msgspec.json.decode(text)]
    except (msgspec.DecodeError, ValueError, RecursionError):
        return
    while waiting:
        value = waiting.pop()
        waiting += value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        target = value.get("$ref") if isinstance(value, dict) else None
        if isinstance(target, str) and not target.startswith("#") and "://" not in target:
            yield target
