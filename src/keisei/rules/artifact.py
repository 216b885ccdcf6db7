"""Artifacts and file changes: what agents call their files, read into one relative path each. Nothing leads outside."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final, Literal, get_args

from msgspec import Struct

from keisei.contracts.words import shown
from keisei.records.artifact import ArtifactRole
from keisei.records.error import Refused

LONGEST_PATH, LONGEST_NAME = 4096, 255
"""Bytes; no file system of ours takes more."""

UNSEEN: Final = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that command a terminal, turn a line round, end one, or are half of one."""

ORIGINALS: Final = re.compile(r"(?:deploy/[^/]+/)?state/artifacts/")
"""How agents of the originals name the artifact folder."""

Change = Literal["added", "modified", "deleted"]

WORDS: Final[dict[str, Change]] = {
    "added": "added",
    "changed": "modified",
    "created": "added",
    "deleted": "deleted",
    "modified": "modified",
    "new": "added",
    "removed": "deleted",
    "updated": "modified",
}
WORDED: Final = re.compile(rf"({'|'.join(WORDS)}):\s+", re.IGNORECASE)
NOTED: Final = re.compile(r"(?<!\s)\s++(?:[-–—]\s.*|\([^()]*\))$", re.DOTALL)  # noqa: RUF001 - dashes of people

TYPES: Final = {
    ".csv": "text/csv",
    ".diff": "text/x-diff",
    ".html": "text/html",
    ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".patch": "text/x-diff",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".txt": "text/plain",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


class ClaimedChange(Struct, frozen=True, kw_only=True):
    """A file change as an agent claims it."""

    path: str
    """The path it means, a status before it and a note behind it taken away."""
    said: str
    """With the note: a file may be called `notes (1).md`, so the real difference decides which one is meant."""
    change: Change | None = None
    """What it says was done; None where it only names the path."""


def claimed_change(text: str, word: str | None = None) -> ClaimedChange:
    """What a claim means: `path`, `created: path`, `deleted: path`, `path - summary`, `path (note)`.

    `word` is what was done, where it came beside the path and not in front of it. The path may still be refused.
    """
    said = _bare(text)
    worded = WORDED.match(said)
    if worded is not None:
        word, said = worded[1], _bare(said[worded.end() :])
    change = WORDS.get(word.lower()) if word is not None else None
    return ClaimedChange(path=_bare(NOTED.sub("", NOTED.sub("", said))), said=said, change=change)


def _bare(text: str) -> str:
    """Without the blanks and backticks around it."""
    text = text.strip()
    return text[1:-1].strip() if len(text) > 1 and text[0] == text[-1] == "`" else text


def artifact_path(claimed: str, folders: Sequence[str]) -> str:
    """The path of an artifact, relative to the task's artifact folder. Raises Refused for one that leads elsewhere.

    `folders` are the absolute names the folder is known by. `reports/x.md`, `state/artifacts/reports/x.md`,
    `deploy/<agent>/state/artifacts/reports/x.md`, `artifacts/<task>/reports/x.md` and the absolute path are one path.
    """
    path = inside(_bare(claimed), folders)
    for folder in folders:
        place = PurePosixPath(folder)
        if place.parent.name == "artifacts":
            whole = re.match(rf"(?:{ORIGINALS.pattern}|artifacts/){re.escape(place.name)}/", path)
            if whole is not None:
                return path[whole.end() :]
    original = ORIGINALS.match(path)
    return path[original.end() :] if original is not None else path


def inside(path: str, folders: Sequence[str]) -> str:
    """A path relative to a folder that is known by these absolute names. Raises Refused where it leads elsewhere.

    Nothing is looked up: `..` is refused even where it would stay inside, because behind a link it does not.
    """
    fault = _unusable(path)
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if fault is None and path.startswith("/"):
        below = next((found for found in (_below(parts, folder) for folder in folders) if found is not None), None)
        fault, parts = ("is outside the folder", parts) if below is None else (None, below)
    if fault is None and not parts:
        fault = "names no file"
    if fault is not None:
        raise Refused(f"the path {shown(path)} {fault}", "name files relative to their folder")
    return "/".join(parts)


def _unusable(path: str) -> str | None:
    parts = path.split("/")
    faults = (
        (UNSEEN.search(path) is not None, "contains a character that cannot be seen"),
        ("\\" in path, "contains a backslash; separators are `/`"),
        (".." in parts, "climbs out with `..`"),
        (path.startswith("~"), "begins with `~`, which stands for another folder"),
        (_size(path) > LONGEST_PATH, f"is longer than {LONGEST_PATH} bytes"),
        (any(_size(part) > LONGEST_NAME for part in parts), f"has a name longer than {LONGEST_NAME} bytes"),
    )
    return next((sentence for wrong, sentence in faults if wrong), None)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _below(parts: list[str], folder: str) -> list[str] | None:
    above = [part for part in folder.split("/") if part not in ("", ".")]
    return parts[len(above) :] if parts[: len(above)] == above else None


def role_of(path: str, roles: Sequence[ArtifactRole] = get_args(ArtifactRole)) -> ArtifactRole | None:
    """The role whose name the file bears: `plan.md` or `plan` in the artifact folder itself; None for any other."""
    return next((role for role in roles if path == role or (path.startswith(f"{role}.") and "/" not in path)), None)


def content_type(path: str) -> str | None:
    """The media type that a name's ending stands for, where it is a common one."""
    return TYPES.get(PurePosixPath(path).suffix.lower())
