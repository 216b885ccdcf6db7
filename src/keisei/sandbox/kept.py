"""Kept children: a program whose parent is a keeper, seen from its owner's side. `keeper.py` is the other side."""

import errno
import math
import os
import select
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from keisei.records.launch import Launch, TreeLevel
from keisei.sandbox.child import Ending, close_pipes, spawn
from keisei.sandbox.tree import MARK

_KEEPER = Path(__file__).with_name("keeper.py")
_PATIENCE_S = 5.0
_START_S = 20.0
_LONGEST_S = 1e9
_ENDINGS = (b"code ", b"signal ")


class Kept:
    """A child of a keeper of ours."""

    level: TreeLevel = "keeper"

    def __init__(self, launch: Launch, env: Mapping[str, str], lease_s: float | None, *, stdin: bool) -> None:
        """Start the keeper and, by it, the program. Raises OSError, and ValueError for what no kernel takes."""
        spec = _spec(launch, env)
        self._until_ns = None if lease_s is None else _lease_end(lease_s)
        self._lock = threading.Lock()
        told, control = os.pipe()
        try:
            self.ended, status = os.pipe()
        except OSError:
            os.close(told)
            os.close(control)
            raise
        self._control: int | None = control
        self._said = b""
        try:
            lease = () if self._until_ns is None else (str(self._until_ns),)
            argv = (sys.executable, "-I", "-S", os.fspath(_KEEPER), str(told), str(status), *lease)
            # It carries the mark, so that whoever ends the tree of a dead owner finds it, and by it every orphan.
            self.popen = spawn(argv, {MARK: env[MARK]}, "/", (told, status), stdin=stdin)
        except BaseException:
            os.close(control)
            os.close(self.ended)
            raise
        finally:
            os.close(told)
            os.close(status)
        self.adopter: int | None = self.popen.pid
        try:
            self.pid = self._begin(spec)
        except BaseException:
            self.close()
            raise

    def _begin(self, spec: bytes) -> int:
        view = memoryview(spec)
        while view:
            view = view[os.write(self._control or 0, view) :]
        answer = self._line(b"started ", b"failed ", within_s=_START_S)
        if answer is None:
            raise OSError(errno.EIO, "its keeper did not answer")
        word, number, *_ = answer.split()
        if word == b"failed":
            raise OSError(int(number), os.strerror(int(number)))
        os.set_blocking(self._control or 0, False)
        return int(number)

    def lease_left(self) -> float:
        """By the clock the keeper goes by."""
        return math.inf if self._until_ns is None else (self._until_ns - _now_ns()) / 1e9

    def renew(self, seconds: float) -> None:
        """One small write. A keeper that is gone, or stopped, is noticed by who waits."""
        with self._lock:
            if self._control is not None and self._until_ns is not None and _now_ns() < self._until_ns:
                self._until_ns = _lease_end(seconds)
                with suppress(BlockingIOError, BrokenPipeError):
                    os.write(self._control, self._until_ns.to_bytes(8, "big"))

    def ending(self) -> Ending:
        """As the keeper tells it. Where the keeper was killed, nobody knows."""
        answer = self._line(*_ENDINGS, within_s=1)
        if answer is None:
            return None, None
        word, number = answer.split()
        return (int(number), None) if word == b"code" else (None, int(number))

    def lost_lease(self) -> bool:
        """One that had ended by itself when the lease did has lost nothing."""
        lines = self._said.split(b"\n")
        return b"lease" in lines and not any(line.startswith(_ENDINGS) for line in lines[: lines.index(b"lease")])

    def close(self) -> int:
        """Let go of CONTROL, upon which the keeper ends what is left. Kills a keeper that does not do it in time."""
        with self._lock:
            if self._control is not None:
                os.close(self._control)
            self._control = None
        answer = self._line(b"swept ", within_s=_PATIENCE_S)
        if answer is None:
            self.popen.kill()
        self.popen.wait()
        os.close(self.ended)
        close_pipes(self.popen)
        return int(answer.split()[1]) if answer else 0

    def _line(self, *words: bytes, within_s: float) -> bytes | None:
        """The first line the keeper said that begins with one of these; None if it ends, or does not say it in time."""
        until = time.monotonic() + within_s
        poll = select.poll()
        poll.register(self.ended, select.POLLIN)
        while True:
            lines = self._said.split(b"\n")[:-1]
            if found := next((line for line in lines if line.startswith(words)), None):
                return found
            left = until - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                return None
            more = os.read(self.ended, 1)  # never past the line: what follows must stay readable for who waits
            if not more:
                return None
            self._said += more


def _now_ns() -> int:
    """Since boot, sleep included: a clock that is set does not move it, and owner and keeper read the same."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def _lease_end(seconds: float) -> int:
    return _now_ns() + int(min(max(seconds, 0.0), _LONGEST_S) * 1e9)


def _spec(launch: Launch, env: Mapping[str, str]) -> bytes:
    pairs = [f"{name}={value}" for name, value in env.items()]
    strings = [os.fsencode(each) for each in (*launch.argv, launch.cwd, *pairs)]
    if any(b"\0" in each for each in strings):
        raise ValueError("embedded null byte")
    if any(not name or "=" in name for name in env):
        raise ValueError("illegal environment variable name")
    body = b"\0".join([str(len(launch.argv)).encode(), *strings])
    return len(body).to_bytes(4, "big") + body
