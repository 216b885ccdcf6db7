"""The short folder for sockets: a socket's whole path must stay below 108 bytes."""

import os
from pathlib import Path

from keisei.records.error import OperatorError
from keisei.settings import Settings


def runtime_folder(settings: Settings) -> Path:
    """The short folder for sockets: under XDG_RUNTIME_DIR, else one of this user's under /tmp. Raises OperatorError."""
    folder = settings.runtime_home or Path(f"/tmp/keisei-{os.getuid()}")  # noqa: S108 - checked below
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
