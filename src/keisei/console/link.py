"""One-time links: a file each, named after the digest of what the link says. Whoever removes the file is let in.

So a link works once, whichever process made it and however often the console was started since.
"""

import hashlib
import os
import secrets
import time
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from keisei.console.key import LINKS, Keys, console_folder, open_keys, own_folder
from keisei.console.visitor import ROLES, Role
from keisei.records.error import OperatorError

MINUTES: Final = 10
MOST_MINUTES: Final = 1440
MOST: Final = 500
"""Links that may wait at once."""
LONGEST: Final = 128
"""Characters of what a link says."""
LARGEST: Final = 1024
TORN_S: Final = 3600.0
"""What cannot be read and is older than this was never finished."""


class Link(Struct, frozen=True, kw_only=True):
    """What stands in a link's file."""

    role: Role
    """As what it lets in."""
    expires_at: float
    """Seconds since 1970."""
    mark: str
    """The key it was made under; it ends with that."""


def make_link(home_folder: Path, role: Role, minutes: int = MINUTES, *, now: float | None = None) -> str:
    """What a new link says, to be put behind `/enter?key=`. Raises OperatorError."""
    if role not in ROLES:
        raise OperatorError(f"`{role}` is no role of the console", f"say {' or '.join(ROLES)}")
    if not 1 <= minutes <= MOST_MINUTES:
        raise OperatorError(f"a link cannot be good for {minutes} minutes", f"say 1 to {MOST_MINUTES}")
    told, moment = secrets.token_urlsafe(32), time.time() if now is None else now
    link = Link(role=role, expires_at=moment + 60 * minutes, mark=open_keys(home_folder).mark)
    folder = own_folder(console_folder(home_folder) / LINKS)
    if sweep(folder, moment) >= MOST:
        raise OperatorError(f"{MOST} links wait already", "`keisei console rotate` ends them all")
    try:
        _write(folder / _name(told), msgspec.json.encode(link))
    except OSError as error:
        message = f"a link cannot be written into `{folder}`: {(error.strerror or '').lower()}"
        raise OperatorError(message, "check the disk and the folder's permissions") from error
    return told


def redeem(folder: Path, keys: Keys, told: str, *, now: float | None = None) -> Role | None:
    """As what a link lets in, which is over then; None where there is none, or no more. `folder` is the console's."""
    if not (told and len(told) <= LONGEST and told.isascii()):
        return None
    path = folder / LINKS / _name(told)
    link = _read(path)
    try:
        os.unlink(path)  # noqa: PTH108 - of all who try, one does it
    except OSError:
        return None
    moment = time.time() if now is None else now
    is_good = link is not None and link.mark == keys.mark and moment < link.expires_at
    return link.role if link is not None and is_good else None


def sweep(folder: Path, now: float) -> int:
    """Remove what is over; how many links are left."""
    left = 0
    try:
        paths = [Path(each.path) for each in os.scandir(folder)]
    except OSError:
        return 0
    for path in paths:
        link = _read(path)
        if now < (link.expires_at if link is not None else _age(path) + TORN_S):
            left += 1
            continue
        path.unlink(missing_ok=True)
    return left


def _age(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _name(told: str) -> str:
    return hashlib.sha256(told.encode("ascii")).hexdigest()


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all. Raises OSError."""
    part = path.with_suffix(".part")
    handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(data)
    part.rename(path)


def _read(path: Path) -> Link | None:
    """None for what is no link."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            return msgspec.json.decode(file.read(LARGEST) or b"", type=Link)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
