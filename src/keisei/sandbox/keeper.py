"""Keeper: the parent of one tree, which adopts every orphan of it and ends it when its owner is gone.

Run as `python -I -S keeper.py CONTROL STATUS`, two descriptors; imports nothing of ours. CONTROL brings the program
(its length in 4 bytes, then strings with NUL between them: how many arguments, the arguments, the folder, the
environment) and then stays open; when it closes, for whatever reason, everything below the keeper is killed. STATUS
takes one line a step: `started PID`, `failed ERRNO WHERE`, `code N` or `signal N`, `swept COUNT`.
"""

import ctypes
import errno
import os
import select
import signal
import sys
import time

_SET_CHILD_SUBREAPER = 36
_LOOK_MS = 500


def main() -> None:
    """Start the program, report its end, and leave nothing behind."""
    control, status = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(control, False)  # noqa: FBT003 - it takes no keyword
    os.set_inheritable(status, False)  # noqa: FBT003 - as above
    where = "keeper"
    try:
        _adopt()
        size = int.from_bytes(_exactly(control, 4), "big")
        count, *strings = _exactly(control, size).split(b"\0")
        argv, cwd, env = strings[: int(count)], strings[int(count)], strings[int(count) + 1 :]
        where = "folder"
        os.chdir(cwd)
        where = "program"
        program = _spawn(argv, dict(each.split(b"=", 1) for each in env if each))
    except OSError as error:
        _tell(status, f"failed {error.errno or errno.EIO} {where}")
        return
    _let_go()
    _tell(status, f"started {program}")
    _watch(program, control, status)
    _tell(status, f"swept {_sweep(program)}")


def _adopt() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "subreaper")
    _children()  # a kernel that does not list them cannot be kept by this


def _spawn(argv: list[bytes], env: dict[bytes, bytes]) -> int:
    os.environb.pop(b"PATH", None)
    if b"PATH" in env:
        os.environb[b"PATH"] = env[b"PATH"]  # where posix_spawnp looks
    return os.posix_spawnp(argv[0], argv, env, setsid=True, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ))


def _let_go() -> None:
    """Hold neither the program's streams nor its folder."""
    os.chdir("/")
    null = os.open("/dev/null", os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _watch(program: int, control: int, status: int) -> None:
    """Bury orphans until the owner closes CONTROL; say how the program ended. It stays unburied: its number is ours."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    handle = os.pidfd_open(program)
    poll.register(handle, select.POLLIN)
    while True:
        ready = [each for each, _ in poll.poll(_LOOK_MS)]
        if handle in ready:
            _tell(status, _end(program))
            poll.unregister(handle)
        if control in ready:
            return
        _bury(program)


def _end(program: int) -> str:
    told = os.waitid(os.P_PID, program, os.WEXITED | os.WNOWAIT)
    if told is not None and told.si_code == os.CLD_EXITED:
        return f"code {told.si_status}"
    return f"signal {told.si_status if told else 0}"


def _bury(program: int) -> None:
    for child in _children():
        if child != program:
            try:
                os.waitpid(child, os.WNOHANG)
            except ChildProcessError:
                continue


def _sweep(program: int) -> int:
    """Kill every child; orphans of the killed become children, so this ends when there is no child any more."""
    _bury(program)  # what is dead already was killed by somebody else, and is not counted
    killed = 0
    while True:
        for child in _children():
            # An unburied child of ours: its number and its group's can be nobody else's. The group, because a child
            # that has ended may have left another in its place; no fork slips through a signal to a group.
            group = os.getpgid(child)
            if group != os.getpgrp():
                os.killpg(group, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                killed += ended[0] != program and os.WTERMSIG(ended[1]) == signal.SIGKILL
        except ChildProcessError:
            return killed
        time.sleep(0.0005)


def _children() -> list[int]:
    with open(f"/proc/self/task/{os.getpid()}/children", "rb") as listing:  # noqa: PTH123 - pathlib costs 5 ms here
        return [int(pid) for pid in listing.read().split()]


def _exactly(source: int, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = os.read(source, size - len(data))
        if not more:
            raise OSError(errno.EPIPE, "the owner is gone")
        data += more
    return data


def _tell(status: int, line: str) -> None:
    try:
        os.write(status, f"{line}\n".encode())
    except OSError:
        return  # the owner is gone; the tree is ended all the same


if __name__ == "__main__":
    main()
