"""Faults: why a program could not be started, in one sentence, with what to do about it."""

import errno
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from keisei.records.error import WorldFault
from keisei.records.launch import Launch

_NO_ROOM = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE})


def start_fault(launch: Launch, env: Mapping[str, str], error: OSError) -> WorldFault:
    """The sentence for what the kernel, or a keeper, said when the program was to be started."""
    name = launch.argv[0]
    if error.errno in _NO_ROOM:
        return WorldFault(f"the machine has no room to start `{name}`: {error.strerror}", retryable=True)
    if error.errno == errno.ETXTBSY:
        return WorldFault(f"`{name}` is being written by somebody", "try again when it is complete", retryable=True)
    if error.errno in (errno.EPIPE, errno.ECONNRESET):
        return WorldFault(f"the keeper of `{name}` was ended before it could start it", retryable=True)
    if error.errno == errno.ETIME:
        return WorldFault(f"the lease for `{name}` ended before it could be started", retryable=True)
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
