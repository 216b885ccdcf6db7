"""Evidence: where the files of an attempt stand, named in one place."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from keisei.contracts.words import shown
from keisei.records.error import Refused
from keisei.records.evidence import Stored
from keisei.records.form import JsonObject

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
"""One part of a key. None begins with a dot, so files that are not whole yet never look like evidence."""
MOST_PARTS: Final = 8


class Keys(Struct, frozen=True, kw_only=True):
    """The keys of one attempt. Every adapter kind leaves the same set."""

    folder: str
    """What they all begin with, and a slash."""
    task: str
    """The task as it was claimed."""
    bundle: str
    """Everything the attempt was allowed to see."""
    prompt: str
    """What the harness was told."""
    invocation: str
    """How the harness was started."""
    stdout: str
    """Its standard output."""
    stderr: str
    """Its standard error."""
    last_message: str
    """The agent's last words."""
    result: str
    """What the adapter read out of it, and how the program ended."""
    gate: str
    """The gate's decisions."""
    diff: str
    """What really changed."""
    findings: str
    """What verification said."""

    def of(self, name: str) -> str:
        """The key of any other file of the attempt. Raises Refused for a name that cannot be one."""
        return checked(f"{self.folder}{name}")


def keys_of(attempt_id: str, started_at: datetime) -> Keys:
    """The keys of an attempt, by the month it was claimed in. An id that is no name is there as its digest."""
    safe = NAME.fullmatch(attempt_id) is not None
    name = attempt_id if safe else f"sha256-{hashlib.sha256(attempt_id.encode('utf-8', 'replace')).hexdigest()}"
    folder = f"attempts/{started_at.astimezone(UTC):%Y-%m}/{name}/"
    return Keys(
        folder=folder,
        task=f"{folder}task.json",
        bundle=f"{folder}bundle.json",
        prompt=f"{folder}prompt.md",
        invocation=f"{folder}invocation.json",
        stdout=f"{folder}stdout.log",
        stderr=f"{folder}stderr.log",
        last_message=f"{folder}last-message.txt",
        result=f"{folder}result.json",
        gate=f"{folder}gate.jsonl",
        diff=f"{folder}diff.patch",
        findings=f"{folder}findings.json",
    )


def checked(key: str) -> str:
    """The key itself. Raises Refused for one that is not relative, plain and short."""
    parts = key.split("/")
    if len(parts) > MOST_PARTS or not all(NAME.fullmatch(part) for part in parts):
        raise Refused(f"{shown(key)} is no key of evidence", "letters, digits, `.`, `_` and `-` between slashes")
    return key


def manifest(stored: Iterable[Stored]) -> JsonObject:
    """The files by name, each with its digest and size: what a ledger row says of an attempt's evidence."""
    ordered = sorted(stored, key=lambda each: each.key)
    return {each.key.rpartition("/")[2]: {"sha256": each.sha256, "size": each.size} for each in ordered}
