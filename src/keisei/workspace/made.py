"""One environment as it lies on the disk: `tree/` with the kept paths, `made.json` with what is known of them."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from keisei.records.error import OperatorError
from keisei.rules.environment import VERSION
from keisei.workspace.age import Age, ages
from keisei.workspace.copy import Edit, copy_paths
from keisei.workspace.name import spelled
from keisei.workspace.relocation import holds, is_text, keeps_length, mover, spellings

MADE: Final = "made.json"
TREE: Final = "tree"
MOST_SKIPPED: Final = 1000


class Made(Struct, frozen=True, kw_only=True):
    """made.json. Paths are bytes written as Latin-1: not every name is UTF-8."""

    version: int
    """Of this form."""
    root: str
    """The worktree it was made in."""
    keep: tuple[str, ...]
    """The paths it consists of."""
    moved: dict[str, bool]
    """Files that hold the path of that worktree, and whether they are text."""
    files: int
    """How many files it has."""
    size: int
    """Their bytes."""
    skipped: tuple[str, ...]
    """Pipes, sockets and devices that were left out."""
    ages: dict[str, Age]
    """The other files of that worktree."""


def read_made(folder: Path) -> Made | None:
    """What is known of the environment in a folder; None where it is not whole. Never raises."""
    try:
        made = msgspec.json.decode((folder / MADE).read_bytes(), type=Made)
    except (OSError, ValueError):
        return None
    return made if made.version == VERSION else None


def make(draft: Path, worktree: Path, keep: tuple[str, ...]) -> None:
    """Copy what setup left into a draft; it is on the disk when this returns. Raises KeiseiError, OSError."""
    root = Path(os.path.realpath(worktree))
    _check_inside(root, keep)
    (draft / TREE).mkdir(parents=True, mode=0o700)
    copied = copy_paths(root, draft / TREE, keep)
    made = Made(
        version=VERSION,
        root=_stored(str(root)),
        keep=keep,
        moved=dict(_naming(draft / TREE, spellings(str(root)))),
        files=copied.files,
        size=copied.size,
        skipped=tuple(map(_stored, copied.skipped[:MOST_SKIPPED])),
        ages=ages(root, keep),
    )
    os.sync()  # a power cut must not leave a whole name on half of the files
    with (draft / MADE).open("xb") as file:
        file.write(msgspec.json.encode(made))
        file.flush()
        os.fsync(file.fileno())


def _check_inside(root: Path, keep: tuple[str, ...]) -> None:
    """Every kept path is there, and neither it nor a folder above it is a link. Raises OperatorError."""
    missing = [path for path in keep if not os.path.lexists(root / path)]
    if missing:
        message = f"setup did not make {', '.join(f'`{path}`' for path in missing)}"
        raise OperatorError(message, "[environment] keep names what its setup leaves")
    for path in keep:
        parts = path.split("/")
        for depth in range(1, len(parts) + 1):
            here = "/".join(parts[:depth])
            if (root / here).is_symlink():
                message = f"`{here}` is a link, so `{path}` cannot be kept as part of the environment"
                raise OperatorError(message, "[environment] keep names files and folders of the project itself")


def _naming(tree: Path, words: tuple[bytes, ...]) -> Iterator[tuple[str, bool]]:
    """Files that hold one of the words, each with whether it is text."""
    for folder, _, names in os.walk(tree):
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink() and path.is_file() and holds(path, words):
                yield _stored(os.path.relpath(path, tree)), is_text(path.read_bytes())


def edit_for(made: Made, root: str) -> Edit | None:
    """What must become different in another worktree; None in the same. Raises OperatorError where it cannot."""
    old = _name(made.root)
    if root == old:
        return None
    if not keeps_length(old, root):
        _check_text(made, root)
    return Edit(frozenset(map(_name, made.moved)), mover(old, root))


def _check_text(made: Made, root: str) -> None:
    fixed = sorted(path for path, text in made.moved.items() if not text)
    if fixed:
        more = f" and {len(fixed) - 1} more" if len(fixed) > 1 else ""
        old, new, file = (spelled(os.fsencode(each)) for each in (_name(made.root), root, _name(fixed[0])))
        message = f"the environment made in {old} cannot be given to {new}: `{file}`{more} holds that path"
        raise OperatorError(message, "the paths must have the same length; remove the environment to make it anew")


def _stored(path: str) -> str:
    """A path as text that JSON takes, whatever bytes it has."""
    return os.fsencode(path).decode("latin-1")


def _name(stored: str) -> str:
    return os.fsdecode(stored.encode("latin-1"))
