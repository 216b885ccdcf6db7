"""How a hostile program is run: confined as an attempt is, with none or some of the layers switched off.

A layer is switched off by what the sandbox is told (a weaker machine, a wider confinement) or, where nothing can be
told so, by taking the words that ask for it out of the finished command line. The product has no switch for it.
"""

import json
import os
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from msgspec.structs import replace

from keisei.records.confinement import Confinement, Level, Limits, Machine
from keisei.records.launch import Exit, Launch
from keisei.sandbox import reach
from keisei.sandbox.confine import Confined, confine
from keisei.sandbox.machine import probe
from keisei.sandbox.process import run
from tests.sandbox.hostile.program import Layer, Program
from tests.sandbox.hostile.rig import HOSTILE, Rig
from tests.sandbox.program import NEVER_S

PRELUDE = """
import os, sys, time
at = type(sys.implementation)(**TOLD)
print('began', flush=True)

def take(loot):
    with open(at.own + '/loot', 'ab') as kept:
        kept.write(loot)

def meet():
    open(at.own + '/ready', 'w').close()
    while not os.path.exists(at.own + '/go'):
        time.sleep(0.005)

def libc(library=[]):
    if not library:
        library.append(ctypes.CDLL(None, use_errno=True))
    return library[0]
"""
_SHELL_PRELUDE = "echo began\n"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_PLENTY = Limits(processes=None, file_bytes=None, open_files=None, memory_bytes=None)


@cache
def strongest() -> Machine:
    """What this machine can hold."""
    return probe()


def weakened(off: Iterable[Layer]) -> Machine:
    """This machine without some of its layers."""
    machine = strongest()
    machine = replace(machine, bwrap=None) if "namespace" in off else machine
    machine = replace(machine, landlock=0) if "landlock" in off else machine
    return replace(machine, seccomp=False) if "seccomp" in off else machine


def confinement(rig: Rig, program: Program, off: Iterable[Layer], machine: Machine) -> Confinement:
    """What a role with one whitelisted folder gets."""
    at = rig.folders
    clean = rig.root / "config"
    clean.write_text("[core]\n\trepositoryformatversion = 0\n")
    protect = (at["work"] / ".git", at["work"] / ".claude", at["src"] / "locked")
    unprotected = "protect" in off
    limits = replace(program.limits, tmp_bytes=Limits().tmp_bytes) if "limits" in off else program.limits
    return Confinement(
        write=(str(at["src"]), str(at["room"])),
        protect=() if unprotected else tuple(map(str, protect)),
        read=(str(at["work"]), str(at["git"]), str(at["tools"]), *_interpreter()),
        hide=() if unprotected else (str(at["work"] / "private"),),
        replace={} if unprotected else {str(at["git"] / "config"): str(clean)},
        sockets=(str(rig.at["gate"]),) if "gate" in rig.at else (),
        network="open" if "network" in off else program.network,
        connect=rig.relay_port() if machine.bwrap is None else None,
        limits=replace(_PLENTY, tmp_bytes=limits.tmp_bytes) if "limits" in off else limits,
    )


def confined(rig: Rig, program: Program, off: Iterable[Layer], machine: Machine) -> Confined:
    """The program inside the sandbox, with some layers off."""
    ready = confine(launch(rig, program), confinement(rig, program, off, machine), machine, accept="none")
    if "capabilities" not in off:
        return ready
    return replace(ready, launch=replace(ready.launch, argv=tuple(_with_capabilities(ready.launch.argv))))


def launch(rig: Rig, program: Program) -> Launch:
    """The program as it is, in its worktree, with the environment of an attempt."""
    env = {"PATH": _PATH, "HOME": str(rig.folders["room"] / "home"), "TMPDIR": str(rig.folders["room"] / "tmp")}
    if program.source.startswith("#!sh"):
        env |= {"MAIN": str(rig.folders["main"]), "HOSTILE": HOSTILE, "RUNNER": str(rig.at.get("runner", ""))}
        env |= {"TCP": str(rig.at.get("tcp", ""))}
        argv: tuple[str, ...] = ("sh", "-c", _SHELL_PRELUDE + program.source)
    else:
        late = "import ctypes\n" if "ctypes" in program.source or "libc()" in program.source else ""
        argv = (reach.interpreter()[0], "-I", "-S", "-c", f"TOLD = {rig.at!r}\n{PRELUDE}{late}{program.source}")
    return Launch(argv=argv, cwd=str(rig.folders["work"]), env=env, timeout_s=NEVER_S, grace_s=0)


def attempt(rig: Rig, program: Program, off: Iterable[Layer], machine: Machine) -> tuple[Exit, Level]:
    """Run it to its end. Says how it ended and which level held it."""
    for each in program.needs:
        try:
            getattr(rig, each)()
        except OSError as error:
            pytest.skip(f"this machine has nothing to attack there: {each}: {error.strerror or error}")
    if "launcher" in off:
        return _by_hand(rig, launch(rig, program), {**os.environ, "RUNNER_KEY": rig.secret}), "none"
    ready = confined(rig, program, off, machine)
    try:
        if rig.inherited or rig.stdin is not None:
            return _by_hand(rig, ready.launch, ready.launch.env), ready.level
        return run(ready.launch, keeper=program.keeper and "keeper" not in off), ready.level
    finally:
        rig.give_up()
        ready.close()


def _by_hand(rig: Rig, ready: Launch, env: dict[str, str]) -> Exit:
    """As a careless runner would start it: with its own standard input, and descriptors left open."""
    began = datetime.now(UTC)
    ended = subprocess.run(
        ready.argv,
        cwd=ready.cwd,
        env=env,
        stdin=subprocess.DEVNULL if rig.stdin is None else rig.stdin,
        pass_fds=rig.inherited,
        capture_output=True,
        timeout=NEVER_S,
        check=False,
    )
    return Exit(
        code=ended.returncode,
        signal=None,
        stdout=ended.stdout,
        stderr=ended.stderr,
        stdout_truncated=False,
        stderr_truncated=False,
        timed_out=False,
        canceled=False,
        survivors_killed=0,
        survivors_left=0,
        level="none",
        started_at=began,
        duration_s=0,
    )


def _interpreter() -> tuple[str, ...]:
    prefix = reach.interpreter()[1]
    return () if any(prefix == each or prefix.startswith(f"{each}/") for each in reach.FOLDERS) else (prefix,)


def _with_capabilities(argv: Iterable[str]) -> Iterable[str]:
    """The command line without the words that drop capabilities, in bubblewrap and in the launcher."""
    words = iter(argv)
    for word in words:
        if word == "--cap-drop":
            next(words)
            yield from ("--cap-add", "ALL")
        elif word.startswith("{") and '"seal"' in word:
            yield json.dumps({key: value for key, value in json.loads(word).items() if key != "seal"})
        else:
            yield word


def repository_root() -> Path:
    """The checkout these tests stand in."""
    return Path(__file__).resolve().parents[3]


def is_root() -> bool:
    """Whether this process is root, and programs that take root can be run."""
    return os.geteuid() == 0
