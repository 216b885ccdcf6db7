"""The short folder for sockets: a socket's whole path must stay below 108 bytes."""

import os
from pathlib import Path

from keisei.records.error import OperatorError
from keisei.settings import Settings

LONGEST = 85
"""Bytes of the folder's own path: what is made in it needs the rest."""


def runtime_folder(settings: Settings, longest: int = LONGEST) -> Path:
    """The short folder for sockets: under XDG_RUNTIME_DIR, else one of this user's under /tmp. Raises OperatorError.

    A folder whose path is too long for sockets counts as none.
    """
    named = settings.runtime_home
    short = named is not None and len(os.fsencode(named)) <= longest
    folder = named if named is not None and short else Path(f"/tmp/keisei-{os.getuid()}")  # noqa: S108 - checked below
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise OperatorError(f"the folder for sockets `{folder}` cannot be made: {error.strerror}") from error
    if found.st_uid != os.getuid() or found.st_mode & 0o077 or folder.is_symlink():
        raise OperatorError(
            f"the folder for sockets `{folder}` is not this user's alone", "remove it, or set XDG_RUNTIME_DIR"
        )
    return folder
