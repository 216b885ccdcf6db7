"""Chains: lines that each carry the hash of the one before, so that none can be changed, moved or taken out unseen."""

import hashlib
import json
import re
from collections.abc import Iterable
from typing import Any

from keisei.rules.canonical import LARGEST, canonical, digest

ENCODER = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), check_circular=False)
EVERYDAY = re.compile(r"-?[0-9]+\.[0-9]*[1-9]")
OURS = ("hash", "previous_hash")
Broken = tuple[int, str]


def sealed(previous: str | None, content: dict[str, Any]) -> dict[str, Any]:
    """The content with its place in the chain: `previous_hash`, and `hash` over the canonical JSON of all the rest.

    Raises ValueError for content that has no canonical form, or has these two keys already.
    """
    _unsealed(content)
    linked = {**content, "previous_hash": previous}
    return {**linked, "hash": digest(linked)}


def sealed_line(previous: str | None, content: dict[str, Any]) -> tuple[bytes, str]:
    """The line of `sealed`, without its newline, and its hash: the same bytes, sooner. ValueError as `sealed` does."""
    _unsealed(content)
    linked = {**content, "previous_hash": previous}
    found = hashlib.sha256(_quickly(linked)).hexdigest()
    return _quickly({**linked, "hash": found}), found


def broken_at(lines: Iterable[bytes], last: str | None = None) -> Broken | None:
    """The first line that does not fit, counted from 0, and why; None for a whole chain.

    The stored bytes are the truth: a line must be canonical JSON to the byte. Lines may come with their newline, as a
    file yields them, and then each must have it. Whole lines cut off the end are seen only where `last`, the hash the
    chain must end with, is known.
    """
    previous: str | None = None
    index, newlines = 0, False
    for index, raw in enumerate(lines, start=1):
        newlines = newlines or raw.endswith(b"\n")
        if newlines and not raw.endswith(b"\n"):
            return index - 1, "the line is cut: its newline is missing"
        found = whole(raw.removesuffix(b"\n"))
        if isinstance(found, str):
            return index - 1, found
        if found[0] != previous:
            return index - 1, "the line does not follow the one before: lines are missing, added or in another order"
        previous = found[1]
    if last is not None and previous != last:
        return index, "lines are missing at the end"
    return None


def whole(line: bytes) -> tuple[str | None, str] | str:
    """The previous hash and the hash of one line that is whole in itself; otherwise the sentence that says why not."""
    try:
        content = json.loads(line.decode("utf-8"), parse_int=_number)
        if not isinstance(content, dict) or canonical(content) != line:
            return "the line is not canonical JSON: it was changed or cut"
        claimed = content.pop("hash", None)
        if claimed is None or "previous_hash" not in content:
            return "the line carries no hash: it was changed"
        if claimed != digest(content):
            return "the line does not have its hash: it was changed"
        previous = content["previous_hash"]
    except (ValueError, RecursionError):
        return "the line is not JSON: it was changed or cut"
    if previous is not None and not isinstance(previous, str):
        return "the line carries no hash: it was changed"
    return previous, str(claimed)


def input_digest(value: object) -> str:
    """sha256 of a tool's input as a reader of doubles has it, which most harnesses are.

    Raises ValueError for what has no canonical form even then.
    """
    try:
        raw = _quickly(value)
    except ValueError:
        raw = _quickly(doubles(value))
    return hashlib.sha256(raw).hexdigest()


def doubles(value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """The value with every integer that a double cannot count as that double. Raises ValueError beyond their range."""
    if isinstance(value, dict):
        return {key: doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [doubles(item) for item in value]
    if isinstance(value, int) and abs(value) > LARGEST:
        try:
            return float(value)
        except OverflowError as error:
            raise ValueError("a number beyond every double has no canonical form") from error
    return value


def _number(text: str) -> int | float:
    value = int(text)
    return value if abs(value) <= LARGEST else float(text)


def _quickly(value: object) -> bytes:
    """The canonical bytes, by the encoder in C where it writes the same ones."""
    try:
        return ENCODER.encode(value).encode("utf-8") if _is_plain(value) else canonical(value)
    except RecursionError as error:
        raise ValueError("nested too deeply for a canonical form") from error
    except UnicodeEncodeError as error:
        raise ValueError("text with half a surrogate pair has no canonical form") from error


def _is_plain(value: object) -> bool:
    """Whether Python and ECMAScript write it alike: ASCII keys, small integers, floats of everyday."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is dict:
        return all(
            type(key) is str and key.isascii() and _is_plain(item)
            for key, item in value.items()  # type: ignore[attr-defined]
        )
    if kind is list:
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if kind is int:
        return -LARGEST <= value <= LARGEST  # type: ignore[operator]
    return kind is float and EVERYDAY.fullmatch(repr(value)) is not None


def _unsealed(content: dict[str, Any]) -> None:
    for key in OURS:
        if key in content:
            raise ValueError(f"the content has a key `{key}` already")
