"""Keeper: the parent of one tree, which adopts every orphan of it and ends it when its owner is gone.

Run as `python -I -S keeper.py CONTROL STATUS [UNTIL]`, two descriptors and the end of a lease; imports nothing of ours.
CONTROL brings the program (its length in 4 bytes, then strings with NUL between them: how many arguments, the
arguments, the folder, the environment) and then stays open; when it closes, for whatever reason, everything below the
keeper is killed. The same happens when the lease ends. CONTROL renews it: each 8 bytes are its new end. It is told in
nanoseconds since boot, so that neither a clock that is set nor an owner that is stopped moves it. STATUS takes one line
a step: `started PID`, `failed ERRNO WHERE`, `lease` when it has ended, `code N` or `signal N`, `swept COUNT`.
"""

# Behind `ctypes` and `signal`, whose faces for people cost as much again as the start of the interpreter.
import _ctypes
import _signal as signal  # type: ignore[import-not-found]
import errno
import os
import select
import sys
import time

_SET_CHILD_SUBREAPER = 36
_LOOK_MS = 500
_NEVER = 2**63 - 1
_PAUSE_S = (0.0005, 0.02)


def main() -> None:
    """Start the program, report its end, and leave nothing behind."""
    control, status = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(control, False)  # noqa: FBT003 - it takes no keyword
    os.set_inheritable(status, False)  # noqa: FBT003 - as above
    until = int(sys.argv[3]) if sys.argv[3:] else _NEVER
    where = "keeper"
    try:
        _adopt()
        size = int.from_bytes(_exactly(control, 4), "big")
        count, *strings = _exactly(control, size).split(b"\0")
        argv, cwd, env = strings[: int(count)], strings[int(count)], strings[int(count) + 1 :]
        where = "folder"
        os.chdir(cwd)
        where = "program"
        if _now() >= until:
            raise OSError(errno.ETIME, "the lease has ended")  # noqa: TRY301 - it is told like any other
        program = _spawn(argv, dict(each.split(b"=", 1) for each in env if each))
    except OSError as error:
        _tell(status, f"failed {error.errno or errno.EIO} {where}")
        return
    _let_go()
    _tell(status, f"started {program}")
    told = _watch(program, control, status, until)
    killed, ending = _sweep(program)
    if not told:
        _tell(status, f"code {ending}" if ending >= 0 else f"signal {-ending}")
    _tell(status, f"swept {killed}")


def _adopt() -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where the owner ignores it, nobody could be buried here
    ourselves = _ctypes.dlopen(None, 0)  # type: ignore[arg-type] # this program, and the C library in it
    prctl = _ctypes.dlsym(ourselves, "prctl")
    if _ctypes.call_function(prctl, (_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) != 0:
        raise OSError(errno.EINVAL, "subreaper")
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


def _watch(program: int, control: int, status: int, until: int) -> bool:
    """Bury orphans until the owner closes CONTROL or the lease ends. Whether the program ended before, which is told.

    It stays unburied: its number is ours.
    """
    poll = select.poll()
    poll.register(control, select.POLLIN)
    handle = os.pidfd_open(program)
    poll.register(handle, select.POLLIN)
    told = False
    while True:
        ready = [each for each, _ in poll.poll(min(_LOOK_MS, max(0, until - _now()) // 1_000_000 + 1))]
        if handle in ready:
            _tell(status, _end(program))
            poll.unregister(handle)
            told = True
        if control in ready:
            renewals = os.read(control, 65_536)
            if not renewals:
                return told
            until = int.from_bytes(renewals[-8:], "big")
        if _now() >= until:
            _tell(status, "lease")
            return told
        _bury(program)


def _now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


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


def _sweep(program: int) -> tuple[int, int]:
    """Kill every child; orphans of the killed become children, so this ends when there is no child any more.

    Says how many, and how the program ended: its exit code, or the signal as a negative number.
    """
    _bury(program)  # what is dead already was killed by somebody else, and is not counted
    killed = ending = 0
    pause, longest = _PAUSE_S
    while True:
        for child in _children():
            _kill(child)
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] == program:
                    ending = os.waitstatus_to_exitcode(ended[1])
                else:
                    killed += os.WTERMSIG(ended[1]) == signal.SIGKILL
        except ChildProcessError:
            return killed, ending
        time.sleep(pause)
        pause = min(pause * 2, longest)


def _kill(child: int) -> None:
    """Kill an unburied child of ours and its group: their numbers can be nobody else's.

    The group, because a child that has ended may have left another in its place; no fork slips through a signal to a
    group. One that may not be signalled must not save the others.
    """
    try:
        group = os.getpgid(child)
        if group != os.getpgrp():
            os.killpg(group, signal.SIGKILL)
        os.kill(child, signal.SIGKILL)
    except PermissionError:
        return


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
    os._exit(0)  # nothing is left to tidy, and somebody waits
