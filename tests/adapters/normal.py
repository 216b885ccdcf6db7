"""Transcripts without the machine they were made on: paths, ids, times, ports and long texts become plain ones."""

import json
import re
from datetime import datetime, timedelta
from pathlib import Path

LONG = 200
"""Characters of a string that are kept: enough for a message, not for a harness's own prompt."""
MANY = 4
"""Entries of a list of names that are kept."""
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ISO = re.compile(r"20\d\d-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(?:\.\d+)?Z?")
DAY = re.compile(r"20\d\d([-/])\d\d\1\d\d")
PORT = re.compile(r"127\.0\.0\.1:\d{2,5}")
SESSION = re.compile(r"20\d{6}_\d{6}_[0-9a-f]{6}")
HEX = re.compile(r"\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])(?:[0-9a-f]{6}|[0-9a-f]{17}|[0-9a-f]{40})\b")
TIMED = re.compile(r"(duration_ms: |Wall time: )[\d.]+")
NUMBER = re.compile(r".*(?:_ms|_at|_time|_id|pid|secs|nanos|duration\w*)")
BULK = {
    *("base_instructions", "collaboration_mode", "file_system_sandbox_policy", "metadata", "permission_profile"),
    *("internal_chat_message_metadata_passthrough", "rate_limits", "sandbox_policy", "skills", "slash_commands"),
    *("state", "thread_settings", "thread_token_usage", "turn_token_usage"),
}
"""What a harness tells of itself at length and no adapter reads."""
LATE = "2026-11-15T12:00:00.500Z"
EARLY = "2026-11-15T11:00:00.000Z"


class Normal:
    """Cleans what one run wrote. Equal ids stay equal, and times before the run stay before it."""

    def __init__(self, folder: Path, since: datetime) -> None:
        self._since = since - timedelta(milliseconds=1)  # harnesses cut times to thousandths
        self._ids: dict[str, str] = {}
        self._sessions: dict[str, str] = {}
        places = {folder: "", folder.resolve(): "", Path(__file__).resolve().parents[2]: "/checkout"}
        self._places = {spelt: name for path, name in places.items() for spelt in (str(path), _dashed(path))}

    def data(self, data: bytes) -> bytes:
        """A whole stream or file: as JSON where all of it is, else line by line."""
        try:
            whole = json.loads(data) if data[:2] == b"{\n" else None
        except ValueError:
            whole = None
        if whole is not None:
            return json.dumps(self._value(whole), indent=2).encode() + b"\n"
        return b"\n".join(map(self._line, data.split(b"\n")))

    def text(self, value: str) -> str:
        """A string."""
        for spelt, name in self._places.items():
            value = value.replace(spelt, name)
        value = PORT.sub("127.0.0.1:1", SESSION.sub(self._session, UUID.sub(self._id, value)))
        value = DAY.sub(r"2026\g<1>11\g<1>15", HEX.sub("0", ISO.sub(self._moment, value)))
        value = TIMED.sub(r"\g<1>1", value)
        return value if len(value) <= LONG else value[:LONG] + "..."

    def _line(self, line: bytes) -> bytes:
        try:
            value = json.loads(line) if line[:1] == b"{" else None
        except ValueError:
            value = None
        cleaned = self.text(line.decode("utf-8", "replace")) if value is None else json.dumps(self._value(value))
        return cleaned.encode()

    def _value(self, value: object, key: str = "") -> object:
        if isinstance(value, dict):
            return {self.text(each): self._value(inner, each) for each, inner in value.items() if each not in BULK}
        if isinstance(value, list):
            if key == "tools" and any(isinstance(each, dict) for each in value):
                return []  # a harness's own, described at length
            names = all(isinstance(each, str) for each in value)
            return [self._value(each) for each in (value[:MANY] if names else value)]
        if isinstance(value, str):
            return "1" if key == "process_id" else self.text(value)
        changes = isinstance(value, int | float) and not isinstance(value, bool) and NUMBER.fullmatch(key)
        return 1 if changes else value

    def _id(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"00000000-0000-4000-8000-{len(self._ids) + 1:012d}")

    def _session(self, found: re.Match[str]) -> str:
        return self._sessions.setdefault(found[0], f"20261115_120000_{len(self._sessions):06d}")

    def _moment(self, found: re.Match[str]) -> str:
        try:
            return EARLY if datetime.fromisoformat(found[0]) < self._since else LATE
        except (ValueError, TypeError):
            return "2026-11-15T12-00-00"  # a file's name


def _dashed(path: Path) -> str:
    """A path as Claude Code names a project."""
    return str(path).replace("/", "-").replace("_", "-")
