"""One run of a part: its process, and what it says, line by line."""

import os
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, Literal, NamedTuple

from keisei.wiring import supervision_guard

Stream = Literal["out", "err"]
PIECE: Final = 65_536
LONGEST: Final = 65_536
"""Bytes of one line; a longer one is told in pieces."""
WORDS: Final = 8
"""Lines of stderr that are remembered as its last."""


class Part(NamedTuple):
    """One thing that is kept running."""

    name: str
    argv: tuple[str, ...]
    essential: bool = True
    """Without any of these the others are ended too."""
    finishes: bool = False
    """It is told to stop before the others and takes all the time it needs. When it leaves with exit code 0,
    somebody has told it to, and it is not started again."""
    env: Mapping[str, str] | None = None
    """Its environment; None for the supervisor's."""


class Child:
    """A process in a session of its own. It ends with its supervisor: one that finishes hears SIGTERM then."""

    def __init__(self, part: Part, hear: Callable[[Stream, str], None]) -> None:
        """Start it. `hear` is given its lines. Raises OSError where that does not work."""
        number = signal.SIGTERM if part.finishes else signal.SIGKILL
        guard = [sys.executable, "-I", "-S", "-X", "utf8", str(Path(supervision_guard.__file__).resolve())]
        self._popen = subprocess.Popen(  # noqa: S603 - our own commands
            [*guard, str(os.getpid()), str(int(number)), *part.argv],
            bufsize=0,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=part.env,
        )
        self.pid = self._popen.pid
        self._hear = hear
        self._rest: dict[Stream, bytes] = {"out": b"", "err": b""}
        self.words: deque[str] = deque(maxlen=WORDS)
        self.ended = os.pidfd_open(self.pid)
        """Readable once it has ended."""
        for pipe in self.pipes().values():
            os.set_blocking(pipe.fileno(), False)

    def pipes(self) -> dict[Stream, IO[bytes]]:
        """What it speaks through."""
        out, err = self._popen.stdout, self._popen.stderr
        return {} if out is None or err is None else {"out": out, "err": err}

    def read(self, stream: Stream) -> bool:
        """Hear what has come. False: it will say nothing more there."""
        return self._take(stream) != b""

    def _take(self, stream: Stream) -> bytes | None:
        """What has come, after its lines were told; None where nothing has, nothing at the end."""
        try:
            data = os.read(self.pipes()[stream].fileno(), PIECE)
        except BlockingIOError:
            return None
        *lines, rest = (self._rest[stream] + data).split(b"\n")
        if rest and (not data or len(rest) >= LONGEST):
            lines, rest = [*lines, rest], b""
        self._rest[stream] = rest
        for line in lines:
            self._say(stream, line)
        return data

    def _say(self, stream: Stream, line: bytes) -> None:
        text = line.decode("utf-8", "replace").rstrip("\r")
        if stream == "err" and text:
            self.words.append(text)
        self._hear(stream, text)

    def signal(self, number: int) -> None:
        """Send it a signal; one that has ended hears nothing."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.ended, number)

    def kill(self) -> None:
        """End it and everything in its process group. It is not buried yet, so the numbers are nobody else's."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def bury(self) -> int:
        """End what is left of it, hear its last words, give everything back. Its exit code."""
        self.kill()
        code = self._popen.wait()
        for stream, pipe in self.pipes().items():
            while self._take(stream):
                pass
            rest, self._rest[stream] = self._rest[stream], b""
            if rest:  # the other end is still held by somebody, who is not waited for
                self._say(stream, rest)
            pipe.close()
        os.close(self.ended)
        return code
