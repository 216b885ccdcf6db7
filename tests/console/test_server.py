"""The console's server: nobody holds it by being slow, and it ends when it is asked to."""

import datetime as dt
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from keisei.console.address import Address, address, tls_context
from keisei.console.guard import Guard, GuardConfig
from keisei.console.guard_closing import Closing
from keisei.console.guard_header import CSP
from keisei.console.key import open_keys
from keisei.console.link import make_link
from keisei.console.server import listen, serve
from keisei.console.server_line import Patience
from keisei.records.error import OperatorError
from tests.console.fortress import WAIT_S, open_fortress, parsed, read

ANY = "0.0.0.0"  # noqa: S104 - nothing listens there
HASTY = Patience(head_s=0.4)
QUIET = Patience(head_s=60.0, idle_s=0.3, rest_s=0.2, close_s=0.2, stuck_s=0.3)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """Waits for no head."""
    with open_fortress(tmp_path_factory.mktemp("a fortress"), HASTY) as made:
        yield made


@pytest.fixture(scope="module")
def quick(tmp_path_factory):
    """Waits for a head, and for nothing else."""
    with open_fortress(tmp_path_factory.mktemp("a fortress"), QUIET, body_s=5.0) as made:
        yield made


def head(fortress, path="/healthz", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{fortress.port}\r\n{more}\r\n".encode()


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_head_that_does_not_come_is_not_waited_for(hasty, begun):
    with hasty.connect() as line:
        line.sendall(begun)
        reply = read(line)

    assert reply.status == 408
    assert reply.headers["content-security-policy"] == CSP


def test_a_head_that_drips_is_not_waited_for(hasty):
    over = threading.Event()
    with hasty.connect() as line:

        def drip():
            while not over.wait(0.02):
                try:
                    line.sendall(b"X")
                except OSError:
                    return

        line.sendall(head(hasty)[:-2])
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            assert line.recv(65_536).startswith(b"HTTP/1.1 408 ")
        finally:
            over.set()
            thread.join()


def test_a_second_head_that_drips_is_not_waited_for_either(hasty):
    with hasty.connect() as line:
        line.sendall(head(hasty) + b"GET / HT")
        data = b""
        while piece := line.recv(65_536):
            data += piece

    assert data.rpartition(b"HTTP/1.1 ")[2].startswith(b"408 ")


def test_who_says_nothing_more_is_let_go(quick):
    with quick.connect() as line:
        line.sendall(head(quick))
        data = b""
        while piece := line.recv(65_536):
            data += piece

    assert data.startswith(b"HTTP/1.1 200 ")
    assert data.count(b"HTTP/1.1") == 1


def test_the_rest_of_a_refused_body_is_not_waited_for(quick):
    with quick.connect() as line:
        line.sendall(b"POST" + head(quick, "/tasks", "Content-Length: 1000\r\n")[3:] + b"x" * 10)
        reply = read(line)

    assert reply.status == 401


def test_connections_are_bounded_and_the_quiet_ones_go_first(tmp_path):
    with open_fortress(tmp_path, Patience(head_s=60.0, idle_s=60.0, lines=8)) as fortress, ExitStack() as stack:
        lines = [stack.enter_context(fortress.connect()) for _ in range(8)]
        extra = read(stack.enter_context(fortress.connect()))
        assert extra.status == 503
        assert extra.headers["content-security-policy"] == CSP
        lines[0].sendall(head(fortress))
        data = b""
        while not data.endswith(b"}"):
            data += lines[0].recv(65_536)
        assert data.startswith(b"HTTP/1.1 200 ")  # and is quiet now

        assert fortress.ask("GET", "/healthz").status == 200


def test_who_reads_nothing_is_let_go(quick):
    (quick.static / "large").write_bytes(b"x" * 8_000_000)
    with socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", quick.port))
        line.sendall(head(quick, "/static/large"))
        last = time.monotonic() + WAIT_S
        while is_open(quick, line.getsockname()[1]):
            assert time.monotonic() < last
            assert quick.ask("GET", "/healthz").status == 200


def is_open(fortress, port):
    """Whether the kernel still has the server's end of a connection as established."""
    rows = [each.split() for each in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    ends = (f":{fortress.port:04X}", f":{port:04X}")
    return any(row[1].endswith(ends[0]) and row[2].endswith(ends[1]) and row[3] == "01" for row in rows)


def test_a_pipelined_request_is_answered_in_turn(quick):
    with quick.connect() as line:
        line.sendall(head(quick) + head(quick, "/tasks", "Connection: close\r\n"))
        data = b""
        while piece := line.recv(65_536):
            data += piece

    first, second = data.split(b"HTTP/1.1 ")[1:]
    assert (first[:3], second[:3]) == (b"200", b"401")


def test_rubbish_after_a_request_breaks_nothing_else(quick):
    with quick.connect() as line:
        line.sendall(
            head(quick, "/api/v1/stream", f"Authorization: Bearer {quick.keys.operator}\r\n") + b"\x00rubbish\r\n\r\n"
        )
        assert line.recv(65_536).startswith(b"HTTP/1.1 200 ")

    assert quick.ask("GET", "/healthz").status == 200


# --- the end

PROGRAM = """
import asyncio, signal, sys
from pathlib import Path
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Route
from keisei.console.address import address
from keisei.console.guard import Guard, GuardConfig
from keisei.console.guard_closing import Closing
from keisei.console.server import listen, serve

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whoever runs the tests may have said `nohup`

async def stream(request):
    async def beats():
        yield b": hello\\n\\n"
        await asyncio.Event().wait()
    return StreamingResponse(beats(), media_type="text/event-stream")

line, closing = listen(address(port=0)), Closing()
port = line.getsockname()[1]
config = GuardConfig(home_folder=Path(sys.argv[1]), address=address().at(port), account="x", closing=closing)
app = Guard(Starlette(routes=[Route("/api/v1/stream", stream)]), config)
serve(app, line, closing, ready=lambda: print(port, flush=True))
print("ended", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_it_is_asked_to_although_streams_are_open(tmp_path, number):
    command = [sys.executable, "-c", PROGRAM, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        port = int(process.stdout.readline())
        keys = open_keys(tmp_path)
        request = (
            f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {keys.viewer}\r\n\r\n"
        )
        with (
            socket.create_connection(("127.0.0.1", port), WAIT_S) as line,
            socket.create_connection(("127.0.0.1", port)),
        ):
            line.sendall(request.encode())
            data = b""
            while b"hello" not in data:
                data += line.recv(65_536)

            process.send_signal(number)

            try:
                out, errors = process.communicate(timeout=WAIT_S)
            finally:
                process.kill()
            while piece := line.recv(65_536):
                data += piece

    assert (process.returncode, out, errors) == (0, "ended\n", "")
    assert data.endswith(b"0\r\n\r\n")


def test_a_thread_may_serve_and_another_end_it(tmp_path):
    with open_fortress(tmp_path) as fortress:
        assert fortress.ask("GET", "/healthz").status == 200

    with pytest.raises(OSError, match="refused"):
        fortress.connect()


# --- addresses


def test_loopback_is_the_default():
    made = address()

    assert (made.host, made.port, made.is_tls, made.origin) == ("127.0.0.1", 4314, False, "http://127.0.0.1:4314")
    assert set(made.origins) == {"127.0.0.1:4314", "localhost:4314", "[::1]:4314"}
    assert made.origins["[::1]:4314"] == "http://[::1]:4314"
    assert address("localhost").host == address("[::1]").host.replace("::1", "127.0.0.1") == "127.0.0.1"
    assert address("::1", 80).origins["[::1]:80"] == address("::1", 80).origins["[::1]"] == "http://[::1]"


@pytest.mark.parametrize(
    "host", [ANY, "::", "192.168.1.1", "example.org", "127.1", "0", "0x7f000001", "::ffff:127.0.0.1", ""]
)
def test_elsewhere_is_asked_for_twice(host):
    with pytest.raises(OperatorError, match="not this machine alone") as told:
        address(host)
    assert "--allow-remote" in told.value.hint
    with pytest.raises(OperatorError, match="without TLS") as told:
        address(host, allow_remote=True)
    assert "--tls-cert" in told.value.hint
    assert "--behind-proxy" in told.value.hint


def test_a_proxy_s_name_is_the_only_one():
    made = address(ANY, allow_remote=True, behind_proxy="https://Keisei.Example.org/")

    assert made.origins == {
        "keisei.example.org": "https://keisei.example.org",
        "keisei.example.org:443": "https://keisei.example.org",
    }
    assert (made.is_tls, made.origin) == (True, "https://keisei.example.org")
    assert list(address(behind_proxy="https://a.example:8443").origins) == ["a.example:8443"]


@pytest.mark.parametrize(
    "text",
    ["http://a.example", "a.example", "https://", "https://a.example/x", "https://u@a.example", "https://a.example:x",
     "https://a.example?x", "https://*.example", "https://a b", "https://a.example\r\nX: y", "https://[::1", "https://a..b"],
)  # fmt: skip
def test_a_proxy_s_name_that_is_none_is_told(text):
    with pytest.raises(OperatorError, match=r"origin|https and a name") as told:
        address(behind_proxy=text)
    assert "https://keisei.example.org" in told.value.hint


def test_options_that_do_not_fit_are_told(tmp_path):
    cert = tmp_path / "cert"
    with pytest.raises(OperatorError, match="go together"):
        address(tls_cert=cert)
    with pytest.raises(OperatorError, match="do not go together"):
        address(tls_cert=cert, tls_key=cert, behind_proxy="https://a.example")
    with pytest.raises(OperatorError, match="no name") as told:
        address(ANY, allow_remote=True, tls_cert=cert, tls_key=cert)
    assert "--name" in told.value.hint
    with pytest.raises(OperatorError, match="no name of a host"):
        address(ANY, allow_remote=True, tls_cert=cert, tls_key=cert, names=("https://x",))
    named = address(ANY, 443, allow_remote=True, tls_cert=cert, tls_key=cert, names=("A.example",))
    assert {"a.example", "a.example:443", "localhost"} <= set(named.origins)
    assert named.origin == "https://a.example"
    assert list(address("10.0.0.1", 1, allow_remote=True, tls_cert=cert, tls_key=cert).origins) == ["10.0.0.1:1"]


def test_a_port_in_use_is_one_sentence(quick):
    with pytest.raises(OperatorError, match="cannot be used: address already in use") as told:
        listen(quick.address)
    assert "--port" in told.value.hint
    with pytest.raises(OperatorError, match="cannot be used"):
        listen(Address(host="192.0.2.1", port=0, names=()))  # not an address of this machine
    with pytest.raises(OperatorError, match="99999 is no port"):
        address(port=99_999)


# --- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder, key = tmp_path_factory.mktemp("tls"), ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "console.example")])
    now = dt.datetime.now(dt.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("console.example"), x509.DNSName("localhost")])
    made = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(), now, now + dt.timedelta(1)
    )
    cert = made.add_extension(names, critical=False).sign(key, hashes.SHA256())
    plain = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    locked = (serialization.PrivateFormat.PKCS8, serialization.BestAvailableEncryption(b"x"))
    (folder / "cert").write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    (folder / "cert").chmod(0o600)
    for file, form in (("key", plain), ("locked", locked)):
        (folder / file).write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
        (folder / file).chmod(0o600)
    return folder


def test_a_certificate_that_cannot_be_used_is_told(certificate, tmp_path):
    for key in ("locked", "cert", "none"):
        with pytest.raises(OperatorError, match="cannot be used"):
            tls_context((certificate / "cert", certificate / key))
    (tmp_path / "key").write_bytes((certificate / "key").read_bytes())
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(OperatorError, match="everybody can read"):
        tls_context((certificate / "cert", tmp_path / "key"))


def test_with_tls_cookies_are_for_tls_alone(certificate, tmp_path):
    async def app(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    tls = (certificate / "cert", certificate / "key")
    asked = address(port=0, tls_cert=tls[0], tls_key=tls[1], names=("console.example",))
    line, closing, ready = listen(asked), Closing(), threading.Event()
    made = asked.at(line.getsockname()[1])
    guard = Guard(app, GuardConfig(home_folder=tmp_path / "state", address=made, account="x", closing=closing))
    words = {"tls": tls_context(tls), "patience": HASTY, "ready": ready.set}
    thread = threading.Thread(target=serve, args=(guard, line, closing), kwargs=words)
    thread.start()
    try:
        assert ready.wait(WAIT_S)
        key = make_link(tmp_path / "state", "operator")
        entered = _by_tls(certificate, made, "console.example", f"/enter?key={key}")
        local = _by_tls(certificate, made, "localhost", "/healthz")
        with socket.create_connection(("127.0.0.1", made.port), WAIT_S) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert _hung_up(plain)
        with socket.create_connection(("127.0.0.1", made.port), WAIT_S) as silent:
            assert _hung_up(silent)  # a handshake that does not come
    finally:
        closing.begin()
        thread.join(WAIT_S)

    assert entered.status == 200
    assert entered.headers["set-cookie"].startswith("__Host-keisei-")
    assert entered.headers["set-cookie"].endswith("; Secure")
    assert entered.headers["strict-transport-security"] == "max-age=31536000"
    assert local.status == 200
    assert "strict-transport-security" not in local.headers  # other ports of this machine would be cut off


def _by_tls(certificate, made, name, path):
    context = ssl.create_default_context(cafile=certificate / "cert")
    with (
        socket.create_connection(("127.0.0.1", made.port), WAIT_S) as bare,
        context.wrap_socket(bare, server_hostname=name) as line,
    ):
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}:{made.port}\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while piece := line.recv(65_536):
            data += piece
    return parsed(data)


def _hung_up(line):
    try:
        return not line.recv(100)
    except ConnectionError:
        return True


def test_an_answer_does_not_wait_for_a_full_packet():
    with listen(address(port=0)) as line, socket.create_connection(line.getsockname()) as _client:
        accepted, _ = line.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
