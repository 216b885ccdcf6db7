"""Confinement of one attempt: its policy's scope, its folders and its sockets, as the sandbox wants them told."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

from keisei.records.adapter import Sandbox
from keisei.records.confinement import Confinement, Forward, Limits
from keisei.records.error import OperatorError, WorldFault
from keisei.records.project import ProjectSandbox
from keisei.records.task_spec import SpecScope, TaskSpec
from keisei.records.worktree import Worktree
from keisei.rules.reach import ALWAYS, FOLDERS, reach, resolved

RELAY_PORT: Final = 4399
"""Where a harness finds its model, inside a network of its own."""
MB: Final = 1024 * 1024
LONGEST: Final = 255
"""Bytes of a name."""
DEEPEST: Final = 100
"""Folders inside each other; what an agent does much deeper is not kept."""


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
    private: tuple[str, ...] = ()
    """Files and folders that no agent reads, wherever they lie: env files, the home, the project, the state."""
    fixed: tuple[str, ...] = ()
    """Files of its room that it reads and does not write."""


class Road(NamedTuple):
    """How the model is reached."""

    socket: str | None
    """A Unix socket, for an attempt with a network of its own."""
    port: int | None
    """A port of the machine's loopback, for one that shares its network."""


def confined_to(bounds: Bounds, road: Road) -> Confinement:
    """The confinement. Folders that a task may write and that are not there yet are made, as far as no link leads out.

    Raises WorldFault where one cannot be made.
    """
    write, protect = _scope(bounds)
    reads = [str(bounds.cwd), *bounds.reads, *toolchains(bounds.project, bounds.private)]
    swaps = {} if bounds.worktree is None else history(bounds.worktree, bounds.outside, reads)
    forward = None if road.socket is None else Forward(port=RELAY_PORT, socket=os.path.realpath(road.socket))
    return Confinement(
        write=(*write, os.path.realpath(bounds.room), os.path.realpath(bounds.artifacts)),
        protect=(*protect, *map(os.path.realpath, bounds.fixed)),
        read=tuple(dict.fromkeys(os.path.realpath(each) for each in reads if os.path.lexists(each))),
        out=tuple(dict.fromkeys(os.path.realpath(each) for each in bounds.private)),
        hide=hidden(bounds.private, bounds.worktree),
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


def toolchains(project: ProjectSandbox, private: Iterable[str]) -> list[str]:
    """What `[sandbox] read` names. Raises OperatorError for a folder that holds what neither agent nor check reads."""
    named = [os.path.realpath(os.path.expanduser(each)) for each in project.read]  # noqa: PTH111 - text
    closed = [os.path.realpath(each) for each in private]
    for each in named:
        held = [path for path in closed if path == each or path.startswith(f"{each}/")]
        if held or each == "/":
            message = f"`[sandbox] read` names `{each}`, which holds `{held[0] if held else each}`: no agent reads that"
            raise OperatorError(message, "name the folder of the toolchain itself")
    return named


def hidden(private: Iterable[str], worktree: Worktree | None) -> tuple[str, ...]:
    """Private files, which could lie in what may be read; and what other attempts have left in the repository."""
    files = [os.path.realpath(each) for each in private if Path(each).is_file()]
    if worktree is None:
        return tuple(files)
    refs = Path(worktree.common_dir, "refs", "keisei")
    with suppress(OSError):
        refs.mkdir(parents=True, exist_ok=True)
    return (*files, os.path.realpath(refs)) if refs.is_dir() else tuple(files)


def _scope(bounds: Bounds) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if bounds.worktree is None:
        return (), ()
    root, scope = bounds.worktree.path, bounds.spec.scope
    found = reach(scope.files_whitelist, scope.files_denylist)
    if "." in found.write:
        for name in FOLDERS:
            _made(f"{root}/{name}", root)
    protect = _protected(resolved(found.protect, root), root, _named(scope, root))
    if bounds.sandbox == "read-only":
        return (), protect
    folders = (folder for folder in resolved(found.write, root) if _made(folder, root))
    return tuple(folders), protect


def _named(scope: SpecScope, root: str) -> frozenset[str]:
    """Files that the task names itself, but for what no task can name."""
    return frozenset(resolved([each for each in scope.files_whitelist if each not in ALWAYS], root))


def _protected(paths: Iterable[str], root: str, named: frozenset[str]) -> tuple[str, ...]:
    """What stays closed and the task does not name itself; of a path that is a link, what it leads to in the worktree.

    The link itself cannot be closed; whether it was changed is seen in what the attempt leaves.
    """
    real = (os.path.realpath(path) for path in paths)
    return tuple(dict.fromkeys(path for path in real if path.startswith(f"{root}/") and path not in named))


def _made(folder: str, root: str) -> bool:
    """Make a folder of the worktree, one part after the other. False where a link or a file stands in the way.

    False as well for a name that no folder can have, and for one that leads out.
    """
    place, parts = root, os.path.relpath(folder, root).split("/")
    if ".." in parts or len(parts) > DEEPEST or any(len(os.fsencode(part)) > LONGEST for part in parts):
        return False
    for part in parts:
        place = os.path.normpath(f"{place}/{part}")
        try:
            os.mkdir(place, 0o755)  # noqa: PTH102 - must not make parents
        except FileExistsError:
            pass
        except OSError as error:
            message = f"the folder `{place}` cannot be made: {(error.strerror or str(error)).lower()}"
            raise WorldFault(message, "check the space on its disk", retryable=True) from error
        if os.path.islink(place) or not os.path.isdir(place):  # noqa: PTH112, PTH114 - as above
            return False
    return os.path.realpath(folder) == folder


HISTORY: Final = ("objects", "refs", "reftable", "packed-refs", "HEAD", "shallow", "info")
"""What of a repository tells its history."""


def history(tree: Worktree, outside: Path, reads: list[str]) -> dict[str, str]:
    """History may be read, and nothing else of the repository: not its configuration, hooks, logs, other worktrees.

    What it needs is added to `reads`. What stands in the place of its configuration, a file of the folder `outside`,
    holds no address and no credential.
    """
    common = Path(tree.common_dir)
    reads += [tree.git_dir, *(str(common / name) for name in HISTORY), *_alternates(common / "objects")]
    plain = outside / "git-config"
    plain.write_text(_plain_config(common / "config"))
    swaps = {common / "config": plain}
    packed = common / "packed-refs"
    if any(" refs/keisei/" in line for line in _lines(packed)):
        swaps[packed] = outside / "packed-refs"
        swaps[packed].write_text("".join(f"{line}\n" for line in _lines(packed) if " refs/keisei/" not in line))
    return {os.path.realpath(path): os.path.realpath(each) for path, each in swaps.items() if path.is_file()}


def _alternates(objects: Path) -> Iterable[str]:
    """Stores of objects that a repository borrows from; a relative one is relative to its own."""
    lines = _lines(objects / "info/alternates")
    return [str(objects / line) for line in lines if line and not line.startswith("#")]


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
