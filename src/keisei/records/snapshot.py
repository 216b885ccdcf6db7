"""Snapshots: a folder as it was at one moment. Values that cross ports. Internal: no published schema."""

from typing import Literal

from msgspec import Struct

EntryKind = Literal["file", "folder", "link", "other"]
"""Other: a pipe, a socket, a device. Links are never followed."""


class Entry(Struct, frozen=True, array_like=True):
    """One name in a folder."""

    kind: EntryKind
    """What it is."""
    size: int
    """Its bytes."""
    mtime_ns: int
    """When its content was written, as it says; anybody can set this."""
    ctime_ns: int
    """When it was changed in any way; only the kernel sets this."""
    inode: int
    """Which file it is; another one under the same name has another number."""
    mode: int
    """Its permission bits."""


class Snapshot(Struct, frozen=True, kw_only=True):
    """Everything below a folder, `.git` aside."""

    entries: dict[str, Entry]
    """By path, relative to the folder. A backslash is written twice, a byte that is no UTF-8 as `\\xNN`."""
    partial: bool = False
    """There was more than was looked at."""
    unreadable: tuple[str, ...] = ()
    """Folders that could not be listed, by path; `.` is the folder itself."""

    @property
    def is_whole(self) -> bool:
        """Whether what is not in it was not there."""
        return not self.partial and not self.unreadable


class Changes(Struct, frozen=True, kw_only=True):
    """What differs between two snapshots, by path, sorted."""

    added: tuple[str, ...] = ()
    """There now, and not before."""
    modified: tuple[str, ...] = ()
    """There before and now, and touched in between."""
    deleted: tuple[str, ...] = ()
    """There before, and not now."""
    is_whole: bool = True
    """Both snapshots held everything; without that, a path that is missing here may differ all the same."""


class Looked(Struct, frozen=True, kw_only=True):
    """One file that somebody named, looked at closely."""

    fault: str | None = None
    """Why it cannot count, as the end of a sentence that begins with its name: `is missing`. None for a plain file."""
    entry: Entry | None = None
    """What it is, from the descriptor that was read; None where nothing was found."""
    sha256: str | None = None
    """The digest of its content, in hexadecimal; there unless it has a fault."""
