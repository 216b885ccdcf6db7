"""Machines: which layers hold here, found by confining a small program and looking at what it could do."""

import os
import signal
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from shutil import which

from keisei.records.confinement import Confinement, Limits, Machine
from keisei.records.error import KeiseiError
from keisei.records.launch import Launch
from keisei.sandbox import group, landlock, reach, seccomp
from keisei.sandbox.confine import LANDLOCK_ALONE, confine

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
"""Where bwrap is looked for; the environment is not asked."""
_PATIENCE_S = 20.0
# It tries what each layer refuses, and says what it could do. /proc/1 is somebody else's outside of a namespace.
_PROGRAM = """
import _socket, os, sys
open(sys.argv[1] + "/allowed", "w").close()
try:
    open(sys.argv[2] + "/refused", "w").close()
except OSError:
    print("files")
try:
    _socket.socket(_socket.AF_NETLINK, _socket.SOCK_RAW, 15).close()
except PermissionError:
    print("calls")
if os.getppid() == 1:
    print("processes")
if not os.path.exists(sys.argv[3]):
    print("mounts")
"""


def probe(*, bwrap: str | None = "bwrap", most_abi: int | None = None) -> Machine:
    """What this machine can hold. Looked at once in a process; a layer that cannot be had is told in `faults`.

    `bwrap` is the name or the path of bubblewrap, None to go without; `most_abi` makes the kernel's Landlock older.
    """
    return _probed(bwrap, most_abi)


@cache
def _probed(bwrap: str | None, most_abi: int | None) -> Machine:
    faults: list[str] = []
    abi = _landlock(most_abi, faults)
    filtered = _seccomp(faults)
    found = _bwrap(bwrap, abi, faults, seccomp=filtered)
    return Machine(bwrap=found, landlock=abi, seccomp=filtered, cgroup=_cgroup(), faults=tuple(faults))


def _landlock(most_abi: int | None, faults: list[str]) -> int:
    abi = min(landlock.kernel_abi(), landlock.NEWEST if most_abi is None else most_abi)
    if abi < 1:
        faults.append("the kernel has no Landlock, or it is not among the `lsm=` of its command line")
        return 0
    could, said = _try(Machine(bwrap=None, landlock=abi, seccomp=False))
    if "files" not in could:
        faults.append(f"Landlock does not hold: {said}")
        return 0
    if abi < LANDLOCK_ALONE:
        faults.append(f"Landlock is of ABI {abi}, and does not hold a tree alone before {LANDLOCK_ALONE}")
    return abi


def _seccomp(faults: list[str]) -> bool:
    if os.uname().machine not in seccomp.ARCHITECTURES:
        faults.append(f"there is no filter of calls for a machine of kind `{os.uname().machine}`")
        return False
    could, said = _try(Machine(bwrap=None, landlock=0, seccomp=True))
    if "calls" not in could:
        faults.append(f"a filter of calls (seccomp) does not hold: {said}")
    return "calls" in could


def _bwrap(name: str | None, abi: int, faults: list[str], *, seccomp: bool) -> str | None:
    found = None if name is None else which(name, path=PROGRAMS)
    if found is None:
        faults.append("bubblewrap (`bwrap`) is not installed")
        return None
    could, said = _try(Machine(bwrap=found, landlock=abi, seccomp=seccomp))
    if not {"files", "processes", "mounts"} <= could:
        faults.append(f"bubblewrap cannot make namespaces here: {said}")
        return None
    return found


def _try(machine: Machine) -> tuple[set[str], str]:
    """Run the program under these layers. What was refused to it, and its last words where it did not run."""
    try:
        with tempfile.TemporaryDirectory(prefix="keisei-probe-") as folder:
            return _tried(machine, Path(os.path.realpath(folder)))
    except (OSError, KeiseiError) as error:
        return set(), str(error)


def _tried(machine: Machine, place: Path) -> tuple[set[str], str]:
    for name in ("allowed", "refused"):
        (place / name).mkdir()
    (place / "unseen").touch()
    places = (str(place / each) for each in ("allowed", "refused", "unseen"))
    argv = (reach.interpreter()[0], "-I", "-S", "-c", _PROGRAM, *places)
    confinement = Confinement(
        write=(str(place / "allowed"),),
        read=(str(place / "refused"), *reach.interpreter_reads()),
        network="open",
        limits=Limits(processes=None),
    )
    launch = Launch(argv=argv, cwd="/", env={}, timeout_s=_PATIENCE_S)
    return _told(confine(launch, confinement, machine, accept="none").launch, place)


def _told(launch: Launch, place: Path) -> tuple[set[str], str]:
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program, and nothing of it is to be kept
            launch.argv,
            env={},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return set(), error.strerror or str(error)
    with process:
        try:
            out, err = process.communicate(timeout=_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return set(), f"it did not end within {_PATIENCE_S:g} seconds"
    lines = err.decode(errors="replace").strip().splitlines()
    if process.returncode != 0 or not (place / "allowed" / "allowed").exists():
        return set(), lines[0] if lines else f"it ended with {process.returncode}"
    could = set(out.decode().split())
    return (could - {"files"} if (place / "refused" / "refused").exists() else could), "what it refuses can be done"


def _cgroup() -> str | None:
    """The first folder in which a group with a limit can be made and joined."""
    try:
        listing = Path("/proc/self/cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return next((str(parent) for parent in group.parents(listing) if _joined(parent)), None)


def _joined(parent: Path) -> bool:
    try:
        folders = group.make(parent, Limits(processes=64))
    except OSError:
        return False
    try:
        join = ["/bin/sh", "-c", 'echo $$ >"$1"', "sh", f"{folders[0]}/cgroup.procs"]
        return subprocess.run(join, env={}, capture_output=True, check=False).returncode == 0  # noqa: S603 - as above
    except OSError:
        return False
    finally:
        group.remove(folders)
