"""Codex's config.toml: what it holds for our hooks, shared by every hooks.json that has them."""

from pathlib import Path
from typing import Any, NamedTuple

from keisei.adapters.hook_codex import trust
from keisei.hooks.codex import moves
from keisei.hooks.edit import (
    Backup,
    Write,
    backup_path,
    backup_write,
    digest,
    missing_folders,
    read_backup,
    read_text,
    real_path,
)
from keisei.hooks.json_text import parse
from keisei.hooks.place import Place
from keisei.hooks.trust import config_of, retold, state_of
from keisei.library.source import shown_path


class Change(NamedTuple):
    """What happens to files; the folders go if they are empty then."""

    writes: list[Write]
    folders: list[Path]


def installed_config(place: Place, old_hooks: str | None, new_hooks: str) -> list[Write]:
    """What makes Codex trust our hooks in the new text of hooks.json."""
    path, shown = _path(place)
    old = read_text(path)
    earlier = read_backup(path)
    add = _keys(place, new_hooks)
    mine = [*_keys(place, old_hooks), *(earlier.holders.get(str(place.path), []) if earlier else [])]
    new = retold(old, shown, drop=mine, add=add, moves=_moves(place, old_hooks, new_hooks))
    if new == old:
        return []
    before, folders, holders = old, missing_folders(path), {str(place.path): list(add)}
    if earlier is not None:
        before, folders = _bare(old, earlier, shown), max(folders, earlier.folders)
        holders = earlier.holders | holders
    backup = Backup(before, digest(new), folders, holders)
    return [backup_write(path, backup), Write(path, new.encode("utf-8"))]


def removed_config(place: Place, old_hooks: str | None, new_hooks: str | None) -> Change:
    """What takes our trust out again; byte for byte, when this was the last hooks.json and nobody changed the file."""
    path, shown = _path(place)
    old = read_text(path)
    backup = read_backup(path)
    if old is None:
        return restored(path, None, None, backup)
    holders = backup.holders if backup else {}
    held = {where: keys for where, keys in holders.items() if where != str(place.path)}
    mine = {*_keys(place, old_hooks), *holders.get(str(place.path), [])}
    moves = _moves(place, old_hooks, new_hooks)
    if not any(key in state_of(config_of(old, shown)) for key in (*mine, *moves)) and str(place.path) not in holders:
        return Change([], [])
    new: str | None = retold(old, shown, drop=mine, add={}, moves=moves)
    if backup is None:
        return restored(path, old, new, None)
    if held:
        kept = Backup(_bare(old, backup, shown), digest(new or ""), backup.folders, held)
        return Change([backup_write(path, kept), Write(path, (new or "").encode("utf-8"))], [])
    if backup.written == digest(old) and not moves:
        new = backup.original
    elif backup.original is None and not (new or "").strip():
        new = None
    return restored(path, old, new, backup)


def restored(path: Path, old: str | None, new: str | None, backup: Backup | None) -> Change:
    """A file as it is without us, and no backup any more."""
    writes = []
    if new != old:
        writes.append(Write(path, None if new is None else new.encode("utf-8")))
    if backup_path(path).is_file():
        writes.append(backup_write(path, None))
    folders = backup.folders if backup is not None and new is None else 0
    return Change(writes, list(path.parents)[:folders])


def _path(place: Place) -> tuple[Path, str]:
    if place.config is None or place.config_root is None:
        message = f"{place.harness} has no config.toml"
        raise ValueError(message)
    return real_path(place.config, place.config_root), shown_path(place.config)


def _bare(old: str | None, backup: Backup, shown: str) -> str | None:
    """config.toml without any of our trust."""
    if old is None:
        return None
    if backup.written == digest(old):
        return backup.original
    ours = [key for keys in backup.holders.values() for key in keys]
    return retold(old, shown, drop=ours, add={}, moves={})


def _data(text: str | None) -> dict[str, Any]:
    try:
        value = parse(text or "").value
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _keys(place: Place, text: str | None) -> dict[str, str]:
    return trust(_data(text), str(place.path))


def _moves(place: Place, old: str | None, new: str | None) -> dict[str, str]:
    where = str(place.path)
    return {was.key(where): now.key(where) for was, now in moves(_data(old), _data(new)).items()}
