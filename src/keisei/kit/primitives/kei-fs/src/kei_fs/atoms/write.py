"""kei-fs::write."""

import base64
import binascii
import errno
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from kei_fs.context import Context, Data
from kei_fs.file import FOLDER, NEW, PIECE, opened, regular, rename_new, write_all
from kei_fs.folder import make_folder, temporary
from kei_fs.path import WRITING, named, split, telling, worded

RIGHTS: Final = 0o777
EXECUTABLE: Final = 0o111


class Spot(NamedTuple):
    """Where the file stands."""

    path: str
    """As the caller names it."""
    name: str
    """In its folder."""
    parent: int
    """The folder, open."""


def run(given: Data, context: Context) -> Data:
    """Write a whole file, or leave everything as it was.

    Raises Exists, Changed, IsLink, IsFolder, NotRegular, NotFound, NotFolder, NotWritable, NotBase64, NoSpace, BadPath,
    Failed.
    """
    path, data = named(context, given["path"]), _data(given, context)
    if given["path"].endswith("/"):
        raise context.error("IsFolder", f"`{path}/` names a folder; name the file")
    folder, name = split(path)
    with telling(context, path, WRITING, denied="NotWritable"):
        if given.get("parents", False):
            make_folder(folder)
        with opened(folder, FOLDER) as parent:
            spot = Spot(path, name, parent)
            before = _before(spot, context)
            changed = _is_new(before, data, spot, given, context)
            if changed:
                _put(data, spot, before, given)
    told = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return {**worded("path", path), **told, "created": before is None, "changed": changed}


def _data(given: Data, context: Context) -> bytes:
    content: str = given["content"]
    try:
        if given.get("encoding") == "base64":
            return base64.b64decode(content, validate=True)
        return content.encode("utf-8")
    except (binascii.Error, ValueError):
        raise context.error("NotBase64", "the content is not what `encoding` says") from None


def _before(spot: Spot, context: Context) -> os.stat_result | None:
    """What stands there; None where nothing does. Raises IsLink, NotWritable, and OSError for a folder."""
    try:
        told = os.stat(spot.name, dir_fd=spot.parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(told.st_mode):
        leads = worded("to", os.readlink(spot.name, dir_fd=spot.parent))["to"]
        raise context.error("IsLink", f"`{spot.path}` is a link to `{leads}`; write there, or remove the link first")
    if not stat.S_ISREG(told.st_mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(told.st_mode) else errno.ENXIO, "is no file")
    if not os.access(spot.name, os.W_OK, dir_fd=spot.parent):
        raise PermissionError(errno.EACCES, "is read-only")
    return told


def _is_new(before: os.stat_result | None, data: bytes, spot: Spot, given: Data, context: Context) -> bool:
    """Whether there is something to be written: what stands there already is not written again.

    Raises Changed and Exists where it must not be.
    """
    expected = given.get("if_sha256")
    if before is None:
        if expected is not None:
            raise context.error("Changed", f"`{spot.path}` does not exist any more")
        return True
    if before.st_size != len(data) and expected is None:
        return _may_replace(given, context, spot)
    found = _digest(spot)
    if found == hashlib.sha256(data).hexdigest():
        return _mode(before, given) != before.st_mode & RIGHTS
    if expected is not None and found != expected:
        raise context.error("Changed", f"`{spot.path}` has the digest {found} now; read it again")
    return expected is not None or _may_replace(given, context, spot)


def _may_replace(given: Data, context: Context, spot: Spot) -> bool:
    if not given.get("replace", False):
        message = f"`{spot.path}` exists already, with other content; say `replace` to overwrite it"
        raise context.error("Exists", message)
    return True


def _digest(spot: Spot) -> str:
    digest = hashlib.sha256()
    with regular(spot.name, dir_fd=spot.parent, follow=False) as descriptor:
        while piece := os.read(descriptor, PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _put(data: bytes, spot: Spot, before: os.stat_result | None, given: Data) -> None:
    """Write it beside its place and move it there: no moment at which half of it can be seen."""
    parent = spot.parent
    with _beside(parent) as beside:
        with opened(beside, NEW, dir_fd=parent) as descriptor:
            write_all(descriptor, data)
            _dress(descriptor, before, given)
            os.fsync(descriptor)
        if before is None:
            rename_new(beside, spot.name, source_fd=parent, target_fd=parent)
        else:
            os.rename(beside, spot.name, src_dir_fd=parent, dst_dir_fd=parent)
    with suppress(OSError):  # it stands there; a file system that cannot sync a folder does not take it back
        os.fsync(parent)


@contextmanager
def _beside(parent: int) -> Iterator[str]:
    """A name for a while; what still has it at the end is removed."""
    name = temporary()
    try:
        yield name
    finally:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=parent)


def _dress(descriptor: int, before: os.stat_result | None, given: Data) -> None:
    """Give it the owner and the rights of what it replaces."""
    told = os.fstat(descriptor)
    if before is not None and (told.st_uid, told.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):  # only root may
            os.fchown(descriptor, before.st_uid, before.st_gid)
    mode = _mode(told if before is None else before, given)
    if mode != told.st_mode & RIGHTS:
        os.fchmod(descriptor, mode)


def _mode(like: os.stat_result, given: Data) -> int:
    """The rights it has: those it had, and to be run by whoever may read it where that is asked for."""
    mode = like.st_mode & RIGHTS
    if "executable" not in given:
        return mode
    return mode | (mode & 0o444) >> 2 if given["executable"] else mode & ~EXECUTABLE
