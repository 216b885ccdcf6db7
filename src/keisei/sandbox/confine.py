"""Confining: a Launch becomes one whose whole tree is held by the kernel, by the best layers this machine has.

full      namespaces of its own (bubblewrap), Landlock and seccomp inside. It sees what it is given and nothing else.
landlock  Landlock from ABI 6 on, and seccomp. It sees that other files and processes exist; sockets in the file system
          that its user may use are open to it, and so are mode, times and attributes of files of its user. /tmp,
          /dev/shm and terminals are closed; what is hidden or replaced cannot be read, but a hidden folder's names
          can; nothing new can be made in a folder that holds a protected path. Without a network, connections go to
          `connect` only, and nobody can listen, not even on a socket in the file system.
none      less than that. What there is holds all the same, and the layers tell what it was.

A program that is not there ends with 127, one that could not be confined with 126 and one line; it did not run. Nor
did it where bwrap itself fails, which ends with 1 and a line that begins with `bwrap: `. In a
namespace a signal that ends it shows as an exit code, 128 and its number. The tree dies with the thread that starts
it: the keeper's only one, or the one that called `open_process`.
"""

import json
import os
import re
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from keisei.records.confinement import LEVELS, Confinement, Level, Limits, Machine
from keisei.records.error import OperatorError, Refused, WorldFault
from keisei.records.launch import Launch
from keisei.sandbox import group, landlock, namespace, reach, seccomp
from keisei.sandbox.startable import startable, with_loaders

LAUNCHER = Path(__file__).resolve().with_name("launcher.py")
FORWARD = LAUNCHER.with_name("forward.py")
LANDLOCK_ALONE = 6
"""The first ABI that holds truncation, TCP, signals and abstract sockets."""
HINT = "install bubblewrap (`bwrap`) and allow unprivileged user namespaces; `keisei doctor` tells what is missing"

_PIECE = 100_000
"""Of the profile in one argument; the kernel takes 128 kB in each."""
_ASKED = (1, 2, 3, 10, 12, 15)
"""What somebody outside may ask the tree with (TERM and its like): bwrap must not die of it before the program does."""
_NET_SINCE = 4
_LOADER = re.compile(r"LD_|(?:GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|RESOLV_HOST_CONF)\Z")
"""Variables by which the C library runs or reads what whoever sets them says: the launcher and bwrap stand outside, and
must not see them. They travel on the command line; none of them is a place for a secret."""
_PLACES = "/bin:/usr/bin"
"""Where the launcher looks for a program without a PATH."""


class Confined(Struct, frozen=True, kw_only=True):
    """A Launch that is held, and what holds it. Close it when its tree is gone."""

    launch: Launch
    """What to run."""
    level: Level
    """How surely its tree is confined."""
    layers: tuple[str, ...]
    """What holds it: `namespace`, `landlock:7`, `seccomp`, `network:none`, `limits:cgroup`."""
    groups: tuple[str, ...] = ()
    """Its cgroups, each as a folder."""

    def close(self) -> None:
        """Give its cgroups back."""
        group.remove(self.groups)


def level_of(machine: Machine) -> Level:
    """How surely this machine can confine a tree."""
    if not machine.seccomp or machine.landlock < 1:
        return "none"
    if machine.bwrap is not None:
        return "full"
    return "landlock" if machine.landlock >= LANDLOCK_ALONE else "none"


def level_for(machine: Machine, network: Literal["none", "open"]) -> tuple[Level, str | None]:
    """How surely a tree with such a network is confined, and why less surely than the machine could.

    Abstract sockets (a session bus, an X server) belong to the network: only a network of its own or Landlock from ABI
    6 on keeps a tree from asking somebody there.
    """
    level = level_of(machine)
    if level == "full" and network == "open" and machine.landlock < LANDLOCK_ALONE:
        return "none", f"with an open network Landlock {machine.landlock} leaves abstract sockets of the machine open"
    return level, None


def confine(launch: Launch, confinement: Confinement, machine: Machine, accept: Level = "full") -> Confined:
    """The launch, held by every layer the machine has. `accept` is the weakest level that will do.

    Raises Refused where the machine cannot do that, OperatorError for a path that is not real or not there, WorldFault
    where a folder cannot be read or a group not be made.
    """
    level, fault = level_for(machine, confinement.network)
    if LEVELS.index(level) < LEVELS.index(accept):
        missing = fault or "; ".join(machine.faults) or "no reason is known"
        raise Refused(f"this machine confines at level `{level}`, and `{accept}` is required: {missing}", HINT)
    _check(confinement)
    groups = _groups(confinement.limits, machine)
    try:
        held = _held(launch, confinement, machine, groups)
    except BaseException as error:
        group.remove(groups)
        if isinstance(error, OSError):
            raise WorldFault(f"`{launch.argv[0]}` cannot be confined: {error}") from error
        raise
    return Confined(launch=held, level=level, layers=_layers(confinement, machine, groups), groups=groups)


def _check(confinement: Confinement) -> None:
    """Every path is real; what must be there is there."""
    needed = {*confinement.write, *confinement.sockets, *confinement.replace, *confinement.replace.values()}
    for path in (*needed, *confinement.read, *confinement.protect, *confinement.hide, *(confinement.execute or ())):
        if not os.path.isabs(path) or "\0" in path or os.path.realpath(path) != path:  # noqa: PTH117 - it is text
            raise OperatorError(f"`{path}` cannot be confined to: it is not absolute, or a link stands in it")
    for path in sorted(needed):
        if not os.path.lexists(path):
            raise OperatorError(f"`{path}` cannot be confined to: it does not exist")
    if "/" in (*confinement.write, *confinement.read, *confinement.protect, *confinement.hide):
        raise OperatorError("the root of the machine cannot be opened or closed as a whole")


