"""Deserted sockets: what services that are gone have left."""

import errno
import os
import re
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

NAME: Final = re.compile(r"[A-Za-z0-9_-]{8}|relay-[A-Za-z0-9_-]{8}\.sock")
"""What the folder of a service and the socket of a relay are called: by the beginning of a token."""
BEGINNING_S: Final = 600.0
"""How long a service may take from its folder to its first socket."""
GONE: Final = frozenset({errno.ECONNREFUSED, errno.ENOENT})


def deserted(runtime: Path) -> Iterator[Path]:
    """Folders and sockets at which nobody listens any more. Falls closed: what cannot be asked is in use."""
    try:
        found = sorted(each for each in runtime.iterdir() if NAME.fullmatch(each.name))
    except OSError:
        return
    for path in found:
        if _is_deserted(path):
            yield path


def _is_deserted(path: Path) -> bool:
    try:
        status = path.lstat()
        if status.st_uid != os.getuid() or not (stat.S_ISDIR(status.st_mode) or stat.S_ISSOCK(status.st_mode)):
            return False
        inside = path.iterdir() if stat.S_ISDIR(status.st_mode) else (path,)
        doors = [each for each in inside if each.is_socket()]
    except OSError:
        return False
    young = time.time() - status.st_mtime < BEGINNING_S
    return not any(_is_answered(each) for each in doors) and (bool(doors) or not young)


def _is_answered(door: Path) -> bool:
    """Whether somebody listens. Nothing is said: the connection is closed at once."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.settimeout(0)
        try:
            asking.connect(os.fspath(door))
        except OSError as error:
            return error.errno not in GONE
    return True
