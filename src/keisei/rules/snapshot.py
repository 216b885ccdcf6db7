"""Snapshots compared: what was added, modified and deleted between two moments."""

from keisei.records.snapshot import Changes, Entry, Snapshot


def changes(before: Snapshot, after: Snapshot) -> Changes:
    """The difference. A file that was written again with the same content counts as modified: it was touched.

    A folder is modified only where it is not a folder any more or has another mode; what happens in it happens to its
    files.
    """
    was, now = before.entries, after.entries
    return Changes(
        added=tuple(sorted(now.keys() - was.keys())),
        modified=tuple(sorted(path for path in now.keys() & was.keys() if is_changed(was[path], now[path]))),
        deleted=tuple(sorted(was.keys() - now.keys())),
        is_whole=before.is_whole and after.is_whole,
    )


def is_changed(before: Entry, after: Entry) -> bool:
    """Whether anything happened to a name between two looks at it."""
    if before.kind == after.kind == "folder":
        return before.mode != after.mode
    return before != after
