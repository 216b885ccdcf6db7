"""The client a hook starts: compiled once where there is a compiler, otherwise the same program in Python."""

import hashlib
import os
import secrets
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import which

from keisei.records.error import WorldFault

SOURCES = Path(__file__).parent / "client"
COMPILERS = ("cc", "gcc", "clang")
PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
"""Where a compiler is looked for; the environment is not asked."""
FLAGS = (("-std=c99", "-O2", "-static"), ("-std=c99", "-O2"))
"""A static program starts quicker; not every system can make one."""
COMPILE_S, TEST_S = 60, 10
REFUSED = 2
NOWHERE = "/nonexistent/keisei-gate"

Client = tuple[tuple[str, ...], str]


def client_argv(folder: Path, compilers: tuple[str, ...] = COMPILERS) -> Client:
    """The command that starts the client (the socket, the token and the harness come behind it), and its digest.

    The program is put into the folder, 0500, once; a later call finds it there. Every one is tried before it is given
    away: it must refuse where there is no service. Raises WorldFault where not even the Python client can be had.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for argv in _candidates(folder, compilers):
            if _refuses(argv):
                return argv, _digest(Path(argv[-1]))
    except OSError as error:
        raise WorldFault(f"the gate's client cannot be made in `{folder}`: {error.strerror or error}") from error
    raise WorldFault(f"no client of the gate works on this machine (tried in `{folder}`)")


def check(argv: tuple[str, ...], digest: str) -> None:
    """Raise WorldFault unless the client is the program it was: `argv` and `digest` as `client_argv` gave them."""
    path = Path(argv[-1])
    try:
        status = path.lstat()
        ours = stat.S_ISREG(status.st_mode) and status.st_uid in (0, os.geteuid()) and not status.st_mode & 0o022
        same = ours and _digest(path) == digest
    except OSError as error:
        raise WorldFault(f"the gate's client `{path}` cannot be read: {error.strerror or error}") from error
    if not same:
        raise WorldFault(f"the gate's client `{path}` was changed")


def interpreter() -> str:
    """The real interpreter; a version manager's stand-in would cost more than the client itself."""
    named = getattr(sys, "_base_executable", None) or sys.executable
    return str(Path(named).resolve())


def _candidates(folder: Path, compilers: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    source = SOURCES / "client.c"
    compiler = next((found for name in compilers if (found := which(name, path=PROGRAMS))), None)
    if compiler is not None:
        for flags in FLAGS:
            path = folder / f"gate-client-{_name(source, flags)}"
            if _ready(path, _told(path)) or _compiled(compiler, source, flags, path):
                yield (str(path),)
    script = SOURCES / "client.py"
    path = folder / f"gate-client-{_name(script, ())}.py"
    if not _ready(path, _digest(script)):
        _placed(script.read_bytes(), path)
    yield (interpreter(), "-I", "-S", str(path))


def _ready(path: Path, digest: str) -> bool:
    """Whether the program stands there that was put there, and nobody else can have written it."""
    with suppress(OSError):
        status = path.lstat()
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o222
        return ours and _digest(path) == digest
    return False


def _told(path: Path) -> str:
    """The digest that was written down when the program was compiled; empty where none was."""
    with suppress(OSError):
        return path.with_name(f"{path.name}.sha256").read_text(encoding="ascii", errors="replace")
    return ""


def _compiled(compiler: str, source: Path, flags: tuple[str, ...], path: Path) -> bool:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    command = [compiler, *flags, "-o", str(draft), str(source)]
    environment = {"PATH": PROGRAMS, "LC_ALL": "C", "TMPDIR": str(path.parent)}
    try:
        done = subprocess.run(  # noqa: S603 - our own source, a compiler of the system
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMPILE_S, check=False
        )
        if done.returncode != 0:
            return False
        draft.chmod(0o500)
        _placed(_digest(draft).encode(), path.with_name(f"{path.name}.sha256"))
        draft.replace(path)
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        draft.unlink(missing_ok=True)
    return True


def _placed(content: bytes, path: Path) -> None:
    """All of it or nothing."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        draft.write_bytes(content)
        draft.chmod(0o500)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _refuses(argv: tuple[str, ...]) -> bool:
    """The client's own test: with nobody to ask it must refuse in all three ways."""
    try:
        done = subprocess.run(  # noqa: S603 - the program just made
            [*argv, NOWHERE, "0" * 16, "claude"], input=b"{}", env={}, capture_output=True, timeout=TEST_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == REFUSED and done.stdout.startswith(b'{"decision":"block"') and bool(done.stderr.strip())


def _name(source: Path, flags: tuple[str, ...]) -> str:
    return hashlib.sha256(source.read_bytes() + "\0".join(flags).encode()).hexdigest()[:16]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
