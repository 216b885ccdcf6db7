"""Reach: which folders of a worktree hold what a task may write. The kernel knows folders; globs are the gate's."""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

PROTECTED: Final = (
    ".git",
    ".keisei",
    "keisei.toml",
    ".claude",
    ".codex",
    ".hermes",
    ".agents",
    ".mcp.json",
    "AGENTS.md",
    "CLAUDE.md",
)
"""What an agent does not write, because it says what agents may do; a task that lists one of them by name may."""
FOLDERS: Final = (".keisei", ".claude", ".codex", ".hermes", ".agents")
"""Those of them that are folders: each is there, empty at least, before an agent could make it."""
ALWAYS: Final = (".git",)
"""What no task can list: the orchestrator owns git."""
WILD: Final = frozenset("*?[{")


class Reach(Struct, frozen=True, kw_only=True):
    """Paths relative to the worktree; `.` is its root."""

    write: tuple[str, ...]
    """Folders below which a task may write; none lies in another."""
    protect: tuple[str, ...]
    """Paths that stay read-only although they may lie below one of them."""


def reach(whitelist: Iterable[str], denylist: Iterable[str] = ()) -> Reach:
    """The folders of a scope. More than the globs allow, never less: what is too much is refused by gate and verify."""
    folders = [folder for folder in dict.fromkeys(map(held_in, whitelist)) if not is_git(folder)]
    known = frozenset(folders)
    write = tuple(each for each in folders if not any(above in known for above in _above(each)))
    named = [each for each in PROTECTED if each in ALWAYS or not any(_within(each, folder) for folder in folders)]
    denied = [folder for glob in denylist if (folder := _whole(glob)) is not None]
    return Reach(write=write, protect=tuple(dict.fromkeys((*named, *denied))))


def held_in(glob: str) -> str:
    """The folder that holds everything a glob matches: its parts before the first wild one, without the last part."""
    parts = _parts(glob)
    plain = next((place for place, part in enumerate(parts) if WILD & set(part)), len(parts) - 1)
    return "/".join(parts[:plain]) or "."


def _whole(glob: str) -> str | None:
    """The path that a glob means with everything below it: `secrets/**`, or a plain name; None for any other."""
    parts = _parts(glob)
    if parts[-1:] == ["**"]:
        parts = parts[:-1]
    return "/".join(parts) if parts and not any(WILD & set(part) for part in parts) else None


def _parts(glob: str) -> list[str]:
    return [part for part in glob.split("/") if part not in ("", ".")]


def is_git(path: str) -> bool:
    """Whether a path or a glob is of the repository itself, however the file system spells it."""
    return path.split("/", 1)[0].casefold() == ".git"


def _above(path: str) -> list[str]:
    """The folders that hold a folder."""
    parts = path.split("/")
    return [] if path == "." else [".", *("/".join(parts[:count]) for count in range(1, len(parts)))]


def _within(protected: str, folder: str) -> bool:
    """Whether a task names a folder inside a protected path, or that path itself."""
    return folder == protected or folder.startswith(f"{protected}/")


def resolved(folders: Sequence[str], root: str) -> tuple[str, ...]:
    """The same paths, absolute."""
    return tuple(root if each == "." else f"{root}/{each}" for each in folders)
