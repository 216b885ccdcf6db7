"""Leavings: what a harness leaves behind, read carefully; how it was started, told without secrets."""

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from itertools import count, islice
from pathlib import Path
from typing import Any, Final

import msgspec

from keisei.records.launch import Call, Launch
from keisei.records.report import AgentReport
from keisei.rules.reach import WILD
from keisei.rules.redact import Redactor
from keisei.wiring.surroundings import Surroundings
from keisei.workspace.walk import FOLDER, READ, opened, reached

LARGEST: Final = 64 * 1024 * 1024
"""Bytes of a file that is read; a larger one counts as not left."""
PAYLOAD: Final = "AGENT_RUNTIME_TASK_PAYLOAD_JSON"
"""The payload stands in task.json already."""
MOST: Final = 1000
"""Files of one pattern that are read."""
ALTOGETHER: Final = 256 * 1024 * 1024
"""Bytes that are read of one attempt."""
NAMES: Final = 100_000
"""Names of one pattern's folder that are looked at."""
DEEPEST: Final = 16
"""Folders inside each other that are looked at."""
BROKEN: Final = b"{\n"
"""What stands for a file that a pattern names and nobody can read: the beginning of an object, and no end."""


class _Unread(Exception):
    """Something is there that is not read."""


def left_behind(folder: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Files of the run folder that an adapter wants to see, by relative path. No link is followed. Never raises.

    The agent's programs write there too. A plain name that is no plain file of a fair size counts as not left. Of a
    pattern nothing is passed over: what is a link, a pipe, closed, too large, too deep or one too many comes as one
    BROKEN file under the pattern's own name, so that calls that hide there are not taken for no calls.
    """
    found: dict[str, bytes] = {}
    room = _room(folder)
    try:
        for pattern in patterns:
            if WILD & set(pattern):
                _gather(room, pattern, found)
            else:
                with suppress(_Unread, OSError):
                    found[pattern] = _read(room, pattern, LARGEST)
    finally:
        os.close(room)
    return found


def _room(folder: Path) -> int:
    """The run folder, opened up where the agent has closed it."""
    above = os.open(folder.parent, FOLDER)
    try:
        return opened(folder.name, above, FOLDER)
    finally:
        os.close(above)


def _gather(room: int, pattern: str, found: dict[str, bytes]) -> None:
    base, deep, name = _parts(pattern)
    left = ALTOGETHER
    try:
        paths = sorted(_matching(room, base, name, DEEPEST if deep else 0, count(1)))
        if len(paths) > MOST:
            found[pattern] = BROKEN
        for path in paths[:MOST]:
            found[path] = _read(room, path, min(left, LARGEST))
            left -= len(found[path])
    except (_Unread, OSError):
        found[pattern] = BROKEN


def _parts(pattern: str) -> tuple[str, bool, str]:
    """The folder that a pattern begins in, whether it goes on below it, and the names it wants."""
    *folders, name = pattern.split("/")
    deep = "**" in folders
    return "/".join(folders[: folders.index("**")] if deep else folders), deep, name


def _matching(room: int, folder: str, name: str, depth: int, seen: Iterator[int]) -> Iterator[str]:
    """Paths of a folder that a pattern wants. A folder that is not there holds none. Raises _Unread, OSError."""
    try:
        place = _opened(room, folder, FOLDER)
    except FileNotFoundError:
        return
    try:
        with os.scandir(place) as listed:
            entries = [(each.name, _is_folder(each), each.is_symlink()) for each in islice(listed, NAMES)]
    finally:
        os.close(place)
    for each, is_folder, is_link in entries:
        if next(seen) >= NAMES or (depth and is_link):
            raise _Unread
        if not is_folder and fnmatchcase(each, name):
            yield f"{folder}/{each}"
        elif is_folder and depth == 1:
            raise _Unread
        elif is_folder and depth:
            yield from _matching(room, f"{folder}/{each}", name, depth - 1, seen)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    return entry.is_dir(follow_symlinks=False)


def _opened(room: int, path: str, flags: int) -> int:
    """What stands under a path of the room, each folder opened from the one above it. Raises OSError."""
    place, name = reached(room, os.fsencode(path))
    try:
        return os.open(name, flags, dir_fd=place)
    finally:
        os.close(place)


def _read(room: int, path: str, most: int) -> bytes:
    """One plain file. Raises _Unread, OSError."""
    with os.fdopen(_opened(room, path, READ), "rb") as file:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > most:
            raise _Unread
        return file.read(most)


def without_secrets(report: AgentReport, secrets: Iterable[str]) -> AgentReport:
    """The report with every known secret taken out, whatever form it has there, and as text that can be stored."""
    known = tuple(secrets)
    redactor = Redactor(known) if known else None
    return msgspec.convert(scrubbed(msgspec.to_builtins(report), redactor), AgentReport)


def scrubbed(value: Any, redactor: Redactor | None) -> Any:  # noqa: ANN401 - JSON in, JSON out
    """JSON without secrets and without half surrogates, keys included, nothing cut."""
    if isinstance(value, str):
        return _text(value, redactor)
    if isinstance(value, dict):
        return {_text(key, redactor): scrubbed(item, redactor) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrubbed(item, redactor) for item in value]
    return value


def _text(text: str, redactor: Redactor | None) -> str:
    told = redactor.text(text) if redactor is not None else text
    return told if told.isascii() else told.encode("utf-8", "replace").decode("utf-8")


def invocation(what: Launch | Call, around: Surroundings) -> bytes:
    """invocation.json: how the harness was started. Secrets are names; input and body are digests."""
    redactor = Redactor(around.secrets)
    told: dict[str, Any]
    if isinstance(what, Launch):
        hidden = {*around.secret_names, PAYLOAD}
        shown = {name: value for name, value in what.env.items() if name not in hidden}
        told = {
            "argv": list(what.argv),
            "cwd": what.cwd,
            "env": shown,
            "secret_env": sorted(around.secret_names),
            "stdin_sha256": _digest(what.stdin),
            "timeout_s": what.timeout_s,
            "silence_s": what.silence_s,
        }
    else:
        told = {
            "method": what.method,
            "url": what.url,
            "headers": dict(what.headers),
            "body_sha256": _digest(what.body),
            "timeout_s": what.timeout_s,
        }
    return json.dumps(scrubbed(told, redactor), indent=2, ensure_ascii=False).encode("utf-8", "replace")


def _digest(data: bytes | None) -> str | None:
    return None if data is None else hashlib.sha256(data).hexdigest()
