"""Installing and uninstalling: the two verbs that write."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from keisei.adapters import hook_claude, hook_codex
from keisei.hooks import claude, codex
from keisei.hooks.config import installed_config, removed_config, restored
from keisei.hooks.edit import (
    Backup,
    Write,
    apply,
    backup_write,
    digest,
    locked,
    missing_folders,
    read_backup,
    read_text,
    real_path,
    remove_folders,
)
from keisei.hooks.json_text import parse
from keisei.hooks.merge import Entries, checked, containers, merged, read, without
from keisei.hooks.place import Place
from keisei.library.source import LIMIT, shown_path
from keisei.records.error import AuthorError
from keisei.records.problem import Problem


class Harness(NamedTuple):
    """What differs between harnesses."""

    entries: Callable[[str], Entries]
    snippet: Callable[[str], dict[str, Any]]
    defects: Callable[[Mapping[str, Any]], list[str]]


HARNESS = {
    "claude": Harness(hook_claude.entries, hook_claude.snippet, claude.defects),
    "codex": Harness(hook_codex.entries, hook_codex.snippet, codex.defects),
}


def install(place: Place, command: str) -> bool:
    """Put our hooks into the file and make the harness trust them. False where they are there already.

    Raises AuthorError for a file that must be mended first, OperatorError for one that is not ours to edit, WorldFault
    where it cannot be written; then nothing has changed.
    """
    harness = HARNESS[place.harness]
    with _locked(place):
        path = real_path(place.path, place.root)
        shown = shown_path(place.path)
        old = read_text(path)
        if old is not None and old.strip():
            checked(old, shown, harness.defects)
        new = merged(old, harness.entries(command))
        _small(new, shown)
        writes = installed_config(place, old, new) if place.config is not None else []
        if new != old:
            backup = _backup(path, old, new)
            writes += [backup_write(path, backup), Write(path, new.encode("utf-8"), place.mode)]
        apply(writes)
    return bool(writes)


def uninstall(place: Place) -> bool:
    """Take our hooks out. False where there were none.

    The file is byte for byte what it was, where nobody changed it since; otherwise only our entries go. Raises as
    `install` does.
    """
    with _locked(place):
        path = real_path(place.path, place.root)
        old = read_text(path)
        backup = read_backup(path)
        new = _bare(old, backup, shown_path(place.path))
        changes = [removed_config(place, old, new)] if place.config is not None else []
        changes.append(restored(path, old, new, backup))
        writes = [write for change in changes for write in change.writes]
        apply(writes)
        for change in changes:
            remove_folders(iter(change.folders))
    return bool(writes)


def _small(text: str, shown: str) -> None:
    """What we write, we can read again."""
    if len(text.encode("utf-8")) > LIMIT:
        message = f"would be larger than {LIMIT // 1024} KiB with our hooks in it"
        raise AuthorError([Problem(code="too-large", path=shown, message=message)])


def _locked(place: Place) -> AbstractContextManager[None]:
    return locked(place.root, *([place.config_root] if place.config_root else []))


def _backup(path: Path, old: str | None, new: str) -> Backup:
    """What uninstall needs to know, with what an earlier install knew already."""
    earlier = read_backup(path)
    folders = missing_folders(path)
    if earlier is None:
        return Backup(_plain(old), digest(new), folders)
    if old is not None and earlier.written == digest(old):
        return Backup(earlier.original, digest(new), earlier.folders)
    original = _bare(old, earlier, shown_path(path))
    return Backup(original, digest(new), max(folders, earlier.folders))


def _plain(text: str | None) -> str | None:
    return without(text) if text is not None and text.strip() else text


def _bare(old: str | None, backup: Backup | None, shown: str) -> str | None:
    """The file as it is without us; None where there is none."""
    if old is None or not old.strip():
        return old
    if backup is not None and backup.written == digest(old):
        return backup.original
    read(old, shown)
    new = without(old, _kept(backup))
    ours_alone = backup is not None and backup.original is None and parse(new).value == {}
    return None if ours_alone else new


def _kept(backup: Backup | None) -> set[tuple[str, ...]]:
    try:
        return containers(backup.original) if backup else set()
    except ValueError:  # a backup that somebody has edited
        return set()
