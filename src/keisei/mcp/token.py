"""Tokens: who may speak to a server on a port, and how often it is written down that somebody else tried."""

import hmac
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.mcp.rows import Brake
from keisei.records.error import OperatorError

FILE: Final = "mcp-token"
"""In the state folder."""
SHORTEST, LONGEST = 16, 512
"""Characters of a token."""
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def read_token(path: Path) -> str:
    """The token of a file that nobody else can read. Raises OperatorError."""
    try:
        with path.open("rb") as file:
            mode, text = os.fstat(file.fileno()).st_mode, file.read(LONGEST + 2).decode("ascii").strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise OperatorError(f"the token file `{path}` cannot be read: {_why(error)}") from error
    if stat.S_ISREG(mode) and mode & OTHERS:
        raise OperatorError(f"the token file `{path}` is not for its owner alone", f"`chmod 600 {path}`")
    if not SHORTEST <= len(text) <= LONGEST or not text.isprintable() or " " in text:
        message = f"the token in `{path}` is not {SHORTEST} to {LONGEST} printable characters without a blank"
        raise OperatorError(message, "`openssl rand -hex 32` makes a good one")
    return text


def made_token(folder: Path) -> Path:
    """The file with a state folder's token, made for this user alone where it is not there. Raises OperatorError."""
    path = folder / FILE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _make(path)
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            if os.fstat(file.fileno()).st_mode & OTHERS:
                os.fchmod(file.fileno(), 0o600)
    except OSError as error:
        raise OperatorError(f"the token file `{path}` cannot be made: {_why(error)}") from error
    return path


def _make(path: Path) -> None:
    """Whole or not at all; where somebody else was faster, theirs stays. Raises OSError."""
    handle, made = tempfile.mkstemp(prefix=f"{FILE}-", dir=path.parent)
    try:
        with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123 - a descriptor
            file.write(f"{secrets.token_urlsafe(32)}\n")
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()


def is_bearer(header: bytes | None, token: str) -> bool:
    """Whether a request says the token. Takes as long for a near miss as for any other."""
    scheme, _, told = (header or b"").partition(b" ")
    return hmac.compare_digest(told.strip(), token.encode()) and scheme.lower() == b"bearer"


class Refusals:
    """Written down as they come, but not without end: after some in a minute they are only counted."""

    def __init__(self, write: Callable[[str, int], None], clock: Callable[[], float]) -> None:
        """`write` is given the reason, and how many before it were only counted."""
        self._write, self._brake = write, Brake(clock)

    def add(self, reason: str) -> None:
        """One more."""
        counted = self._brake.passed()
        if counted is not None:
            self._write(reason, counted)


def _why(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError) else None
    return (told or str(error)).lower()
