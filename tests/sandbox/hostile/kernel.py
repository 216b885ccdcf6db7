"""Gaining rights in the kernel: mounts, namespaces, devices, kernel settings, keys, terminals, descriptors."""

import os
import stat
from pathlib import Path

from keisei.records.launch import Exit
from tests.sandbox.hostile.program import Program, wrote
from tests.sandbox.hostile.rig import Rig


def _has_capability(rig: Rig, _: Exit) -> bool:
    """A file that carries a capability: only who has one in a user namespace of its own can have put it there."""
    return "security.capability" in os.listxattr(rig.path("src/app.py"))


def _has_device(rig: Rig, _: Exit) -> bool:
    path = rig.path("src/device")
    return path.exists() and stat.S_ISCHR(path.stat().st_mode)


def _setting_moved(rig: Rig, _: Exit) -> bool:
    return Path(str(rig.at["setting"])).read_text() != rig.setting_before


_CAPABILITY = """
def privileged():
    # version 3 with a root id: cap_net_raw, for whoever runs it in the user namespace of that root
    capability = bytes([1, 0, 0, 3]) + (1 << 13).to_bytes(4, 'little') + bytes(16)
    os.setxattr(at.src + '/app.py', 'security.capability', capability)
"""
_MAP = """
    open('/proc/self/setgroups', 'w').write('deny')
    open('/proc/self/uid_map', 'w').write(f'0 {at.uid} 1')
    open('/proc/self/gid_map', 'w').write(f'0 {at.gid} 1')
    privileged()
"""
_REMOUNT = """
for each in (at.work, at.work + '/docs'):
    libc().mount(None, each.encode(), None, 0x20 | 0x1000, None)
open(at.work + '/docs/guide.md', 'a').write(at.hostile)
"""

KERNEL = (
    Program(
        name="remount",
        tries="makes its read-only mounts writable, as root",
        stopped_by=("capabilities", "landlock", "seccomp"),
        landlock="landlock",
        root_only=True,
        source=_REMOUNT,
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="mount-setattr",
        tries="makes its read-only mounts writable with the new call",
        stopped_by=("capabilities", "seccomp"),
        landlock="landlock",
        root_only=True,
        source="""
attributes = bytes(8) + (1).to_bytes(8, 'little') + bytes(16)
libc().syscall(442, -100, at.work.encode(), 0, attributes, 32)
open(at.work + '/docs/guide.md', 'a').write(at.hostile)
""",
        effect=wrote("work/docs/guide.md"),
    ),
    Program(
        name="unmount",
        tries="takes away the mount that covers a protected folder",
        stopped_by=("capabilities", "landlock", "seccomp"),
        landlock="landlock",
        root_only=True,
        source="""
libc().umount2((at.src + '/locked').encode(), 2)
open(at.src + '/locked/policy.toml', 'a').write(at.hostile)
""",
        effect=wrote("src/locked/policy.toml"),
    ),
    Program(
        name="user-namespace",
        tries="becomes root in a user namespace of its own",
        stopped_by=("landlock", "seccomp", "capabilities"),
        user_stops=("landlock", "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("labels",),
        source=_CAPABILITY + "\nif libc().unshare(0x10000000) == 0:\n" + _MAP,
        effect=_has_capability,
    ),
    Program(
        name="user-namespace-clone",
        tries="the same with clone",
        stopped_by=("landlock", "seccomp", "capabilities"),
        user_stops=("landlock", "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("labels",),
        source=_CAPABILITY
        + "\nnumber = 56 if os.uname().machine == 'x86_64' else 220\n"
        + "if libc().syscall(number, 0x10000000 | 17, 0, 0, 0, 0) == 0:\n"
        + _MAP
        + "    os._exit(0)\nos.wait()",
        effect=_has_capability,
    ),
    Program(
        name="user-namespace-clone3",
        tries="the same with clone3, whose flags no filter can see",
        stopped_by=("landlock", "seccomp", "capabilities"),
        user_stops=("landlock", "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("labels",),
        source=_CAPABILITY
        + "\narguments = (0x10000000).to_bytes(8, 'little') + bytes(24) + (17).to_bytes(8, 'little') + bytes(48)\n"
        + "if libc().syscall(435, arguments, len(arguments)) == 0:\n"
        + _MAP
        + "    os._exit(0)\nos.wait()",
        effect=_has_capability,
    ),
    Program(
        name="user-namespace-32-bit",
        tries="the same with a call of the 32-bit kind, whose numbers differ",
        stopped_by=("landlock", "seccomp", "capabilities"),
        user_stops=("landlock", "seccomp"),
        landlock="landlock, seccomp, capabilities",
        user_landlock="landlock, seccomp",
        needs=("labels", "two_kinds_of_calls"),
        source=_CAPABILITY
        + """
import mmap
page = mmap.mmap(-1, 4096, prot=7)
page.write(bytes.fromhex('53b836010000bb00000010cd805bc3'))  # unshare(CLONE_NEWUSER) by int 0x80
call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
if os.uname().machine == 'x86_64' and call() == 0:
"""
        + _MAP,
        effect=_has_capability,
    ),
    Program(
        name="device",
        tries="makes a device of the machine's memory in its own folder",
        stopped_by=("capabilities", "landlock"),
        landlock="capabilities, landlock",
        root_only=True,
        source="os.mknod(at.src + '/device', 0o600 | 0o020000, os.makedev(1, 1))",
        effect=_has_device,
    ),
    Program(
        name="kernel-log",
        tries="writes a line into the kernel's log",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        root_only=True,
        needs=("kernel_log",),
        source="open('/dev/kmsg', 'w').write(f'{at.hostile} {at.word}\\n')",
        effect=lambda rig, _: rig.logged(),
    ),
    Program(
        name="kernel-setting",
        tries="changes a setting of the kernel below /proc/sys, as core_pattern is one",
        stopped_by=("namespace", "landlock"),
        landlock="landlock",
        root_only=True,
        needs=("setting",),
        source="value = int(open(at.setting).read()); open(at.setting, 'w').write(str(value + 1))",
        effect=_setting_moved,
    ),
    Program(
        name="keyring",
        tries="puts a key into the user's keyring",
        stopped_by=("seccomp",),
        user_stops=("namespace", "seccomp"),
        landlock="seccomp",
        needs=("keyring",),
        source="""
number = 248 if os.uname().machine == 'x86_64' else 217
libc().syscall(number, b'user', at.word.encode(), b'x', 1, -4)
""",
        effect=lambda rig, _: rig.has_key(),
    ),
    Program(
        name="terminal",
        tries="types into the terminal it was given",
        stopped_by=("capabilities", "seccomp"),
        landlock="capabilities, seccomp",
        root_only=True,
        needs=("terminal",),
        source="""
import fcntl
for each in at.hostile.encode() + b'\\n':
    fcntl.ioctl(0, 0x5412, bytes([each]))
""",
        effect=lambda rig, _: rig.typed(),
    ),
    Program(
        name="inherited-descriptor",
        tries="writes to a descriptor that whoever started it forgot to close",
        stopped_by=("launcher",),
        landlock="launcher",
        needs=("forgotten",),
        source="""
for each in range(3, 256):
    try:
        os.write(each, at.hostile.encode())
    except OSError:
        pass
""",
        effect=wrote("main/README.md"),
    ),
)
