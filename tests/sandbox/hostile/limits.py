"""Using up the machine: processes, memory, disk, descriptors. All of it bounded, for the control runs too."""

from keisei.records.confinement import Limits
from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Effect, Program
from tests.sandbox.hostile.rig import Rig

_MB = 1024 * 1024
_ALLOWED = 120
"""Twice the limit: where the kernel counts by user, what others of that user have at the start comes on top."""
_FORKS = """
import time
for number in range(200):
    try:
        if os.fork() == 0:
            open(f'{at.own}/child-{number}', 'w').close()
            while not os.path.exists(at.own + '/end'):
                time.sleep(0.05)
            os._exit(0)
    except BlockingIOError:
        break
until = time.monotonic() + 3
while len(os.listdir(at.own)) < number and time.monotonic() < until:
    time.sleep(0.02)
open(at.own + '/end', 'w').close()
"""


def _more_than(most: int, pattern: str) -> Effect:
    return lambda rig, _: len(list(rig.folders["own"].glob(pattern))) > most


def _larger(name: str, most: int) -> Effect:
    def larger(rig: Rig, _: Exit) -> bool:
        path = rig.path(name)
        return path.exists() and path.stat().st_size > most

    return larger


LIMITS = (
    Program(
        name="fork-bomb",
        tries="has 200 processes at the same time",
        stopped_by=("limits",),
        landlock="limits",
        limits=Limits(processes=60),
        needs=("counted",),
        source=_FORKS,
        effect=_more_than(_ALLOWED, "child-*"),
    ),
    Program(
        name="thread-bomb",
        tries="has 200 threads at the same time",
        stopped_by=("limits",),
        landlock="limits",
        limits=Limits(processes=60),
        needs=("counted",),
        source="""
import threading
end = threading.Event()
def work(number):
    open(f'{at.own}/child-{number}', 'w').close()
    end.wait()
try:
    for number in range(200):
        threading.Thread(target=work, args=(number,)).start()
except RuntimeError:
    pass
end.set()
""",
        effect=_more_than(_ALLOWED, "child-*"),
    ),
    Program(
        name="disk-filler",
        tries="writes a file of 8 MB",
        stopped_by=("limits",),
        landlock="limits",
        limits=Limits(file_bytes=_MB),
        source="""
with open(at.own + '/large', 'wb') as large:
    for _ in range(8):
        large.write(bytes(1 << 20)); large.flush()
""",
        effect=_larger("own/large", _MB),
    ),
    Program(
        name="tmp-filler",
        tries="fills the machine's memory through /tmp",
        stopped_by=("limits",),
        landlock="landlock",
        limits=Limits(tmp_bytes=4 * _MB),
        source="""
try:
    with open('/tmp/large', 'wb') as large:
        for _ in range(16):
            large.write(bytes(1 << 20)); large.flush()
except OSError:
    pass
with open('/tmp/large', 'rb') as large:
    open(at.own + '/large', 'wb').write(large.read())
""",
        effect=_larger("own/large", 4 * _MB),
    ),
    Program(
        name="memory-hog",
        tries="takes 192 MB of memory",
        stopped_by=("limits",),
        landlock="limits",
        root_only=True,
        limits=Limits(memory_bytes=96 * _MB),
        needs=("counted",),
        source="""
held = [bytes([1]) * (1 << 20) for _ in range(192)]
open(at.own + '/held', 'w').write(str(len(held)))
""",
        effect=lambda rig, _: rig.path("own/held").exists(),
    ),
    Program(
        name="descriptor-hog",
        tries="holds 300 files open",
        stopped_by=("limits",),
        landlock="limits",
        limits=Limits(open_files=100),
        source="held = [open(f'{at.own}/open-{number}', 'w') for number in range(300)]",
        effect=_more_than(100, "open-*"),
    ),
    Program(
        name="leave-group",
        tries="leaves the group that counts its processes, as root may, and has 200 of them",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        root_only=True,
        limits=Limits(processes=60),
        needs=("group",),
        source="open(at.group, 'w').write(str(os.getpid()))" + _FORKS,
        effect=_more_than(_ALLOWED, "child-*"),
    ),
)
