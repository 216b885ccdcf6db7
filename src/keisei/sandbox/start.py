"""Starting: a Launch becomes a running child, or one clear sentence why it does not."""

import errno
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Protocol

from keisei.records.error import WorldFault
from keisei.records.launch import Launch, TreeLevel

_KEEPER = Path(__file__).with_name("keeper.py")
_KEEPER_PATIENCE_S = 5.0
_KEEPER_START_S = 20.0
_NO_ROOM = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})

Ending = tuple[int | None, int | None]
"""The exit code and the signal; both None where nobody can tell."""


class Child(Protocol):
    """A started program."""

    level: TreeLevel
    pid: int
    """The program itself."""
    adopter: int | None
    """The keeper, where there is one."""
    ended: int
    """A descriptor that can be read once the program has ended."""
    popen: "subprocess.Popen[bytes]"
    """Holds the pipes."""

    def ending(self) -> Ending:
        """How it ended."""

    def close(self) -> int:
        """Bury it and give everything back. Says how many processes had to be killed meanwhile."""


def start(launch: Launch, env: Mapping[str, str], *, stdin: bool, keeper: bool) -> Child:
    """Start the program in a session of its own. Raises WorldFault with one sentence where that does not work."""
    if not Path("/proc/self/stat").exists() or not hasattr(os, "pidfd_open"):
        raise WorldFault("programs can be run only where /proc and pidfd exist, that is on Linux")
    if not launch.argv:
        raise WorldFault("there is nothing to run: the command line is empty")
    try:
        return _Kept(launch, env, stdin=stdin) if keeper else _Own(launch, env, stdin=stdin)
    except OSError as error:
        raise _fault(launch, env, error) from error
    except ValueError as error:
        message = f"`{launch.argv[0]}` cannot be started: {error} in its command line, folder or environment"
        raise WorldFault(message.replace("\0", "\\0")) from error


def _popen(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str, pass_fds: tuple[int, ...] = (), *, stdin: bool
) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - running what it is handed is this room's work
        argv,
        bufsize=0,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd,
        env=env,
        start_new_session=True,
        pass_fds=pass_fds,
    )


class _Own:
    """A child of ours."""

    level: TreeLevel = "mark"
    adopter: int | None = None

    def __init__(self, launch: Launch, env: Mapping[str, str], *, stdin: bool) -> None:
        self.popen = _popen(launch.argv, env, launch.cwd, stdin=stdin)
        self.pid = self.popen.pid
        try:
            self.ended = os.pidfd_open(self.pid)
        except ProcessLookupError:  # SIGCHLD is ignored here, and it has ended and is gone
            self.ended = os.eventfd(1)
        except OSError:
            self.popen.kill()
            self.popen.wait()
            _close_pipes(self.popen)
            raise

    def ending(self) -> Ending:
        """Asked without burying: its number stays ours until the whole tree is gone."""
        try:
            told = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:  # somebody else buried it, or SIGCHLD is ignored: nobody knows
            return None, None
        if told is None:
            return None, None
        return (told.si_status, None) if told.si_code == os.CLD_EXITED else (None, told.si_status)

    def close(self) -> int:
        with suppress(subprocess.TimeoutExpired):
            self.popen.wait(timeout=1)
        os.close(self.ended)
        _close_pipes(self.popen)
        return 0


class _Kept:
    """A child of a keeper of ours."""

    level: TreeLevel = "keeper"

    def __init__(self, launch: Launch, env: Mapping[str, str], *, stdin: bool) -> None:
        spec = _spec(launch, env)
        told, control = os.pipe()
        self.ended, status = os.pipe()
        self._control: int | None = control
        self._said = b""
        try:
            argv = (sys.executable, "-I", "-S", os.fspath(_KEEPER), str(told), str(status))
            self.popen = _popen(argv, {}, "/", (told, status), stdin=stdin)
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
        answer = self._line(b"started ", b"failed ", within_s=_KEEPER_START_S)
        if answer is None:
            raise OSError(errno.EIO, "its keeper did not answer")
        word, number, *_ = answer.split()
        if word == b"failed":
            raise OSError(int(number), os.strerror(int(number)))
        return int(number)

    def ending(self) -> Ending:
        """As the keeper tells it. Where the keeper was killed, nobody knows."""
        answer = self._line(b"code ", b"signal ", within_s=1)
        if answer is None:
            return None, None
        word, number = answer.split()
        return (int(number), None) if word == b"code" else (None, int(number))

    def close(self) -> int:
        if self._control is not None:
            os.close(self._control)
            self._control = None
        answer = self._line(b"swept ", within_s=_KEEPER_PATIENCE_S)
        if answer is None:
            self.popen.kill()
        self.popen.wait()
        os.close(self.ended)
        _close_pipes(self.popen)
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


