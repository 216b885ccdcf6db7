"""Landlock: what a tree may reach, as rights and rules the launcher hands to the kernel.

A right that is handled is refused everywhere but below a rule that grants it. Rules only add: what lies below a granted
folder cannot be taken away again. So where a path below must stay closed, the folder itself gets no rule but each of
its other children does, as they are at the start; nothing new can then be made in the folder itself.

Where programs are named, nothing else is started: the right to execute is given to them alone. That finds a program
nobody spoke of. It takes no power from code that already runs, which can map a file it may read, or hand it to the
loader: what such code reaches is what reads, writes and the network leave it.
"""

import ctypes
import os
from collections.abc import Iterable, Iterator

from keisei.records.confinement import Confinement

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_NODE, _MAKE = 0b11 << 4, 1 << 6 | 1 << 11, 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
READ = _EXECUTE | _READ_FILE | _READ_DIR
"""Look, read, run."""
WRITE = READ | _WRITE_FILE | _REMOVE | _MAKE | _REFER | _TRUNCATE
"""All but making devices."""
DEVICE = _READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL
_LIST = _READ_DIR
_BIND, _CONNECT = 1, 2
_ABSTRACT_SOCKETS, _SIGNALS = 1, 2
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: _IOCTL}
_FIRST = WRITE & ~(_REFER | _TRUNCATE) | _MAKE_NODE
_NET_SINCE, _SCOPE_SINCE = 4, 6
NEWEST = 7
"""The newest ABI whose rights are known here; a newer kernel is asked for no more."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
"""What every tree may use."""
OWN = ("/tmp", "/dev/shm")  # noqa: S108 - inside a mount namespace they are the tree's own
"""What a tree may write in a mount namespace of its own; its terminals are its own there as well."""
_TERMINALS = ("/dev/pts",)

Rules = dict[int, list[str]]
Plan = dict[str, object]


def kernel_abi() -> int:
    """The Landlock ABI this kernel has; 0 where it has none, or where it is switched off."""
    answer = ctypes.CDLL(None).syscall(444, None, 0, 1)
    return max(0, int(answer))


def namespace_plan(abi: int, confinement: Confinement, system: Iterable[str]) -> Plan:
    """For a tree in a mount namespace: what it can see, it may read; the namespace has taken the rest away."""
    rules: Rules = {
        _LIST: ["/"],
        READ: [*system, "/proc", "/dev", *confinement.read],
        WRITE: [*OWN, *confinement.write],
        DEVICE: [*DEVICES, *_TERMINALS],
    }
    return _plan(abi, _executed(rules, confinement), net=0, port=None)


def shared_plan(abi: int, confinement: Confinement, system: Iterable[str]) -> Plan:
    """For a tree that sees the machine's own files: what is hidden or replaced cannot be read at all."""
    unseen = {*confinement.hide, *confinement.replace}
    closed = {*unseen, *confinement.protect}
    seen = [*confinement.read, *confinement.write]
    rules: Rules = {
        _LIST: [root for root in seen if _holes(root, unseen)],
        READ: ["/proc", *(path for root in (*system, *seen) for path in around(root, unseen))],
        WRITE: [path for root in confinement.write for path in around(root, closed)],
        DEVICE: list(DEVICES),
    }
    net = _BIND | _CONNECT if confinement.network == "none" and abi >= _NET_SINCE else 0
    return _plan(abi, _executed(rules, confinement), net=net, port=confinement.connect)


def _executed(rules: Rules, confinement: Confinement) -> Rules:
    """The rules with the right to execute where it belongs: everywhere, or at the programs that are named."""
    if confinement.execute is None:
        return rules
    return {**{rights & ~_EXECUTE: paths for rights, paths in rules.items()}, _EXECUTE: list(confinement.execute)}


def around(root: str, holes: Iterable[str]) -> Iterator[str]:
    """The root, or where holes lie below it, everything below that neither is one nor holds one. Links are left out."""
    if any(root == hole or root.startswith(f"{hole}/") for hole in holes):
        return
    inner = _holes(root, holes)
    if not inner:
        yield root
        return
    with os.scandir(root) as children:
        for child in sorted(children, key=lambda each: each.name):
            if not child.is_symlink():
                yield from around(child.path, inner)


def _holes(root: str, holes: Iterable[str]) -> list[str]:
    return [hole for hole in holes if hole.startswith(f"{root.rstrip('/')}/")]


def _plan(abi: int, rules: Rules, *, net: int, port: int | None) -> Plan:
    abi = min(abi, NEWEST)
    handled = _FIRST
    for since, right in _SINCE.items():
        handled |= right if abi >= since else 0
    return {
        "fs": handled,
        "net": net,
        "scope": _ABSTRACT_SOCKETS | _SIGNALS if abi >= _SCOPE_SINCE else 0,
        "size": 8 if abi < _NET_SINCE else 16 if abi < _SCOPE_SINCE else 24,
        "rules": [[rights & handled, list(dict.fromkeys(paths))] for rights, paths in rules.items()],
        "ports": [[_CONNECT, port]] if net and port is not None else [],
    }
