"""Runs a program and ends when nothing of it is left. Usage: keeper.py PROGRAM [ARGUMENT ...]

Whatever the program starts and leaves is adopted by this process, whichever session it has moved to, and is killed when
the program ends, when this process is told to end (SIGTERM), and when whoever started this process dies. Ends as the
program did. Linux only.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def children():
    """The pids whose parent is this process."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended
    return found


def sweep():
    """Kills children until there are none. A dead one's own children become ours, so nobody is left in the end."""
    while True:
        for pid in children():
            os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def main(argv):
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in ((PR_SET_CHILD_SUBREAPER, 1), (PR_SET_PDEATHSIG, signal.SIGTERM)):
        if libc.prctl(option, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        code = subprocess.Popen(argv).wait()
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sweep()
    if code < 0:
        if -code != signal.SIGKILL:
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