def _spec(launch: Launch, env: Mapping[str, str]) -> bytes:
    pairs = [f"{name}={value}" for name, value in env.items()]
    strings = [os.fsencode(each) for each in (*launch.argv, launch.cwd, *pairs)]
    if any(b"\0" in each for each in strings):
        raise ValueError("embedded null byte")
    if any(not name or "=" in name for name in env):
        raise ValueError("illegal environment variable name")
    body = b"\0".join([str(len(launch.argv)).encode(), *strings])
    return len(body).to_bytes(4, "big") + body


def _close_pipes(popen: "subprocess.Popen[bytes]") -> None:
    pipes: tuple[IO[bytes] | None, ...] = (popen.stdin, popen.stdout, popen.stderr)
    for pipe in pipes:
        if pipe is not None:
            pipe.close()


def _fault(launch: Launch, env: Mapping[str, str], error: OSError) -> WorldFault:
    name = launch.argv[0]
    if error.errno in _NO_ROOM:
        return WorldFault(f"the machine has no room to start `{name}`: {error.strerror}", retryable=True)
    if error.errno == errno.ETXTBSY:
        return WorldFault(f"`{name}` is being written by somebody", "try again when it is complete", retryable=True)
    if error.errno == errno.E2BIG:
        return WorldFault(
            f"the command line and environment of `{name}` are too long for the kernel",
            "hand large values over in a file or on standard input",
        )
    return _folder_fault(launch) or _program_fault(launch, env, error)


def _folder_fault(launch: Launch) -> WorldFault | None:
    folder = Path(launch.cwd)
    if folder.is_dir():
        if os.access(folder, os.X_OK):
            return None
        return WorldFault(f"the folder `{launch.cwd}` to run `{launch.argv[0]}` in may not be entered")
    state = "is not a folder" if os.path.lexists(folder) else "does not exist"
    return WorldFault(f"the folder `{launch.cwd}` to run `{launch.argv[0]}` in {state}")


def _program_fault(launch: Launch, env: Mapping[str, str], error: OSError) -> WorldFault:
    name = launch.argv[0]
    path = _found(name, launch.cwd, env)
    if path is None:
        state = "does not exist" if "/" in name else "is not on the PATH"
        return WorldFault(f"the program `{name}` {state}")
    if path.is_dir():
        return WorldFault(f"`{name}` is a folder and not a program")
    if error.errno == errno.ENOENT and (interpreter := _interpreter(path)):
        hint = "the file has Windows line ends" if interpreter.endswith("\r") else "mend the first line of the file"
        shown = interpreter.replace("\r", "\\r")
        return WorldFault(f"`{name}` asks for the interpreter `{shown}`, which does not exist", hint)
    if error.errno == errno.EACCES:
        if os.access(path, os.X_OK) and (interpreter := _interpreter(path)):
            return WorldFault(f"`{name}` asks for the interpreter `{interpreter}`, which may not be executed")
        return WorldFault(f"`{name}` may not be executed", f"chmod +x {path}")
    if error.errno == errno.ENOEXEC:
        hint = "begin a script with a line such as `#!/bin/sh`"
        return WorldFault(f"`{name}` is neither a program of this machine nor a script with a `#!` line", hint)
    return WorldFault(f"`{name}` could not be started: {error.strerror or error}")


def _found(name: str, cwd: str, env: Mapping[str, str]) -> Path | None:
    """The file a program's name stands for, executable or not."""
    folders = [""] if "/" in name else os.get_exec_path(env)
    return next((path for folder in folders if os.path.lexists(path := Path(cwd, folder, name))), None)


def _interpreter(path: Path) -> str | None:
    """What a script's first line asks for; None where it has no such line."""
    with suppress(OSError), path.open("rb") as script:
        line = script.readline(256)
        if line.startswith(b"#!"):
            words = line[2:].removesuffix(b"\n").strip(b" \t").split(maxsplit=1)
            whole = line[2:].removesuffix(b"\n").strip(b" \t")
            return os.fsdecode(whole if whole.endswith(b"\r") or not words else words[0])
    return None
