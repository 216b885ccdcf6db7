"""Attend: the process that answers for the atoms of one attempt. `python -m keisei.mcp.attend LISTENER PARENT`.

It stands outside of the sandbox. What the attempt may do it is told on standard input by the runner, which holds the
other end of PARENT: when that is closed, however the runner ends, this process ends with everything it has started.
A caller says the attempt's token first, and then speaks the protocol.
"""

import asyncio
import secrets
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from keisei.engine.ports import Workers
from keisei.mcp.desk import Desk, Grant
from keisei.mcp.sdk import build_late, skip_fronts
from keisei.mcp.token import Refusals
from keisei.records.atom_spec import AtomSpec
from keisei.records.confinement import Confinement
from keisei.records.error import KeiseiError
from keisei.records.id import AttemptId
from keisei.records.problem import printable
from keisei.settings import Settings, read_settings
from keisei.wiring.atom_crew import ConfinedCrew
from keisei.wiring.atom_door import DoorOrder
from keisei.wiring.atom_guard import GuardedWorkers, gate_judge
from keisei.wiring.atom_profile import ProfilePlace, narrowed, private_environment
from keisei.wiring.atom_runtime import AtomRuntime, open_runtime
from keisei.wiring.package_database import PackageDatabases

if TYPE_CHECKING:
    from keisei.mcp.server import AtomServer

TOKEN: Final = 256
"""Bytes in which a caller must have said who it is."""
HELLO_S: Final = 10.0
REASON: Final = "the token is missing or wrong"
PACKAGES: Final = "packages"
THREADS: Final = 16
"""Calls of one attempt at once: each pipe opens a store."""
CALLERS: Final = 32
"""Connections at once; more wait."""
AGAIN_S: Final = 0.1
LINE: Final = 500
"""Characters of a line of trouble."""


def main() -> int:
    """Answer until the runner lets go. What cannot be done is one line on stderr, which becomes the attempt's log."""
    skip_fronts()
    build_late()
    try:
        return _answer()
    except KeiseiError as error:
        sys.stderr.write(f"keisei: nobody answers for atoms: {error.message}\n")
        return 1


def _answer() -> int:
    from keisei.mcp.server import AtomServer  # noqa: PLC0415 - after what makes it quick
    from keisei.mcp.stdio import end_soon, say_in_lines  # noqa: PLC0415 - as above

    say_in_lines()
    listener, parent = int(sys.argv[1]), int(sys.argv[2])
    order = msgspec.json.decode(sys.stdin.buffer.read(), type=DoorOrder)
    with opened(read_settings(), order) as desk:
        server = AtomServer(desk, threads=THREADS)
        try:
            asyncio.run(_served(Attendant(server, desk, order.token), socket.socket(fileno=listener), parent))
        finally:
            end_soon()
            server.close()
    return 0


@contextmanager
def opened(settings: Settings, order: DoorOrder) -> Iterator[Desk]:
    """The desk of an attempt, with workers that are judged and confined; everything ends with it.

    Whatever `settings` say, atoms that ask keisei itself are told that this attempt asks.
    """
    settings = settings._replace(attempt_id=order.attempt_id)
    actor = f"attempt:{order.attempt_id}"
    with ExitStack() as stack:
        runtime = stack.enter_context(open_runtime(settings, actor=actor, start=Path(order.root or "/")))
        confined = ConfinedCrew(order.machine, _confinement(runtime, settings, order), runtime.program, runtime.most)
        stack.callback(confined.close)
        private = private_environment(order.room)
        workers: Workers = GuardedWorkers(confined, runtime.crew, root=order.root, private=private)
        grant = Grant(patterns=order.atoms, write=order.atoms if order.write else (), profile=order.profile)
        tools = runtime.tools._replace(
            cwd=order.cwd,
            secrets=(*runtime.tools.secrets, *order.secrets),
            judge=gate_judge(order.gate_socket, order.gate_token),
            databases=PackageDatabases(settings, runtime.shelf.package, is_held=True),
        )
        desk = Desk(runtime, grant, workers=workers, actor=actor, attempt_id=AttemptId(order.attempt_id), tools=tools)
        stack.callback(desk.close)
        yield desk


