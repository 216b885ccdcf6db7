"""Replies: what a tool call comes to, as data and as the same JSON text."""

import json
from typing import Any

from msgspec import Struct

from keisei.mcp.tool import framed
from keisei.records.atom import AtomManifest
from keisei.records.atom_spec import AtomSpec
from keisei.records.invocation import InvocationError, InvocationRecord, Invoked
from keisei.rules.invocation import shortened

KEPT_ITEMS, KEPT_BYTES = 1000, 1024 * 1024
"""Items of a stream that stand in its reply, and their bytes: the others were told as they came."""


class Reply(Struct, frozen=True, kw_only=True):
    """What a tool call comes to."""

    structured: dict[str, Any]
    """The output; or `error` and `metadata`."""
    text: str
    """The same as JSON text."""
    is_error: bool = False
    """Whether it failed."""
    meta: dict[str, Any] = {}
    """`invocation_id`, `duration_ms` and `atom`, where an atom was called."""


class Items:
    """The items of a stream that are kept for its reply."""

    def __init__(self) -> None:
        """None came yet."""
        self.count, self._size, self._kept = 0, 0, list[Any]()

    def add(self, item: Any) -> None:  # noqa: ANN401 - any JSON
        """One more came; it is kept while there is room."""
        self.count += 1
        if len(self._kept) < min(self.count, KEPT_ITEMS) and self._size < KEPT_BYTES:
            self._size += len(json.dumps(item))
            self._kept.append(item)

    def told(self) -> dict[str, Any]:
        """The items, how many there were, and whether some are left out."""
        left_out = {"truncated": True} if len(self._kept) < self.count else {}
        return {"items": self._kept, "count": self.count, **left_out}


def reply(structured: dict[str, Any], *, is_error: bool = False, meta: dict[str, Any] | None = None) -> Reply:
    """A reply with its text."""
    text = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    return Reply(structured=structured, text=text, is_error=is_error, meta=meta or {})


def reply_of(invoked: Invoked, spec: AtomSpec, items: Items | None = None) -> Reply:
    """What a call of an atom comes to; of a stream with its items, also where it failed."""
    record, rest = invoked.record, {} if items is None else items.told()
    meta = _metadata(record)
    if record.error is not None:
        lost = {} if invoked.output is None else {"result": invoked.output}
        error = _error(record.error, spec.manifest)
        return reply({"error": error, **lost, **rest, "metadata": meta}, is_error=True, meta=meta)
    if items is not None:
        return reply(rest, meta=meta)
    return reply(framed(spec, invoked.output), meta=meta)


def failure(kind: str, message: str, meta: dict[str, Any] | None = None) -> Reply:
    """What a call that came to no atom comes to."""
    told = {"kind": kind, "code": None, "message": shortened(message)}
    return reply({"error": told, "metadata": meta or {}}, is_error=True, meta=meta)


def _metadata(record: InvocationRecord) -> dict[str, Any]:
    return {"invocation_id": record.invocation_id, "duration_ms": record.duration_ms, "atom": record.atom}


def _error(error: InvocationError, manifest: AtomManifest) -> dict[str, Any]:
    """The error, with what its page says of it."""
    told: dict[str, Any] = {"kind": error.kind, "code": error.code, "message": error.message}
    known = next((each for each in manifest.errors if each.code == error.code), None) if error.code else None
    if known is None:
        return told
    analog = {} if known.http_analog is None else {"http_analog": known.http_analog}
    return {**told, **analog, "description": known.description}
