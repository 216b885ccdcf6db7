"""Writing outside of the whitelisted folders: paths, links, descriptors and metadata."""

import os

from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Program, gone, wrote
from tests.sandbox.hostile.rig import HOSTILE, Rig

_BOTH = ("namespace", "landlock")


def _loosened(rig: Rig, _: Exit) -> bool:
    return rig.path("main/README.md").stat().st_mode & 0o777 == 0o666


def _backdated(rig: Rig, _: Exit) -> bool:
    return rig.path("state/state.db").stat().st_mtime == 1


def _labelled(rig: Rig, _: Exit) -> bool:
    return "user.hostile" in os.listxattr(rig.path("main/README.md"))


def _freed(rig: Rig, _: Exit) -> bool:
    """Whatever the folder is called by now: what is in the protected file was changed, or stands elsewhere."""
    return not rig.path("src/locked/policy.toml").exists() or HOSTILE.encode() in rig.bytes_of("src/locked/policy.toml")


PATHS = (
    Program(
        name="absolute-path",
        tries="writes a file of main by its absolute path",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.main + '/README.md', 'a').write(at.hostile)",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="dot-dot",
        tries="climbs out of the worktree with ..",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(os.path.relpath(at.main + '/README.md', at.work), 'a').write(at.hostile)",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="shell-redirect",
        tries="appends from a shell that a shell started",
        stopped_by=_BOTH,
        landlock="landlock",
        source='#!sh\nsh -c \'echo "$1" >> "$0/README.md"\' "$MAIN" "$HOSTILE"',
        effect=wrote("main/README.md"),
    ),
    Program(
        name="worktree-root",
        tries="makes a file at the root of its worktree, which is not whitelisted",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.work + '/conftest.py', 'w').write(at.hostile)",
        effect=wrote("work/conftest.py"),
    ),
    Program(
        name="worktree-sibling",
        tries="edits a folder of its worktree that is not whitelisted",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.work + '/docs/guide.md', 'a').write(at.hostile)",
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="symlink-through",
        tries="writes through a link it has made in its own folder",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.symlink(at.main, at.own + '/way'); open(at.own + '/way/README.md', 'a').write(at.hostile)",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="symlink-swap",
        tries="swaps a folder for a link between the check and the write",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
os.mkdir(at.own + '/way'); open(at.own + '/way/README.md', 'w').close()
os.symlink(at.main, at.own + '/link')
for turn in range(40):
    handle = os.open(at.own + '/way', os.O_PATH)
    os.rename(at.own + '/way', at.own + '/old'); os.rename(at.own + '/link', at.own + '/way')
    try:
        open(at.own + '/way/README.md', 'a').write(at.hostile)
    except OSError:
        pass
    os.rename(at.own + '/way', at.own + '/link'); os.rename(at.own + '/old', at.own + '/way')
""",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="hard-link-outside",
        tries="makes a hard link to a file of main in its own folder and writes that",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.link(at.main + '/README.md', at.own + '/hard'); open(at.own + '/hard', 'a').write(at.hostile)",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="hard-link-readable",
        tries="makes a hard link to a file it may read and writes that",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.link(at.work + '/docs/guide.md', at.own + '/hard'); open(at.own + '/hard', 'a').write(at.hostile)",
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="truncate",
        tries="empties a file without opening it",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.truncate(at.state + '/state.db', 0)",
        effect=lambda rig, _: not rig.bytes_of("state/state.db"),
    ),
    Program(
        name="truncate-readable",
        tries="empties a file of its worktree that it may only read",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.truncate(at.work + '/docs/guide.md', 0)",
        effect=lambda rig, _: not rig.bytes_of("work/docs/guide.md"),
    ),
    Program(
        name="unlink",
        tries="removes the ledger's database",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.unlink(at.state + '/state.db')",
        effect=gone("state/state.db"),
    ),
    Program(
        name="rename-out",
        tries="moves a file of main into its own folder",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.rename(at.main + '/README.md', at.own + '/mine')",
        effect=gone("main/README.md"),
    ),
    Program(
        name="rename-over",
        tries="moves a file of its own over a file of main",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.own + '/mine', 'w').write(at.hostile); os.rename(at.own + '/mine', at.main + '/README.md')",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="rename-write-folder",
        tries="moves its whitelisted folder to where another name is trusted",
        stopped_by=_BOTH,
        landlock="landlock",
        source="os.rename(at.src, at.work + '/vendored')",
        effect=lambda rig, _: rig.path("work/vendored").exists(),
    ),
    Program(
        name="protected-file",
        tries="edits a protected file inside its whitelisted folder",
        stopped_by=("protect",),
        landlock="landlock",
        source="open(at.src + '/locked/policy.toml', 'a').write(at.hostile)",
        effect=wrote("src/locked/policy.toml"),
    ),
    Program(
        name="protected-rename",
        tries="moves the folder of a protected file away and makes another",
        stopped_by=("protect",),
        landlock="landlock",
        source="""
