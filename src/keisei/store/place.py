"""Where a SQLite database may stand: a regular file of its own in a local folder of ours."""

import os
import stat
from contextlib import suppress
from pathlib import Path

from keisei.records.error import OperatorError

MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "glusterfs"),
        *("fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "fuse.davfs2"),
    }
)
"""File systems where locks or shared memory do not reach other machines, or not reliably."""


def prepared(path: Path) -> Path:
    """The path with its folder, made with mode 0700, resolved. Raises OperatorError where no database may stand."""
    folder = _folder(path)
    found = folder / path.name
    try:
        status = found.lstat()
    except FileNotFoundError:
        return found
    except (OSError, ValueError) as error:
        raise OperatorError(f"the database {found} cannot be reached: {error}") from error
    if stat.S_ISLNK(status.st_mode):
        raise OperatorError(f"the database {found} is a symbolic link", "name the file that it points to")
    if not stat.S_ISREG(status.st_mode):
        raise OperatorError(f"the database {found} is not a regular file", "name a file, or a place for a new one")
    if status.st_nlink > 1:
        # SQLite names its log after the path: under two names there would be two logs for one database
        raise OperatorError(f"the database {found} has a second name (a hard link)", "remove one of the names")
    return found


def create(path: Path) -> None:
    """Make the file with mode 0600, unless it is there. Raises OperatorError where the folder takes none."""
    try:
        with suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise OperatorError(f"the database {path} cannot be made: {error.strerror}") from error


def _folder(path: Path) -> Path:
    if not path.is_absolute() or not path.name:
        raise OperatorError(f"`{path}` is no absolute path of a file", "say sqlite:///absolute/path/state.db")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = path.parent.resolve(strict=True)
        kind = _file_system(folder)
    except (OSError, ValueError, RuntimeError) as error:
        raise OperatorError(f"the folder of the database {path} cannot be used: {error}") from error
    if kind in REMOTE:
        message = f"{folder} is on a network file system ({kind}), where SQLite cannot lock"
        raise OperatorError(message, "put the database on a local disk, or use PostgreSQL for many machines")
    return folder


def _file_system(folder: Path) -> str | None:
    """The kind of file system, where the machine tells."""
    device = folder.stat().st_dev
    name = f"{os.major(device)}:{os.minor(device)}"
    if not MOUNTS.exists():
        return None
    for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines():
        fields, _, rest = line.partition(" - ")
        if fields.split()[2] == name:
            return rest.split()[0]
    return None
