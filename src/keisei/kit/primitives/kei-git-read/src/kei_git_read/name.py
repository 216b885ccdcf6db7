"""Names of files: bytes in git, text in JSON.

A name is told as text, exactly. Where its bytes are not UTF-8, each wrong byte is told as U+FFFD and the field with
`_base64` behind its name holds the bytes. What is asked for is text, so only names that are UTF-8 can be asked for.
"""

import base64
import re
from collections.abc import Iterable

from kei_git_read.context import Context, Data

ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
LETTERS = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}
LONGEST_PATH = 4096


def told(field: str, raw: bytes) -> Data:
    """The name under its field, and its bytes where they are not UTF-8."""
    text = raw.decode("utf-8", "replace")
    if text.encode("utf-8", "replace") == raw:
        return {field: text}
    return {field: text, f"{field}_base64": base64.b64encode(raw).decode("ascii")}


def asked(context: Context, path: str) -> bytes:
    """A path inside the repository, as git writes it; empty for the whole. Raises UnknownPath for any other."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    raw = "/".join(parts).encode("utf-8", "replace")
    if path.startswith("/") or ".." in parts or "\0" in path or len(raw) > LONGEST_PATH:
        raise context.error("UnknownPath", f"`{path[:200]}` is no path inside the repository")
    return raw


def pathspecs(context: Context, paths: Iterable[str]) -> list[bytes]:
    """What to limit a question to; empty for the whole repository. Raises UnknownPath."""
    found = [asked(context, path) for path in paths]
    return [] if b"" in found else found


def unquoted(raw: bytes) -> bytes:
    """A name as it is, which git may have put in quotes."""
    if len(raw) < 2 or raw[:1] != b'"' or raw[-1:] != b'"':  # noqa: PLR2004 - two quotes
        return raw
    return ESCAPE.sub(lambda found: _letter(found[1]), raw[1:-1])


def _letter(escaped: bytes) -> bytes:
    return bytes([int(escaped, 8) & 255]) if len(escaped) == 3 else LETTERS.get(escaped, escaped)  # noqa: PLR2004
