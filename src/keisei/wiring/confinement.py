"""Confinement of one attempt: its policy's scope, its folders and its sockets, as the sandbox wants them told."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from keisei.records.adapter import Sandbox
from keisei.records.confinement import Confinement, Forward, Limits
from keisei.records.project import ProjectSandbox
from keisei.records.task_spec import TaskSpec
from keisei.records.worktree import Worktree
from keisei.rules.reach import FOLDERS, reach, resolved

RELAY_PORT: Final = 4399
"""Where a harness finds its model, inside a network of its own."""
MB: Final = 1024 * 1024


class Bounds(NamedTuple):
    """What an attempt is confined to."""

    cwd: Path
    """Where it works: its worktree, or a folder that it may only read."""
    worktree: Worktree | None
    spec: TaskSpec
    outside: Path
    """The attempt's folder that it does not see."""
    room: Path
    """The attempt's own folder."""
    artifacts: Path
    sandbox: Sandbox | None
    """What the adapter's table says: it narrows and never widens."""
    network: Literal["none", "open"]
    project: ProjectSandbox
    reads: tuple[str, ...]
    """Programs, the gate's client, whatever else has to be there."""
    sockets: tuple[str, ...] = ()
    """Sockets it may connect to."""


class Road(NamedTuple):
    """How the model is reached."""

    socket: str | None
    """A Unix socket, for an attempt with a network of its own."""
    port: int | None
    """A port of the machine's loopback, for one that shares its network."""


def confined_to(bounds: Bounds, road: Road) -> Confinement:
    """The confinement. Folders that a task may write and that are not there yet are made, as far as no link leads out.

    Raises OSError where one cannot be made.
    """
    write, protect = _scope(bounds)
    reads = [str(bounds.cwd), *bounds.reads, *map(os.path.expanduser, bounds.project.read)]
    swaps = _git(bounds, reads)
    forward = None if road.socket is None else Forward(port=RELAY_PORT, socket=os.path.realpath(road.socket))
    return Confinement(
        write=(*write, os.path.realpath(bounds.room), os.path.realpath(bounds.artifacts)),
        protect=protect,
        read=tuple(dict.fromkeys(os.path.realpath(each) for each in reads if os.path.lexists(each))),
        replace=swaps,
        sockets=tuple(map(os.path.realpath, bounds.sockets)),
        network=bounds.network,
        forward=forward,
        connect=road.port,
        limits=Limits(
            processes=bounds.project.processes,
            memory_bytes=None if bounds.project.memory_mb is None else bounds.project.memory_mb * MB,
        ),
    )


def _scope(bounds: Bounds) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if bounds.worktree is None:
        return (), ()
    root, scope = bounds.worktree.path, bounds.spec.scope
    found = reach(scope.files_whitelist, scope.files_denylist)
    if "." in found.write:
        for name in FOLDERS:
            _made(f"{root}/{name}", root)
    protect = tuple(path for path in resolved(found.protect, root) if os.path.realpath(path) == path)
    if bounds.sandbox == "read-only":
        return (), protect
    folders = (folder for folder in resolved(found.write, root) if _made(folder, root))
    return tuple(folders), protect


def _made(folder: str, root: str) -> bool:
    """Make a folder of the worktree, one part after the other. False where a link or a file stands in the way."""
    place = root
    for part in os.path.relpath(folder, root).split("/"):
        place = os.path.normpath(f"{place}/{part}")
        with suppress(FileExistsError):
            os.mkdir(place, 0o755)  # noqa: PTH102 - must not make parents
        if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114 - as above
            return False
    return os.path.realpath(folder) == folder


HISTORY: Final = ("objects", "refs", "reftable", "packed-refs", "HEAD", "shallow", "info")
"""What of a repository tells its history."""


def _git(bounds: Bounds, reads: list[str]) -> dict[str, str]:
    """History may be read, and nothing else of the repository: not its configuration, hooks, logs, other worktrees.

    What stands in the place of its configuration holds no address and no credential.
    """
    tree = bounds.worktree
    if tree is None:
        return {}
    common = Path(tree.common_dir)
    reads += [tree.git_dir, *(str(common / name) for name in HISTORY), *_lines(common / "objects/info/alternates")]
    plain = bounds.outside / "git-config"
    plain.write_text(_plain_config(common / "config"))
    config = os.path.realpath(common / "config")
    return {config: os.path.realpath(plain)} if (common / "config").is_file() else {}


KEPT: Final = ("core.repositoryformatversion", "extensions.objectformat", "extensions.refstorage", "core.filemode")


def _plain_config(path: Path) -> str:
    """The few lines without which git cannot read the repository. Addresses and credentials stay out."""
    lines, section = ["[core]", "\tbare = false"], ""
    others: dict[str, list[str]] = {}
    for raw in _lines(path):
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[]").strip().casefold()
        name, equals, value = line.partition("=")
        if equals and f"{section}.{name.strip().casefold()}" in KEPT:
            others.setdefault(section, []).append(f"\t{name.strip()} = {value.strip()}")
    lines += others.pop("core", [])
    for name, entries in others.items():
        lines += [f"[{name}]", *entries]
    return "\n".join(lines) + "\n"


def _lines(path: Path) -> Iterable[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return ()