def _confinement(runtime: AtomRuntime, settings: Settings, order: DoorOrder) -> Callable[[AtomSpec], Confinement]:
    """What each atom is confined to: the attempt's own confinement, narrowed to what its page declares."""

    def confinement(spec: AtomSpec) -> Confinement:
        state = None if settings.state_home is None else settings.state_home / PACKAGES
        place = ProfilePlace(
            working=order.cwd,
            private=order.room,
            find_program=runtime.program,
            database=runtime.tools.databases.database(spec.package),
            packages=None if state is None else str(state),
        )
        return narrowed(order.confinement, spec, place)

    return confinement


class Attendant:
    """Whoever looks at callers before they are served."""

    def __init__(self, server: "AtomServer", desk: Desk, token: str) -> None:
        """Nobody was there yet."""
        self._server, self._token = server, token.encode()
        self._refusals = Refusals(desk.refuse_token, time.monotonic)
        self._places = asyncio.Semaphore(CALLERS)

    async def callers(self, listener: socket.socket) -> None:
        """Take callers until it is canceled. Who finds no place waits outside, where it costs us nothing."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as served:
            while True:
                await self._places.acquire()
                line = await _accepted(loop, listener)
                served.create_task(self.attend(line)).add_done_callback(lambda _: self._places.release())

    async def attend(self, line: socket.socket) -> None:
        """Serve one caller until it hangs up, if it says the token. Never raises but to be canceled."""
        with line:
            try:
                await self._attend(line)
            except OSError:  # it hung up
                return
            except Exception as error:  # noqa: BLE001 - whatever one caller does, the others are served
                sys.stderr.write(f"keisei: a caller is served no more: {printable(repr(error)[:LINE])}\n")

    async def _attend(self, line: socket.socket) -> None:
        said, rest = await _first_line(line)
        if not secrets.compare_digest(said, self._token):
            await asyncio.to_thread(self._refusals.add, REASON)
            return
        line.setblocking(True)  # noqa: FBT003 - it takes no keyword; what is read and written is asked for first
        await self._server.serve(line.fileno(), line.fileno(), head=rest)


async def _served(attendant: Attendant, listener: socket.socket, parent: int) -> None:
    """Take callers until the runner lets go, or somebody asks us to end."""
    from keisei.mcp.stdio import hear  # noqa: PLC0415 - as above

    listener.setblocking(False)  # noqa: FBT003 - it takes no keyword
    loop, accepting = asyncio.get_running_loop(), asyncio.ensure_future(attendant.callers(listener))
    loop.add_reader(parent, accepting.cancel)
    hear(accepting.cancel)
    with suppress(asyncio.CancelledError):
        await accepting


async def _accepted(loop: asyncio.AbstractEventLoop, listener: socket.socket) -> socket.socket:
    """The next caller. Where the system has nothing left for it, it waits."""
    while True:
        try:
            return (await loop.sock_accept(listener))[0]
        except OSError:
            await asyncio.sleep(AGAIN_S)


async def _first_line(line: socket.socket) -> tuple[bytes, bytes]:
    """What a caller says first, and what came behind it. Somebody who says too much or too little has said nothing."""
    loop, said = asyncio.get_running_loop(), b""
    line.setblocking(False)  # noqa: FBT003 - it takes no keyword
    with suppress(TimeoutError):
        async with asyncio.timeout(HELLO_S):
            while b"\n" not in said and len(said) <= TOKEN:
                piece = await loop.sock_recv(line, TOKEN)
                if not piece:
                    break
                said += piece
    first, end, rest = said.partition(b"\n")
    return (first, rest) if end else (b"", b"")


if __name__ == "__main__":
    sys.exit(main())
