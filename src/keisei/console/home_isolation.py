"""Isolation: what holds an agent on this machine, found out once in a process; nobody waits for it for long."""

import threading
from concurrent.futures import Future
from typing import Final

from msgspec import Struct

from keisei.records.confinement import Machine
from keisei.sandbox.confine import level_of
from keisei.sandbox.machine import probe
from keisei.wiring.doctor import isolation

PATIENCE_S: Final = 1.0
"""How long the first look at home waits for the probe; whoever looks later waits for nothing."""
_starting = threading.Lock()
_probing: list[Future[Machine]] = []


class HomeIsolation(Struct, frozen=True, kw_only=True):
    """The layers between an agent and this machine."""

    level: str
    """How much of it holds; shipped roles for agents require `full`."""
    bubblewrap: bool
    """Namespaces of its own."""
    landlock: int
    """The version of Landlock; 0 where there is none."""
    seccomp: bool
    """A filter of system calls."""
    cgroup: bool
    """Limits for the whole tree, not for each process."""
    detail: str
    """What was found, in a sentence."""
    hint: str | None
    """What to do, where a layer is missing."""


def machine_isolation() -> HomeIsolation | None:
    """What holds here; None while it is being found out."""
    try:
        return told(_machine())
    except TimeoutError:
        return None


def told(machine: Machine) -> HomeIsolation:
    """A machine, for people."""
    check = isolation(machine)
    return HomeIsolation(
        level=level_of(machine),
        bubblewrap=machine.bwrap is not None,
        landlock=machine.landlock,
        seccomp=machine.seccomp,
        cgroup=machine.cgroup is not None,
        detail=check.detail,
        hint=check.hint,
    )


def _machine() -> Machine:
    """The machine. Whoever asks first waits a moment; raises TimeoutError while it is being looked at."""
    with _starting:
        first = not _probing
        if first:
            _probing.append(Future())
            threading.Thread(target=_probe, args=(_probing[0],), name="isolation", daemon=True).start()
    return _probing[0].result(PATIENCE_S if first else 0)


def _probe(result: Future[Machine]) -> None:
    try:
        result.set_result(probe())
    except Exception as error:  # noqa: BLE001 - what cannot be found out does not hold
        result.set_result(Machine(bwrap=None, landlock=0, seccomp=False, faults=(f"it cannot be found out: {error}",)))
