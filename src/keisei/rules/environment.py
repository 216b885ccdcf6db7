"""Environments: which paths may be one, and which tree needs which."""

import hashlib
from collections.abc import Callable, Iterable
from typing import Final

from keisei.records.error import OperatorError
from keisei.records.project import ProjectEnvironment

VERSION: Final = 1
"""Changes when an environment that an older keisei made must not be used any more."""


def kept_paths(keep: Iterable[str]) -> tuple[str, ...]:
    """The paths of an environment, plain and each once. Raises OperatorError for one that is not inside."""
    plain = sorted({_plain(path) for path in keep})
    for path in plain:
        if not is_inside(path):
            message = f"`{path or '.'}` cannot be kept as part of the environment"
            raise OperatorError(message, "[environment] keep names paths inside the project, and none of git's")
    return tuple(path for path in plain if not any(path.startswith(f"{other}/") for other in plain))


def is_inside(path: str) -> bool:
    """Whether a path is one below the root of a worktree, not the root itself, and none of git's."""
    parts = _plain(path).split("/")
    gits = any(part.lower().rstrip(" .") == ".git" for part in parts)
    return not (parts[0] == "" or ".." in parts or gits or "\0" in path)


def _plain(path: str) -> str:
    return "/" * path.startswith("/") + "/".join(part for part in path.split("/") if part not in ("", "."))


def environment_key(
    read: Callable[[str], bytes | None], setting: ProjectEnvironment, platform: str, scope: str = ""
) -> str:
    """The name of the environment that belongs to a tree: another setup, lock file or machine is another one.

    `read` gives the content of a file of that tree, None where it is not there. A tree that is not trusted gets a
    `scope` of its own, because its setup may run files that are no key files.
    """
    pieces = [f"keisei environment {VERSION}".encode(), _bytes(setting.setup), _bytes(platform), _bytes(scope)]
    pieces += [b"keep", *map(_bytes, kept_paths(setting.keep)), b"key"]
    for name in sorted(set(setting.key)):
        content = read(name)
        pieces += [_bytes(name), b"missing" if content is None else b"is " + content]
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "big"))
        digest.update(piece)
    return digest.hexdigest()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
