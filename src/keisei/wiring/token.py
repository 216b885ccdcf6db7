"""Tokens: secrets in files of this user alone, and whether a request says one."""

import hmac
import os
import secrets
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.records.error import OperatorError

SHORTEST, LONGEST = 16, 512
"""Characters of a token."""
OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
OWN: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_token(path: Path) -> str:
    """The token of a file that nobody else can read. Raises OperatorError."""
    return _read(path, os.O_RDONLY | os.O_CLOEXEC)


def read_own_token(path: Path) -> str:
    """Likewise, of a file that was made here: a link that leads elsewhere is not followed. Raises OperatorError."""
    return _read(path, OWN)


def _read(path: Path, flags: int) -> str:
    try:
        with open(os.open(path, flags), "rb") as file:  # noqa: PTH123 - a descriptor
            mode, text = os.fstat(file.fileno()).st_mode, (file.read(LONGEST + 2) or b"").decode("ascii").strip()
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise OperatorError(f"the token file `{path}` cannot be read: {_why(error)}") from error
    if stat.S_ISREG(mode) and mode & OTHERS:
        raise OperatorError(f"the token file `{path}` is not for its owner alone", f"`chmod 600 {path}`")
    if not SHORTEST <= len(text) <= LONGEST or not text.isprintable() or " " in text:
        message = f"the token in `{path}` is not {SHORTEST} to {LONGEST} printable characters without a blank"
        raise OperatorError(message, "`openssl rand -hex 32` makes a good one")
    return text


def made_token(folder: Path, name: str) -> Path:
    """The file of that name with a token, made for this user alone where it is not there. Raises OperatorError."""
    path = folder / name
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not os.path.lexists(path):
            _make(path)
        with open(os.open(path, OWN), "rb") as file:  # noqa: PTH123 - as above
            if os.fstat(file.fileno()).st_mode & OTHERS:
                os.fchmod(file.fileno(), 0o600)
    except OSError as error:
        raise OperatorError(f"the token file `{path}` cannot be made: {_why(error)}") from error
    return path


def renew_token(folder: Path, name: str) -> None:
    """Another token in the file of that name, whatever stood there. Raises OperatorError; the old one stays then."""
    path = folder / name
    try:
        made = _written(path)
        try:
            os.replace(made, path)  # noqa: PTH105 - as text
        except OSError:
            os.unlink(made)  # noqa: PTH108 - as above
            raise
    except OSError as error:
        raise OperatorError(f"the token file `{path}` cannot be made: {_why(error)}") from error


def _make(path: Path) -> None:
    """Whole or not at all; where somebody else was faster, theirs stays. Raises OSError."""
    made = _written(path)
    try:
        with suppress(FileExistsError):
            os.link(made, path)
    finally:
        Path(made).unlink()


def _written(path: Path) -> str:
    """A file beside that one, with a token. Raises OSError."""
    handle, made = tempfile.mkstemp(prefix=f"{path.name}-", dir=path.parent)
    with open(handle, "w", encoding="ascii") as file:  # noqa: PTH123 - as above
        file.write(f"{secrets.token_urlsafe(32)}\n")
    return made


def is_bearer(header: bytes | None, token: str) -> bool:
    """Whether a request says the token. Takes as long for a near miss as for any other."""
    scheme, _, told = (header or b"").partition(b" ")
    return hmac.compare_digest(told.strip(), token.encode()) and scheme.lower() == b"bearer"


def _why(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError) else None
    return (told or str(error)).lower()
