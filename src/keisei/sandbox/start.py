"""Starting: a Launch becomes a running child, or one clear sentence why it does not."""

import math
import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from keisei.records.error import WorldFault
from keisei.records.launch import Launch, TreeLevel
from keisei.sandbox.child import Child, Ending, close_pipes, spawn
from keisei.sandbox.fault import start_fault
from keisei.sandbox.kept import Kept


def start(launch: Launch, env: Mapping[str, str], *, stdin: bool, keeper: bool, lease_s: float | None = None) -> Child:
    """Start the program in a session of its own. Raises WorldFault with one sentence where that does not work.

    A lease begins now, and brings a keeper: nobody else can end the tree without its owner.
    """
    if not Path("/proc/self/stat").exists() or not hasattr(os, "pidfd_open"):
        raise WorldFault("programs can be run only where /proc and pidfd exist, that is on Linux")
    if not launch.argv:
        raise WorldFault("there is nothing to run: the command line is empty")
    kept = keeper or lease_s is not None
    try:
        return Kept(launch, env, lease_s, stdin=stdin) if kept else _Own(launch, env, stdin=stdin)
    except OSError as error:
        raise start_fault(launch, env, error) from error
    except ValueError as error:
        message = f"`{launch.argv[0]}` cannot be started: {error} in its command line, folder or environment"
        raise WorldFault(message.replace("\0", "\\0")) from error


class _Own:
    """A child of ours."""

    level: TreeLevel = "mark"
    adopter: int | None = None

    def __init__(self, launch: Launch, env: Mapping[str, str], *, stdin: bool) -> None:
        self.popen = spawn(launch.argv, env, launch.cwd, stdin=stdin)
        self.pid = self.popen.pid
        try:
            self.ended = os.pidfd_open(self.pid)
        except ProcessLookupError:  # SIGCHLD is ignored here, and it has ended and is gone
            self.ended = os.eventfd(1)
        except OSError:
            self.popen.kill()
            self.popen.wait()
            close_pipes(self.popen)
            raise

    def lease_left(self) -> float:
        return math.inf

    def renew(self, seconds: float) -> None:
        """It has no lease."""

    def ending(self) -> Ending:
        """Asked without burying: its number stays ours until the whole tree is gone."""
        try:
            told = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # somebody else buried it, or SIGCHLD is ignored: nobody knows
            return None, None
        if told is None:
            return None, None
        return (told.si_status, None) if told.si_code == os.CLD_EXITED else (None, told.si_status)

    def lost_lease(self) -> bool:
        return False

    def close(self) -> int:
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(timeout=1)
        os.close(self.ended)
        close_pipes(self.popen)
        return 0