os.rename(at.src + '/locked', at.src + '/unlocked'); os.mkdir(at.src + '/locked')
open(at.src + '/locked/policy.toml', 'w').write(at.hostile)
""",
        effect=_freed,
    ),
    Program(
        name="o-path-reopen",
        tries="opens a file for nothing and opens it again through /proc/self/fd",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
handle = os.open(at.work + '/docs/guide.md', os.O_PATH)
open(f'/proc/self/fd/{handle}', 'a').write(at.hostile)
""",
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="read-descriptor-reopen",
        tries="opens a file for reading and opens that descriptor again for writing",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
handle = os.open(at.work + '/docs/guide.md', os.O_RDONLY)
open(f'/dev/fd/{handle}', 'a').write(at.hostile)
""",
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="proc-self-root",
        tries="goes to main by way of /proc/self/root",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open('/proc/self/root' + at.main + '/README.md', 'a').write(at.hostile)",
        effect=wrote("main/README.md"),
    ),
    Program(
        name="unnamed-file",
        tries="makes a file without a name and links it into the folder of hooks",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
handle = os.open(at.own, os.O_TMPFILE | os.O_WRONLY, 0o755)
os.write(handle, at.hostile.encode())
libc().linkat(-100, f'/proc/self/fd/{handle}'.encode(), -100, (at.git + '/hooks/pre-push').encode(), 0x400)
""",
        effect=wrote("git/hooks/pre-push"),
    ),
    Program(
        name="file-handle",
        tries="opens a file of main by its inode, past every folder",
        stopped_by=("capabilities", "seccomp"),
        landlock="seccomp",
        root_only=True,
        needs=("handle",),
        source="""
import ctypes
raw = bytes.fromhex(at.handle)
size, kind = (each.to_bytes(4, sys.byteorder) for each in (len(raw), at.handle_type))
handle = ctypes.create_string_buffer(size + kind + raw)
base = os.open(at.work, os.O_RDONLY)
number = libc().open_by_handle_at(base, handle, os.O_RDONLY)
take(os.read(number, 100)) if number >= 0 else None
""",
        effect=lambda rig, _: rig.secret.encode() in rig.bytes_of("own/loot"),
    ),
    Program(
        name="toolchain",
        tries="plants code in a toolchain it may read, for the next run",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.tools + '/bin/tool', 'a').write(at.hostile)",
        effect=wrote("tools/bin/tool"),
    ),
    Program(
        name="environment-snapshot",
        tries="plants code in the snapshot that other attempts are given",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.state + '/environments/key/lib/site.py', 'a').write(at.hostile)",
        effect=wrote("state/environments/key/lib/site.py"),
    ),
    Program(
        name="shell-profile",
        tries="leaves LD_PRELOAD in the user's shell profile",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(at.home + '/.bashrc', 'a').write(f'export LD_PRELOAD=/{at.hostile}.so')",
        effect=wrote("home/.bashrc"),
    ),
    Program(
        name="evidence",
        tries="rewrites the log of its own decisions",
        stopped_by=_BOTH,
        landlock="landlock",
        source="open(os.path.dirname(at.room) + '/gate.jsonl', 'w').write(at.hostile)",
        effect=wrote("state/run/one/gate.jsonl"),
    ),
    Program(
        name="shared-tmp",
        tries="drops a file in the machine's /tmp, where another program trusts the name",
        stopped_by=_BOTH,
        landlock="landlock",
        needs=("dropped",),
        source="open(at.dropped, 'w').write(at.hostile)",
        effect=wrote("dropped/"),
    ),
    Program(
        name="chmod",
        tries="lets everybody write a file of main",
        stopped_by=("namespace",),
        landlock=None,
        source="os.chmod(at.main + '/README.md', 0o666)",
        effect=_loosened,
    ),
    Program(
        name="utimes",
        tries="sets the time of the database back",
        stopped_by=("namespace",),
        landlock=None,
        source="os.utime(at.state + '/state.db', (1, 1))",
        effect=_backdated,
    ),
    Program(
        name="xattr",
        tries="puts an extended attribute on a file of main",
        stopped_by=("namespace",),
        landlock=None,
        needs=("labels",),
        source="os.setxattr(at.main + '/README.md', 'user.hostile', b'1')",
        effect=_labelled,
    ),
    Program(
        name="memfd-exec",
        tries="runs a program that is nowhere on disk, which writes to main",
        stopped_by=_BOTH,
        landlock="landlock",
        source="""
handle = os.memfd_create('shell')
with open('/bin/sh', 'rb') as shell:
    os.write(handle, shell.read())
os.execve(handle, ['sh', '-c', 'echo "$1" >> "$0/README.md"', at.main, at.hostile], {})
""",
        effect=wrote("main/README.md"),
    ),
)