def _groups(limits: Limits, machine: Machine) -> tuple[str, ...]:
    if machine.cgroup is None and limits.memory_bytes is not None:
        message = "`[sandbox] memory-mb` cannot be kept on this machine: no control group can be made"
        raise OperatorError(message, "take it out of keisei.toml, or run where control groups may be made")
    if machine.cgroup is None or (limits.processes is None and limits.memory_bytes is None):
        return ()
    try:
        return group.make(Path(machine.cgroup), limits)
    except OSError as error:
        message = f"no group with limits can be made below `{machine.cgroup}`: {error.strerror or error}"
        raise WorldFault(message, retryable=True) from error


def _layers(confinement: Confinement, machine: Machine, groups: tuple[str, ...]) -> tuple[str, ...]:
    """What holds in truth. Only a group or an ordinary user's limit counts processes; root is bound by neither."""
    counted = "cgroup" if groups else "user" if os.geteuid() != 0 else "file"
    return (
        *(("namespace",) if machine.bwrap is not None else ()),
        *((f"landlock:{machine.landlock}",) if machine.landlock else ()),
        *(("seccomp",) if machine.seccomp else ()),
        f"network:{_network_held(confinement, machine)}",
        f"limits:{counted}",
    )


def _network(confinement: Confinement, machine: Machine) -> seccomp.Network:
    if confinement.network == "open":
        return "open"
    if machine.bwrap is not None:
        return "own"
    return "relay" if machine.landlock >= _NET_SINCE or confinement.connect is not None else "closed"


def _network_held(confinement: Confinement, machine: Machine) -> str:
    """Without Landlock's ports, a tree that may connect to the relay may connect to anybody."""
    network = _network(confinement, machine)
    if network in ("own", "closed"):
        return "none" if network == "own" or machine.seccomp else "open"
    return "none" if network == "relay" and machine.seccomp and machine.landlock >= _NET_SINCE else "open"


def _held(launch: Launch, confinement: Confinement, machine: Machine, groups: tuple[str, ...]) -> Launch:
    system = reach.system((*confinement.write, *confinement.out))
    confinement = _with_program(launch, confinement, system)
    joined = {"groups": [f"{each}/cgroup.procs" for each in groups]}
    profile = _profile(launch, confinement, machine, system, counted=bool(groups))
    loader = {name: value for name, value in launch.env.items() if _LOADER.match(name)}
    if loader:
        profile["loader"] = loader
        launch = structs.replace(launch, env={name: launch.env[name] for name in launch.env if name not in loader})
    if machine.bwrap is None:
        return structs.replace(launch, argv=(*_command({**joined, **profile}), *launch.argv))
    first = _command({**joined, "ignore": _ASKED})
    forward = confinement.forward if "forward" in profile else None
    if forward is not None:
        confinement = structs.replace(confinement, sockets=(*confinement.sockets, forward.socket))
    reads = [*reach.interpreter_reads(), str(LAUNCHER), *([] if forward is None else [str(FORWARD)])]
    bwrap = (machine.bwrap, *namespace.arguments(confinement, system, reads), "--")
    return structs.replace(launch, argv=(*first, *bwrap, *_command(profile), *launch.argv), namespaced=True)


def _with_program(launch: Launch, confinement: Confinement, system: reach.System) -> Confinement:
    """Where programs are named, the confined one is among them, with everything the kernel opens to start any."""
    if confinement.execute is None:
        return confinement
    own = startable(launch.argv[0], launch.env.get("PATH", _PLACES), launch.cwd)
    named = dict.fromkeys((*own, *with_loaders(confinement.execute)))
    seen = dict.fromkeys(path for each in named for path in (each, *reach.stands_at(each, system)))
    return structs.replace(confinement, execute=tuple(seen))


def _profile(
    launch: Launch, confinement: Confinement, machine: Machine, system: reach.System, *, counted: bool
) -> dict[str, object]:
    """What the launcher does right before the program."""
    own, network = machine.bwrap is not None, _network(confinement, machine)
    profile: dict[str, object] = {"ignore": [], "cwd": launch.cwd, "seal": True}
    profile["limits"] = list(_limits(confinement.limits, own=own, counted=counted))
    if own:
        profile["pwd"] = launch.env.get("PWD")
    if network == "own" and confinement.forward is not None:
        forward = confinement.forward
        profile["forward"] = [reach.interpreter()[0], "-I", "-S", str(FORWARD), str(forward.port), forward.socket]
    if machine.landlock and own:
        profile["landlock"] = landlock.namespace_plan(machine.landlock, confinement, reach.inside(system))
    elif machine.landlock:
        profile["landlock"] = landlock.shared_plan(machine.landlock, confinement, reach.outside(system))
    if machine.seccomp:
        profile["seccomp"] = (seccomp.program(os.uname().machine, network, namespace=own) or b"").hex()
    return profile


def _limits(limits: Limits, *, own: bool, counted: bool) -> Iterator[tuple[int, int]]:
    """The kernel counts a user's processes in each user namespace anew, and elsewhere with all the others."""
    yield resource.RLIMIT_CORE, 0
    if limits.file_bytes is not None:
        yield resource.RLIMIT_FSIZE, limits.file_bytes
    if limits.open_files is not None:
        yield resource.RLIMIT_NOFILE, limits.open_files
    if limits.processes is not None and not counted:
        yield resource.RLIMIT_NPROC, limits.processes + (0 if own else group.tasks_of(os.getuid()))


def _command(profile: dict[str, object]) -> tuple[str, ...]:
    text = json.dumps(profile, separators=(",", ":"))
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    return (reach.interpreter()[0], "-I", "-S", str(LAUNCHER), *pieces, "--")
