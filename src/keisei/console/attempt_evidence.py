"""Evidence files of an attempt, listed and handed out: to be kept, never shown, and nothing beside them."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

from msgspec import Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from keisei.console.answer import failed, wrong
from keisei.console.attempt_stream import known_attempt
from keisei.console.live_audience import PROBLEMS
from keisei.console.page import Missing
from keisei.console.premises import Premises
from keisei.console.tail import Source
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.wiring.shop import evidence_files

PIECE: Final = 262_144
HEADERS: Final = {
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
    "cache-control": "no-store",
}
KINDS: Final = {
    "bundle.json": "everything the attempt was allowed to see",
    "before.json": "the folders before it began",
    "diff.patch": "what it really changed",
    "findings.json": "what verification said",
    "gate.jsonl": "every tool call, judged",
    "invocation.json": "how the harness was started",
    "last-message.txt": "the agent's last words",
    "prompt.md": "what the harness was told",
    "relay.jsonl": "every request to the model's server, counted",
    "report.md": "what the agent reports",
    "result.json": "how it ended, and what the adapter read out of it",
    "returned.json": "what it left in its worktree",
    "stderr.log": "standard error, byte for byte",
    "stdout.log": "standard output, byte for byte",
    "task.json": "the task as it was claimed",
}
"""What each file is."""


class EvidenceFile(Struct, frozen=True, kw_only=True):
    """One file."""

    name: str
    """Its name."""
    size: int | None
    """Bytes by now; null where it cannot be read here."""
    holds: str | None
    """What it is."""


def listed(premises: Premises, attempt: TaskAttempt) -> tuple[EvidenceFile, ...]:
    """The evidence files of an attempt; of one that runs, those that grow too."""
    found: list[EvidenceFile] = []
    with suppress(KeiseiError, OSError):
        for name in evidence_files(premises.home, attempt):
            source = Source(premises.home, attempt, name)
            found.append(EvidenceFile(name=name, size=source.size(), holds=KINDS.get(name)))
            source.close()
    return tuple(found)


def content(premises: Premises, attempt: TaskAttempt, name: str, most: int) -> tuple[bytes, int]:
    """The beginning of a file, and its size; nothing and 0 where there is none."""
    source = Source(premises.home, attempt, name)
    try:
        return source.read(0, most), source.size() or 0
    except OSError:
        return b"", 0
    finally:
        source.close()


def open_evidence(premises: Premises, attempt_id: str, name: str) -> tuple[Source, int]:
    """A file and how large it is now. Raises Missing."""
    attempt = known_attempt(premises, attempt_id)
    if name in evidence_files(premises.home, attempt):
        source = Source(premises.home, attempt, name)
        size = source.size()
        if size is not None:
            return source, size
        source.close()
    raise Missing(f"attempt {attempt.attempt_id} has no evidence `{name[:100]}`", "the page of the attempt lists all")


def _pieces(source: Source, size: int) -> Iterator[bytes]:
    """What stands there when it is asked for; whoever goes on writing does not keep anybody waiting."""
    place = 0
    try:
        while place < size and (piece := source.read(place, min(PIECE, size - place))):
            place += len(piece)
            yield piece
    finally:
        source.close()


async def hand_out(request: Request) -> Response:
    """An evidence file, byte for byte."""
    asked = request.path_params["attempt_id"], request.path_params["name"]
    try:
        source, size = await run_in_threadpool(open_evidence, request.app.state.premises, *asked)
    except (KeiseiError, UnicodeError) as error:
        return await run_in_threadpool(failed, request, wrong(error))
    if request.method == "HEAD":
        source.close()
    name = quote(asked[1].replace("/", "-"), safe="")
    headers = {**HEADERS, "content-disposition": f"attachment; filename*=UTF-8''{name}", "content-length": str(size)}
    return StreamingResponse(_pieces(source, size), 200, headers, media_type="text/plain; charset=utf-8")


def described() -> dict[str, Any]:
    """What the OpenAPI document tells of it."""
    return {
        "operationId": "show_attempt_evidence",
        "summary": "An evidence file of an attempt, byte for byte",
        "tags": ["attempts"],
        "parameters": [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in ("attempt_id", "name")
        ],
        "responses": {
            "200": {"description": "the file", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **PROBLEMS,
        },
    }
