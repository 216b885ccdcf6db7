"""The forwarder: a port inside leads to a socket outside; bytes, ends and slow readers are kept apart."""

import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from keisei.sandbox import forward
from tests.sandbox import relaying
from tests.sandbox.program import NEVER_S
from tests.sandbox.relaying import rest

BIG = os.urandom(1 << 20) * 8


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def argv(port: object, path: object, ready: object) -> list[str]:
    return [sys.executable, "-I", "-S", forward.__file__, str(port), str(path), str(ready)]


@contextmanager
def forwarding(path: Path, serve):
    """A port that leads to `serve`, which is given every connection to the socket; and the forwarder."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(256)
    port, (ready, told) = free_port(), os.pipe()

    def accept():
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            line.settimeout(NEVER_S)
            threads.append(threading.Thread(target=serve, args=(line,), daemon=True))
            threads[-1].start()

    threads = [threading.Thread(target=accept, daemon=True)]
    threads[0].start()
    process = subprocess.Popen(argv(port, path, told), pass_fds=[told], stderr=subprocess.PIPE)
    os.close(told)
    try:
        assert os.read(ready, 9) == b"1"
        assert os.read(ready, 9) == b""
        yield port, process
    finally:
        os.close(ready)
        process.kill()
        process.communicate()
        listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join(NEVER_S)
        listener.close()


def dialled(port: int) -> socket.socket:
    line = socket.create_connection(("127.0.0.1", port))
    line.settimeout(NEVER_S)
    return line


def echo(line: socket.socket) -> None:
    with line:
        while data := line.recv(65_536):
            line.sendall(data)


def sent(line: socket.socket, data: bytes) -> threading.Thread:
    """Sends all of it and ends that half, beside whoever reads."""

    def send():
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_bytes_pass_both_ways_and_halves_end_by_themselves(tmp_path):
    with forwarding(tmp_path / "s", echo) as (port, _), dialled(port) as line:
        sender = sent(line, BIG)
        assert rest(line) == BIG
        sender.join()


def test_the_half_of_the_server_may_end_first(tmp_path):
    heard = []
    done = threading.Event()

    def serve(line):
        with line:
            line.sendall(b"bye")
            line.shutdown(socket.SHUT_WR)
            heard.append(relaying.exactly(line, len(BIG)))
            done.set()

    with forwarding(tmp_path / "s", serve) as (port, _), dialled(port) as line:
        assert rest(line) == b"bye"
        line.sendall(BIG)
        assert done.wait(NEVER_S)
        assert heard == [BIG]


def test_many_connections_at_once(tmp_path):
    with forwarding(tmp_path / "s", echo) as (port, _):
        lines = [dialled(port) for _ in range(200)]
        for number, line in enumerate(lines):
            line.sendall(b"%d\n" % number)
        for number, line in enumerate(lines):
            assert line.recv(99) == b"%d\n" % number
        for line in lines:
            line.close()
        with dialled(port) as line:
            line.sendall(b"x")
            assert line.recv(1) == b"x"


def test_a_slow_reader_holds_up_nobody_else_and_no_memory(tmp_path):
    def serve(line):
        with line:
            if line.recv(1) == b"b":
                line.sendall(BIG)
            else:
                line.sendall(b"quick")

    with forwarding(tmp_path / "s", serve) as (port, process):
        slow = dialled(port)
        slow.sendall(b"b")
        time.sleep(0.05)
        for _ in range(20):
            with dialled(port) as line:
                line.sendall(b"q")
                assert relaying.exactly(line, 5) == b"quick"
        assert resident(process.pid) < 64 * 1024 * 1024
        assert rest(slow) == BIG
        slow.close()


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_waiting_costs_no_time_of_the_processor_even_where_one_side_is_gone(tmp_path):
    """The server says much and is gone, the client does not read: an end that is told for ever would spin."""
    gone = threading.Event()

    def serve(line):
        with line:
            line.settimeout(0.2)
            try:
                while True:
                    line.sendall(BIG)
            except OSError:
                gone.set()

    with forwarding(tmp_path / "s", serve) as (port, process), dialled(port) as line:
        assert gone.wait(NEVER_S)
        before = ticks(process.pid)
        time.sleep(0.5)
        assert ticks(process.pid) - before <= 10
        assert len(rest(line)) > 0


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_an_answer_is_read_although_the_server_hung_up_on_the_body(tmp_path):
    def serve(line):
        line.recv(10)
        line.sendall(b"no")
        line.close()

    with forwarding(tmp_path / "s", serve) as (port, _), dialled(port) as line:

        def send():
            try:
                line.sendall(BIG)
            except OSError:
                return

        sender = threading.Thread(target=send)
        sender.start()
        assert relaying.exactly(line, 2) == b"no"
        sender.join()


def test_a_client_that_is_gone_ends_the_connection_to_the_server(tmp_path):
    ended = threading.Event()

    def serve(line):
        with line:
            try:
                while True:
                    line.sendall(b"x" * 65_536)
            except OSError:
                ended.set()

    with forwarding(tmp_path / "s", serve) as (port, process):
        line = dialled(port)
        line.recv(1)
        line.close()
        assert ended.wait(NEVER_S)
        deadline = time.monotonic() + NEVER_S
        while descriptors(process.pid) > 5 and time.monotonic() < deadline:
            time.sleep(0.005)
        assert descriptors(process.pid) == 5  # three streams, the listener, what it waits with


def test_a_socket_that_nobody_listens_on_ends_the_connection_and_nothing_else(tmp_path):
    path = tmp_path / "s"
    with forwarding(path, echo) as (port, _):
        path.rename(tmp_path / "t")
        with dialled(port) as line:
            assert rest(line) == b""
        (tmp_path / "t").rename(path)
        with dialled(port) as line:
            line.sendall(b"x")
            assert line.recv(1) == b"x"


def test_it_holds_no_stream_of_the_program_beside_it(tmp_path):
    with forwarding(tmp_path / "s", echo) as (_, process):
        assert process.stderr.read() == b""
        assert process.poll() is None
        os.kill(process.pid, 2)
        assert {str(Path(f"/proc/{process.pid}/fd/{each}").readlink()) for each in range(3)} == {"/dev/null"}


@pytest.mark.parametrize("case", ["port taken", "no port", "no socket", "no descriptor", "too few", "no such port"])
def test_what_cannot_begin_ends_with_one_line(tmp_path, case):
    (tmp_path / "s").touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1] if case == "port taken" else free_port()
        words = {
            "no port": argv("x", tmp_path / "s", 1),
            "no socket": argv(port, tmp_path / "nothing", 1),
            "no descriptor": argv(port, tmp_path / "s", 99),
            "too few": argv(port, tmp_path / "s", 1)[:-2],
            "no such port": argv(10**9, tmp_path / "s", 1),
        }
        ended = subprocess.run(words.get(case, argv(port, tmp_path / "s", 1)), capture_output=True, check=False)
    assert ended.returncode == 1
    assert ended.stdout == b""
    assert ended.stderr.startswith(b"forward: ")
    assert ended.stderr.count(b"\n") == 1


def test_the_relay_behind_it_answers_a_harness(tmp_path):
    body = bytes(range(256)) * 1000
    with relaying.relayed(relaying.saying(*relaying.chunked(body)), tmp_path) as (relay, _):
        port, (ready, told) = free_port(), os.pipe()
        process = subprocess.Popen(argv(port, relay.socket, told), pass_fds=[told])
        os.close(told)
        try:
            assert os.read(ready, 1) == b"1"
            with dialled(port) as line:
                for _ in range(3):
                    line.sendall(relaying.request(b"x" * 100_000))
                    assert relaying.told(line)[2] == body
        finally:
            os.close(ready)
            process.kill()
            process.wait()
