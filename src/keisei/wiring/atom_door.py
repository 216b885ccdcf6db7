"""The door for atoms of one attempt: a socket inside the sandbox, and a process of ours outside that answers there.

The process is `keisei.mcp.attend`. It is told through a pipe what the attempt may do; nothing an agent says changes it.
"""

import os
import resource
import secrets
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from keisei.records.confinement import Confinement, Machine
from keisei.records.error import WorldFault
from keisei.sandbox.reach import interpreter, interpreter_reads
from keisei.settings import Settings, told
from keisei.wiring.sockets import runtime_folder
from keisei.wiring.surroundings import passed_on

STOP_S: Final = 5.0
SHIM: Final = Path(__file__).resolve().parent.parent / "mcp" / "shim.py"
BACKLOG: Final = 16
MEMORY: Final = 2 << 30
"""Bytes for the process that answers: who floods it ends it, and with it the attempt, and not the machine."""
VARIABLE: Final = "KEISEI_ATOMS_TOKEN"
"""The variable in which the shim finds the token; it imports nothing of ours, so the name stands there too."""


class DoorOrder(Struct, frozen=True, kw_only=True):
    """What the process outside is told of an attempt. Nothing of it is ever read from what an agent sends."""

    attempt_id: str
    """The attempt that asks."""
    token: str
    """What a caller says first; whoever says something else is refused, and that is recorded."""
    atoms: tuple[str, ...]
    """Every atom it may call, by id."""
    write: bool
    """Whether also those that change something."""
    profile: Literal["lean", "full"]
    """Which tools are offered."""
    gate_socket: str
    """Where each call is judged."""
    gate_token: str
    """The attempt's token there."""
    root: str | None
    """The project, absolute; None where there is none, and then nobody answers for keisei itself."""
    cwd: str
    """Where atoms work: the attempt's worktree, absolute."""
    room: str
    """A private folder for what atoms write for themselves, absolute; the agent does not see it."""
    confinement: Confinement
    """What the attempt itself is confined to."""
    machine: Machine
    """What this machine can hold."""
    secrets: tuple[str, ...] = ()
    """Values that must not be written down."""


class Door(NamedTuple):
    """What the harness is told."""

    command: tuple[str, ...]
    """The server it starts, whole."""
    env: Mapping[str, str]
    """The variables of that server: the token is in no command line."""
    socket: str
    token: str
    reads: tuple[str, ...]
    """What must be readable inside the sandbox, so that it starts."""


class Doorway:
    """A door that listens already. `answer` has somebody answer there; what came before waits."""

    def __init__(self, settings: Settings) -> None:
        """Listen. Raises OperatorError, WorldFault."""
        self._settings = settings
        token = secrets.token_urlsafe(24)
        path = runtime_folder(settings) / f"atoms-{secrets.token_hex(4)}.sock"
        self._path, self._pipe = path, -1
        self._process: subprocess.Popen[bytes] | None = None
        self._line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._line.bind(str(path))
            path.chmod(0o600)
            self._line.listen(BACKLOG)
        except OSError as error:
            self._line.close()
            message = f"the socket for atoms `{path}` cannot be made: {error.strerror}"
            raise WorldFault(message, retryable=True) from error
        program, _ = interpreter()
        real, reads = os.path.realpath(path), (str(SHIM), program, *interpreter_reads())
        self.door = Door((program, "-I", "-S", str(SHIM), real), {VARIABLE: token}, real, token, reads)

    def answer(self, order: DoorOrder, log: Path) -> None:
        """Start the process that answers. Raises WorldFault where it does not start."""
        read_end, self._pipe = os.pipe()
        argv = [sys.executable, "-I", "-X", "utf8", "-m", "keisei.mcp.attend", str(self._line.fileno()), str(read_end)]
        try:
            with log.open("ab") as said:
                self._process = subprocess.Popen(  # noqa: S603 - ourselves
                    argv,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                    pass_fds=(self._line.fileno(), read_end),
                    start_new_session=True,
                    cwd=order.cwd,
                    env=passed_on() | told(self._settings),
                )
            _bound(self._process.pid)
            self._line.close()  # where that process dies, whoever connects is told so
            if self._process.stdin is not None:
                with self._process.stdin as orders:
                    orders.write(msgspec.json.encode(order))
        except OSError as error:
            raise WorldFault(f"nobody answers for atoms: {error.strerror}", retryable=True) from error
        finally:
            os.close(read_end)

    def is_served(self) -> bool:
        """Whether the process that answers still runs; True before there is one."""
        return self._process is None or self._process.poll() is None

    def close(self) -> None:
        """End the process with everything it has started, and take the socket away. Never raises."""
        self._line.close()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
        if self._process is not None:
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        with suppress(OSError):
            self._path.unlink()


def _bound(pid: int) -> None:
    """Bound a process's memory; workers that it starts raise that to their own bound. Raises OSError."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > MEMORY:
        resource.prlimit(pid, resource.RLIMIT_DATA, (MEMORY, hard))


@contextmanager
def open_doorway(settings: Settings) -> Iterator[Doorway]:
    """A doorway, closed afterwards."""
    doorway = Doorway(settings)
    try:
        yield doorway
    finally:
        doorway.close()
