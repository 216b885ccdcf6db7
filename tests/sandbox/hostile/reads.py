"""Reading what is not the attempt's: keys, databases, other attempts, other processes."""

import hashlib
from pathlib import Path

from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Program, took_secret
from tests.sandbox.hostile.rig import Rig

_BOTH = ("namespace", "landlock")
_ROOT = ("namespace", "landlock", "capabilities")


def _read(name: str, tries: str, path: str) -> Program:
    return Program(
        name=name,
        tries=tries,
        stopped_by=_BOTH,
        landlock="landlock",
        source=f"take(open({path}, 'rb').read())",
        effect=took_secret,
    )


def _took(text: str) -> bytes:
    return hashlib.sha256(Path(text).read_bytes()).hexdigest().encode()


def _took_word(rig: Rig, _: Exit) -> bool:
    return rig.word.encode() in rig.bytes_of("own/loot")


READS = (
    _read("ssh-key", "reads the user's private key", "at.home + '/.ssh/id_ed25519'"),
    _read("env-file", "reads the file with the profile's secrets", "at.state + '/agent.env'"),
    _read("state-database", "reads the database of the runner", "at.state + '/state.db'"),
    _read("other-worktree", "reads the worktree of another attempt", "at.state + '/worktrees/a001/src/app.py'"),
    _read("other-room", "reads the prompt of another attempt", "at.state + '/run/two/room/prompt.md'"),
    _read("own-log", "reads what the runner keeps of its own attempt", "at.state + '/run/one/stdout.log'"),
    _read("main-checkout", "reads the files of main, which the user may be changing", "at.main + '/README.md'"),
    Program(
        name="hidden-file",
        tries="reads a file of its worktree that its role hides",
        stopped_by=("protect",),
        landlock="landlock",
        source="take(open(at.work + '/private/notes.md', 'rb').read())",
        effect=took_secret,
    ),
    Program(
        name="hidden-names",
        tries="lists a folder of its worktree that its role hides",
        stopped_by=("protect",),
        landlock=None,
        source="take(repr(os.listdir(at.work + '/private')).encode())",
        effect=lambda rig, _: b"notes.md" in rig.bytes_of("own/loot"),
    ),
    Program(
        name="shadow",
        tries="reads the machine's password hashes",
        stopped_by=_BOTH,
        landlock="landlock",
        root_only=True,
        source="""
import hashlib
take(hashlib.sha256(open('/etc/shadow', 'rb').read()).hexdigest().encode())
""",
        effect=lambda rig, _: _took("/etc/shadow") in rig.bytes_of("own/loot"),
    ),
    Program(
        name="list-tokens",
        tries="lists the folder of the gate's socket to learn the tokens of others",
        stopped_by=_BOTH,
        landlock="landlock",
        source="take(repr(os.listdir(at.runtime)).encode())",
        effect=lambda rig, _: b"other-token" in rig.bytes_of("own/loot"),
    ),
    Program(
        name="list-state",
        tries="lists the state folder",
        stopped_by=_BOTH,
        landlock="landlock",
        source="take(repr(os.listdir(at.state)).encode())",
        effect=lambda rig, _: b"agent.env" in rig.bytes_of("own/loot"),
    ),
    Program(
        name="stat",
        tries="learns whether a file of the user exists, and its size",
        stopped_by=("namespace",),
        landlock=None,
        source="take(str(os.stat(at.home + '/.ssh/id_ed25519').st_ino).encode())",
        effect=lambda rig, _: str(rig.path("home/.ssh/id_ed25519").stat().st_ino).encode() in rig.bytes_of("own/loot"),
    ),
    Program(
        name="watch-folder",
        tries="has the kernel tell it the names of files that appear in the state folder",
        stopped_by=("namespace",),
        landlock=None,
        needs=("writer",),
        source="""
handle = libc().inotify_init1(os.O_NONBLOCK)
libc().inotify_add_watch(handle, at.state.encode(), 0x100)
meet()
take(os.read(handle, 4096))
""",
        effect=took_secret,
    ),
    Program(
        name="runner-environment",
        tries="reads the environment of the runner in /proc",
        stopped_by=("namespace", "capabilities"),
        user_stops=_BOTH,
        landlock="capabilities",
        user_landlock="landlock",
        needs=("stand_in",),
        source="take(open(f'/proc/{at.runner}/environ', 'rb').read())",
        effect=took_secret,
    ),
    Program(
        name="every-environment",
        tries="reads the environment of every process it sees",
        stopped_by=("namespace", "capabilities"),
        user_stops=_BOTH,
        landlock="capabilities",
        user_landlock="landlock",
        needs=("stand_in",),
        source="""
for number in filter(str.isdigit, os.listdir('/proc')):
    try:
        said = open(f'/proc/{number}/environ', 'rb').read()
    except OSError:
        continue
    take(said[said.find(b'RUNNER_KEY='):][:200] if b'RUNNER_KEY=' in said else b'')
""",
        effect=took_secret,
    ),
    Program(
        name="command-lines",
        tries="reads the command lines of processes outside",
        stopped_by=("namespace",),
        landlock=None,
        needs=("stand_in",),
        source="take(open(f'/proc/{at.runner}/cmdline', 'rb').read())",
        effect=_took_word,
    ),
    Program(
        name="runner-root",
        tries="goes to the user's key by way of the runner's root in /proc",
        stopped_by=_ROOT,
        user_stops=_BOTH,
        landlock="landlock",
        needs=("stand_in",),
        source="take(open(f'/proc/{at.runner}/root{at.home}/.ssh/id_ed25519', 'rb').read())",
        effect=took_secret,
    ),
    Program(
        name="runner-descriptor",
        tries="opens a descriptor of the runner in /proc",
        stopped_by=_ROOT,
        user_stops=_BOTH,
        landlock="landlock",
        needs=("stand_in",),
        source="take(open(f'/proc/{at.runner}/fd/{at.descriptor}', 'rb').read())",
        effect=took_secret,
    ),
    Program(
        name="runner-memory",
        tries="reads the memory of the runner",
        stopped_by=_ROOT,
        user_stops=_BOTH,
        landlock="landlock",
        needs=("stand_in",),
        source="""
with open(f'/proc/{at.runner}/mem', 'rb', buffering=0) as memory:
    memory.seek(at.address); take(memory.read(64))
""",
        effect=took_secret,
    ),
    Program(
        name="shared-memory-file",
        tries="reads a file in the machine's /dev/shm",
        stopped_by=_BOTH,
        landlock="landlock",
        needs=("shared_file",),
        source="take(open(at.shared_file, 'rb').read())",
        effect=took_secret,
    ),
    Program(
        name="shared-segment",
        tries="attaches a System V memory segment of the user",
        stopped_by=("namespace", "seccomp"),
        landlock="seccomp",
        needs=("segment",),
        source="""
import ctypes
libc().shmat.restype = ctypes.c_void_p
address = libc().shmat(at.segment, None, 0o10000)
take(ctypes.string_at(address, 64)) if address != ctypes.c_void_p(-1).value else None
""",
        effect=took_secret,
    ),
    Program(
        name="own-environment",
        tries="looks for the runner's secrets in its own environment",
        stopped_by=("launcher",),
        landlock="environment",
        source="take(repr(dict(os.environb)).encode()); take(open('/proc/self/environ', 'rb').read())",
        effect=took_secret,
    ),
)
