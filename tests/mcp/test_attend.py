"""Whoever calls from inside an attempt: taken one by one, asked for the token, and never able to end the others."""

import asyncio
import socket
from contextlib import suppress
from types import SimpleNamespace

import pytest

from keisei.mcp import attend
from keisei.mcp.attend import Attendant, opened
from keisei.records.confinement import Confinement, Machine
from keisei.settings import read_settings
from keisei.wiring.atom_door import DoorOrder

TOKEN = "t" * 32


class Served:
    """A server that notes whom it serves, and breaks where it is told so."""

    def __init__(self):
        self.heads = []

    async def serve(self, read_fd, _write_fd, *, head):
        self.heads.append(head)
        if head == b"break":
            raise ExceptionGroup("odd", [ValueError("odd\x1b")])
        with socket.socket(fileno=socket.dup(read_fd)) as line:
            line.settimeout(0)
            while await asyncio.get_running_loop().sock_recv(line, 64):
                pass


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
        listener.listen(16)
        listener.settimeout(0)
        yield listener


def called(said=b""):
    line = socket.socket(socket.AF_UNIX)
    line.settimeout(10)
    line.connect("s")
    line.sendall(said)
    return line


def attended(place, talk):
    """Have somebody attend while `talk` is held in a thread; the server, and the rows that were written."""
    server, rows = Served(), []
    desk = SimpleNamespace(actor="attempt:1", refuse_token=lambda reason, counted: rows.append((reason, counted)))

    async def run():
        taking = asyncio.ensure_future(Attendant(server, desk, TOKEN).callers(place))
        try:
            await asyncio.to_thread(talk)
        finally:
            taking.cancel()
            with suppress(asyncio.CancelledError):
                await taking

    asyncio.run(run())
    return server, rows


@pytest.mark.parametrize("said", [b"", b"\n", b"x" * 32 + b"\n", b"x" * 300, TOKEN.encode()[:-1] + b"\n"])
def test_who_does_not_say_the_token_is_refused_and_that_is_written_down(place, said):
    def talk():
        with called(said) as line:
            line.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                assert line.recv(1) == b""

    server, rows = attended(place, talk)

    assert server.heads == []
    assert rows == [("the token is missing or wrong", 0)]


def test_a_caller_that_breaks_something_ends_nobody_else(place, capsys):
    def talk():
        with called(f"{TOKEN}\nfirst".encode()) as first:
            with called(f"{TOKEN}\nbreak".encode()) as other:
                assert other.recv(1) == b""
            first.shutdown(socket.SHUT_WR)
            assert first.recv(1) == b""

    server, _ = attended(place, talk)

    assert server.heads == [b"first", b"break"]
    assert "served no more" in (told := capsys.readouterr().err)
    assert "\x1b" not in told


def test_who_finds_no_place_waits_outside(place, monkeypatch):
    monkeypatch.setattr(attend, "CALLERS", 2)
    taken = []
    accepted = attend._accepted

    async def counted(*given):
        taken.append(await accepted(*given))
        return taken[-1]

    monkeypatch.setattr(attend, "_accepted", counted)

    def talk():
        lines = [called(f"{TOKEN}\n".encode()) for _ in range(6)]
        for number, line in enumerate(lines):
            assert len(taken) <= number + 2
            line.shutdown(socket.SHUT_WR)
            assert line.recv(1) == b""
            line.close()

    server, _ = attended(place, talk)

    assert len(server.heads) == 6


def test_a_system_without_descriptors_is_waited_for(place, monkeypatch):
    monkeypatch.setattr(attend, "AGAIN_S", 0.01)
    tries = iter([OSError(24, "Too many open files"), None])

    class Loop:
        async def sock_accept(self, listener):
            if (error := next(tries)) is not None:
                raise error
            return listener, ""

    assert asyncio.run(attend._accepted(Loop(), place)) is place


def test_atoms_that_ask_keisei_itself_are_told_which_attempt_asks_whatever_the_settings_say(tmp_path, monkeypatch):
    monkeypatch.setattr(
        attend, "Desk", lambda runtime, _, **given: SimpleNamespace(**given, runtime=runtime, close=list)
    )
    place = str(tmp_path)
    order = DoorOrder(
        attempt_id="a1",
        token=TOKEN,
        atoms=("kei-agent::list",),
        write=False,
        profile="lean",
        gate_socket=f"{place}/gate.sock",
        gate_token=TOKEN,
        root=place,
        cwd=place,
        room=place,
        confinement=Confinement(),
        machine=Machine(bwrap=None, landlock=0, seccomp=False),
    )

    with opened(read_settings({"HOME": place}), order) as desk:
        package = desk.runtime.shelf.package("kei-agent")
        assert desk.tools.environment(package, None)["KEISEI_ATTEMPT_ID"] == "a1"
        assert desk.tools.judge is not None
