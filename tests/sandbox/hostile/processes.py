"""Reaching processes outside, or outliving the attempt."""

import os
from pathlib import Path

from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Program, runner_is_changed, runner_is_dead, wrote
from tests.sandbox.hostile.rig import Rig
from tests.sandbox.program import carriers

_BOTH = ("namespace", "landlock")
_ROOT = ("namespace", "landlock", "capabilities")


def _outlived(rig: Rig, _: Exit) -> bool:
    return bool(carriers(f"daemon-{rig.word}"))


def _limited(rig: Rig, _: Exit) -> bool:
    limits = Path(f"/proc/{rig.at['runner']}/limits").read_text()
    return "Max file locks            7 " in limits


def _lowered(rig: Rig, _: Exit) -> bool:
    return os.getpriority(os.PRIO_PROCESS, int(rig.at["runner"])) == 7


def _pinned(rig: Rig, _: Exit) -> bool:
    return os.sched_getscheduler(int(rig.at["runner"])) == os.SCHED_BATCH


def _keeper_is_dead(_: Rig, ended: Exit) -> bool:
    """A keeper that lives says how the program ended."""
    return ended.code is None


def _signal(name: str, tries: str, source: str) -> Program:
    return Program(
        name=name,
        tries=tries,
        stopped_by=_BOTH,
        landlock="landlock",
        needs=("stand_in",),
        source=source,
        effect=runner_is_dead,
    )


PROCESSES = (
    _signal("kill", "kills the runner", "os.kill(at.runner, 9)"),
    _signal("kill-group", "kills the process group of the runner", "os.killpg(at.runner, 9)"),
    _signal("kill-shell", "kills the runner with a program", "#!sh\nkill -9 $RUNNER"),
    _signal(
        "kill-by-descriptor",
        "kills the runner through a pidfd",
        "import signal; signal.pidfd_send_signal(os.pidfd_open(at.runner), 9)",
    ),
    _signal(
        "kill-by-owner",
        "makes the runner the owner of a descriptor whose events are signals",
        """
import fcntl
ours, theirs = os.pipe()
fcntl.fcntl(ours, 10, 9)
fcntl.fcntl(ours, fcntl.F_SETOWN, at.runner)
fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC)
os.write(theirs, b'x')
""",
    ),
    Program(
        name="ptrace",
        tries="traces the runner such that it dies with the tracer",
        stopped_by=(*_ROOT, "seccomp"),
        user_stops=(*_BOTH, "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("stand_in",),
        source="libc().ptrace(0x4206, at.runner, None, ctypes.c_void_p(0x100000))",
        effect=runner_is_dead,
    ),
    Program(
        name="write-memory-call",
        tries="writes into the memory of the runner with process_vm_writev",
        stopped_by=(*_ROOT, "seccomp"),
        user_stops=(*_BOTH, "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("stand_in",),
        source="""
class Piece(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
text = ctypes.create_string_buffer(at.hostile.encode())
ours, theirs = Piece(ctypes.addressof(text), len(text)), Piece(at.address, len(text))
libc().process_vm_writev(at.runner, ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)
""",
        effect=runner_is_changed,
    ),
    Program(
        name="write-memory-file",
        tries="writes into the memory of the runner through /proc",
        stopped_by=_ROOT,
        user_stops=_BOTH,
        landlock="landlock, capabilities",
        user_landlock="landlock",
        needs=("stand_in",),
        source="""
with open(f'/proc/{at.runner}/mem', 'r+b', buffering=0) as memory:
    memory.seek(at.address); memory.write(at.hostile.encode() + b'\\0')
""",
        effect=runner_is_changed,
    ),
    Program(
        name="take-descriptor",
        tries="copies a descriptor out of the runner",
        stopped_by=(*_ROOT, "seccomp"),
        user_stops=(*_BOTH, "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("stand_in",),
        source="""
stolen = libc().syscall(438, os.pidfd_open(at.runner), at.descriptor, 0)
os.write(stolen, at.hostile.encode())
""",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="limit-the-runner",
        tries="sets a resource limit of the runner",
        stopped_by=("namespace", "seccomp"),
        landlock="seccomp",
        needs=("stand_in",),
        source="import resource; resource.prlimit(at.runner, 10, (7, 7))",
        effect=_limited,
    ),
    Program(
        name="slow-the-runner",
        tries="lowers the priority of the runner",
        stopped_by=("namespace", "seccomp", "capabilities"),
        user_stops=("namespace", "seccomp"),
        landlock="seccomp, capabilities",
        user_landlock="seccomp",
        needs=("stand_in",),
        source="os.setpriority(os.PRIO_PROCESS, at.runner, 7)",
        effect=_lowered,
    ),
    Program(
        name="reschedule-the-runner",
        tries="changes the scheduling class of the runner",
        stopped_by=("namespace", "seccomp", "capabilities"),
        user_stops=("namespace", "seccomp"),
        landlock="seccomp, capabilities",
        user_landlock="seccomp",
        needs=("stand_in",),
        source="os.sched_setscheduler(at.runner, os.SCHED_BATCH, os.sched_param(0))",
        effect=_pinned,
    ),
    Program(
        name="kill-the-keeper",
        tries="kills its parent, which is to end it",
        stopped_by=_BOTH,
        landlock="landlock",
        keeper=True,
        source="os.kill(os.getppid(), 9)",
        effect=_keeper_is_dead,
    ),
    Program(
        name="daemon",
        tries="leaves a process without parent, session or mark that goes on after the end",
        stopped_by=("namespace", "keeper"),
        landlock="keeper",
        keeper=True,
        source="""
ours, theirs = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.set_inheritable(theirs, True)
        say = f'import os,time; os.write({theirs}, b"x"); os.closerange(0, 9); time.sleep(60)'
        os.execve(sys.executable, [sys.executable, '-I', '-S', '-c', say, 'daemon-' + at.word], {})
    os._exit(0)
os.wait()
os.read(ours, 1)
""",
        effect=_outlived,
        needs=("tell_word",),
    ),
)
