"""Seccomp: which calls a confined tree may not make, as the filter the kernel runs. Pure: the launcher loads it.

What is refused fails with EPERM, so that a program can go on without it; `clone3`, whose flags a filter cannot see,
with ENOSYS, upon which the C library takes `clone`. A call made in another machine's way (32 bit) ends the process.
"""

import errno
import struct
from typing import Literal

Network = Literal["own", "open", "relay", "closed"]
"""One of its own; the machine's, open; the machine's, TCP only (Landlock says to which port); none at all."""

_ALLOW, _REFUSE, _UNKNOWN, _KILL = 0x7FFF0000, 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS, 0x80000000
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""The machines there is a filter for, as the kernel names them."""
_X32 = 0x40000000

_NAMESPACES = 0x7E020000
"""The flags of clone that make a namespace."""
_FAST_OPEN = 0x20000000
"""Connects while it sends, behind Landlock's back."""
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _TYPE, _TCP, _ROUTE = 1, 0xF, 6, 0

CALLS: dict[str, tuple[int, int]] = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_settime": (227, 112),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
"""What nobody gets, with its numbers on x86_64 and aarch64; -1 where a machine has no such call."""
NEIGHBOURS: dict[str, tuple[int, int]] = {
    "kcmp": (312, 272),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
}
"""What nobody gets who shares processes, memory and queues with others."""
SELF: dict[str, tuple[int, int, int]] = {
    "ioprio_set": (251, 30, 1),
    "prlimit64": (302, 261, 0),
    "sched_setattr": (314, 274, 0),
    "sched_setparam": (142, 118, 0),
    "sched_setscheduler": (144, 119, 0),
    "setpriority": (141, 140, 1),
}
"""What they may do to themselves only, by the argument that names a process: 0 is whoever calls."""
_CLONE, _CLONE3, _IOCTL, _LISTEN = (56, 220), (435, 435), (16, 29), (50, 201)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
_SENDING = (((44, 206), 3), ((46, 211), 2), ((307, 269), 3))
"""sendto, sendmsg, sendmmsg, and which argument is their flags."""

_Code = list[tuple[int, int, int, int]]


def program(machine: str, network: Network, *, namespace: bool) -> bytes | None:
    """The filter for a tree on this machine, in the kernel's form; None where there is none for such a machine."""
    if machine not in ARCHITECTURES:
        return None
    column = list(ARCHITECTURES).index(machine)
    code = _opening(machine)
    refused = CALLS if namespace else CALLS | NEIGHBOURS
    for numbers in refused.values():
        if numbers[column] >= 0:
            code += _when(numbers[column], [_answer(_REFUSE)])
    code += _when(_CLONE3[column], [_answer(_UNKNOWN)])
    code += _when(_CLONE[column], [_argument(0), *_refuse_bits(_NAMESPACES), _answer(_ALLOW)])
    code += _when(_IOCTL[column], [_argument(1), *_refuse(_TIOCSTI), *_refuse(_TIOCLINUX), _answer(_ALLOW)])
    code += _when(_SOCKET[column], _socket(network))
    code += _when(_SOCKETPAIR[column], [_argument(0), *_allow(_UNIX), _answer(_REFUSE)])
    if not namespace:
        for each in SELF.values():
            code += _when(each[column], [_argument(each[2]), *_allow(0), _answer(_REFUSE)])
    if network == "relay":
        # A socket that listens without being bound gets a port of the machine, and Landlock is not asked.
        code += _when(_LISTEN[column], [_answer(_REFUSE)])
        for numbers, flags in _SENDING:
            code += _when(numbers[column], [_argument(flags), *_refuse_bits(_FAST_OPEN), _answer(_ALLOW)])
    return b"".join(struct.pack("=HBBI", *each) for each in [*code, _answer(_ALLOW)])


def _opening(machine: str) -> _Code:
    code: _Code = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 1, 0, ARCHITECTURES[machine]), _answer(_KILL)]
    code.append((_LOAD, 0, 0, _NUMBER))
    if machine == "x86_64":
        code += [(_AT_LEAST, 0, 1, _X32), _answer(_REFUSE)]
    return code


def _socket(network: Network) -> _Code:
    """By family; where the network is the machine's and closed, only what Landlock can hold: plain TCP.

    A stream of another protocol (MPTCP, SCTP) is no TCP to Landlock, and would reach every port.
    """
    code: _Code = [_argument(0), *_allow(_UNIX)]
    if network in ("own", "open"):
        code += [*_allow(_INET), *_allow(_INET6)]
        return [*code, (_EQUAL, 1, 0, _NETLINK), _answer(_REFUSE), _argument(2), *_allow(_ROUTE), _answer(_REFUSE)]
    if network == "closed":
        return [*code, _answer(_REFUSE)]
    code += [(_EQUAL, 2, 0, _INET), (_EQUAL, 1, 0, _INET6), _answer(_REFUSE)]
    code += [_argument(1), (_AND, 0, 0, _TYPE), (_EQUAL, 1, 0, _STREAM), _answer(_REFUSE)]
    return [*code, _argument(2), *_allow(0), *_allow(_TCP), _answer(_REFUSE)]


def _when(number: int, block: _Code) -> _Code:
    """Run the block, which ends with an answer, for this call and no other."""
    return [(_EQUAL, 0, len(block), number), *block]


def _argument(index: int) -> tuple[int, int, int, int]:
    """The lower half, which is all the kernel looks at where these calls are concerned; both machines put it first."""
    return (_LOAD, 0, 0, _ARGUMENTS + 8 * index)


def _allow(value: int) -> _Code:
    return [(_EQUAL, 0, 1, value), _answer(_ALLOW)]


def _refuse(value: int) -> _Code:
    return [(_EQUAL, 0, 1, value), _answer(_REFUSE)]


def _refuse_bits(mask: int) -> _Code:
    return [(_ANY_BIT, 0, 1, mask), _answer(_REFUSE)]


def _answer(action: int) -> tuple[int, int, int, int]:
    return (_RETURN, 0, 0, action)
