"""Calls over HTTP: an answer is told as an exit is, and no server, however odd, holds a call past its deadline."""

import re
import shutil
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager, suppress

import pytest

from keisei.records.error import WorldFault
from keisei.records.launch import Call
from keisei.sandbox.http import call
from keisei.sandbox.spool import Spool
from tests.sandbox.program import NEVER_S

OK = b"HTTP/1.1 200 OK\r\n"
SHORT_S = 0.2


@contextmanager
def server(answer, context: ssl.SSLContext | None = None, *, listens: bool = True):
    """A server whose every connection is handed to `answer`, with the head of the request; its port, while it lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while True:
            line, _ = listener.accept()
            with line:
                if over.is_set():
                    return
                line.settimeout(NEVER_S)
                with suppress(OSError), context.wrap_socket(line, server_side=True) if context else line as secured:
                    answer(secured, head(secured) if listens else b"")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        socket.create_connection(listener.getsockname()).close()
        thread.join()
        listener.close()


def head(line: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data and (piece := line.recv(65_536)):
        data += piece
    return data


def saying(data: bytes):
    """A server that says this and hangs up."""
    return lambda line, _: line.sendall(data)


def request(port: int, **changes) -> Call:
    return Call(**{"method": "GET", "url": f"http://127.0.0.1:{port}/", "timeout_s": NEVER_S, **changes})


# What it gives back


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        pytest.param(OK + b"Content-Length: 5\r\n\r\nhello", (0, 200, b"hello"), id="length"),
        pytest.param(OK + b"\r\nhello", (0, 200, b"hello"), id="until the end"),
        pytest.param(
            OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n",
            (0, 200, b"hello"),
            id="chunks",
        ),
        pytest.param(b"HTTP/1.0 201 Made\r\nContent-Length: 0\r\n\r\n", (0, 201, b""), id="empty"),
        pytest.param(b"HTTP/1.1 204 Nothing\r\n\r\n", (0, 204, b""), id="nothing"),
        pytest.param(b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"\r\nhello", (0, 200, b"hello"), id="continue first"),
        pytest.param(b"HTTP/1.1 404 No\r\nContent-Length: 2\r\n\r\nno", (1, 404, b"no"), id="refused"),
        pytest.param(b"HTTP/1.1 500 Oh\r\n\r\noh", (1, 500, b"oh"), id="broken"),
        pytest.param(b"HTTP/1.1 302 There\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n", (1, 302, b""), id="redirect"),
    ],
)
def test_a_complete_answer_is_told_by_its_status(answer, expected):
    with server(saying(answer)) as port:
        ended = call(request(port))

    assert (ended.code, ended.http_status, ended.stdout) == expected
    assert (ended.fault, ended.signal, ended.stderr, ended.level) == (None, None, b"", "none")
    assert (ended.timed_out, ended.canceled, ended.stdout_truncated) == (False, False, False)


def test_the_request_goes_out_as_it_was_written():
    heard = []

    def answer(line, data):
        while b"\r\n\r\nthe body" not in data:
            data += line.recv(65_536)
        heard.append(data)
        line.sendall(OK + b"Content-Length: 0\r\n\r\n")

    with server(answer) as port:
        url = f"http://127.0.0.1:{port}/a/b?c=d%20e#not-sent"
        call(request(port, method="POST", url=url, body=b"the body", headers={"X-One": "1", "connection": "x"}))

    lines = heard[0].decode().split("\r\n")
    assert lines[0] == "POST /a/b?c=d%20e HTTP/1.1"
    assert lines[-1] == "the body"
    assert {f"Host: 127.0.0.1:{port}", "X-One: 1", "connection: x", "Content-Length: 8"} <= set(lines)
    assert "Connection: close" not in lines


def test_the_headers_of_the_answer_come_back():
    with server(
        saying(b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 0\r\n\r\n")
    ) as port:
        ended = call(request(port))

    assert ended.http_headers == {"retry-after": "7", "x-a": "1, 2", "content-length": "0"}


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    with server(saying(OK + b"\r\nhello")) as port:
        assert call(request(port)).stdout == b"hello"


def test_an_answer_beyond_the_cap_is_read_heard_and_dropped():
    heard = []

    with server(saying(OK + b"Content-Length: 300000\r\n\r\n" + b"x" * 300_000)) as port:
        ended = call(request(port, output_cap=10), lambda name, piece: heard.append((name, len(piece))))

    assert (ended.code, ended.stdout, ended.stdout_truncated) == (0, b"x" * 10, True)
    assert sum(size for _, size in heard) == 300_000
    assert {name for name, _ in heard} == {"stdout"}


def test_an_answer_goes_to_a_spool_as_it_comes(tmp_path):
    early = []

    def answer(line, _):
        line.sendall(OK + b"Content-Length: 10\r\n\r\nfirst")
        while not (tmp_path / "stdout.log").read_bytes():
            pass
        early.append((tmp_path / "stdout.log").read_bytes())
        line.sendall(b"later")

    with server(answer) as port, Spool(tmp_path, cap=100) as spool:
        call(request(port), spool.write)

    assert early == [b"first"]
    assert (tmp_path / "stdout.log").read_bytes() == b"firstlater"


def test_ten_megabytes_go_out_and_come_back():
    body = b"0123456789" * 1_000_000

    def gather(line, data):
        data = data.partition(b"\r\n\r\n")[2]
        while len(data) < len(body):
            data += line.recv(1_000_000)
        line.sendall(OK + b"\r\n" + data)

    with server(gather) as port:
        ended = call(request(port, method="POST", body=body, output_cap=len(body)))

    assert ended.stdout == body


def test_an_answer_that_comes_before_all_was_read_is_heard():
    def answer(line, _):
        line.sendall(b"HTTP/1.1 413 Too much\r\nContent-Length: 4\r\n\r\nless")
        line.shutdown(socket.SHUT_WR)
        while line.recv(65_536):
            pass

    with server(answer) as port:
        ended = call(request(port, method="POST", body=b"x" * 5_000_000))

    assert (ended.code, ended.http_status, ended.stdout) == (1, 413, b"less")


# Faults


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(OK + b"Content-Le", id="in the head"),
        pytest.param(OK + b"Content-Length: 0\r\n", id="before the end of the head"),
        pytest.param(OK + b"Content-Length: 10\r\n\r\nhello", id="in the body"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", id="in a chunk"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", id="between chunks"),
        pytest.param(OK + b"Transfer-Encoding: chunked\r\n\r\nno number\r\n", id="a chunk without a size"),
    ],
)
def test_an_answer_that_was_cut_is_none(answer):
    with server(saying(answer)) as port:
        ended = call(request(port))

    assert ended.code is None
    assert ended.fault == f"the connection to `127.0.0.1:{port}` was cut before the answer was complete"
    assert not ended.timed_out


def test_a_connection_that_is_reset_is_cut():
    def answer(line, _):
        line.sendall(OK + b"\r\nhello")
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

    with server(answer) as port:
        ended = call(request(port))

    assert (ended.code, ended.http_status) == (None, 200)
    assert "was cut" in ended.fault


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another protocol"),
        pytest.param(b"HTTP/1.1 abc OK\r\n\r\n", id="no status"),
        pytest.param(b"x" * 100_000 + b"\r\n\r\n", id="a long line"),
        pytest.param(OK + b"A: b\r\n" * 1000 + b"\r\n", id="many headers"),
    ],
)
def test_what_is_no_http_is_told_in_one_sentence(answer):
    with server(saying(answer)) as port:
        ended = call(request(port))

    assert (ended.code, ended.fault) == (None, f"`127.0.0.1:{port}` does not answer in HTTP")


def test_nobody_there_is_told_in_one_sentence():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    ended = call(request(port))

    assert (ended.code, ended.http_status) == (None, None)
    assert ended.fault == f"`127.0.0.1:{port}` cannot be reached: Connection refused"


def test_a_host_that_is_not_known_is_told_in_one_sentence(monkeypatch):
    def unknown(*_args, **_kwargs):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)

    ended = call(request(1, url="http://nowhere.invalid/?key=a-secret"))

    assert (ended.code, ended.fault) == (None, "the host `nowhere.invalid` is not known: Name or service not known")


def test_a_second_address_is_tried_where_the_first_does_not_answer(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = listener.getsockname()
    with server(saying(OK + b"\r\nhello")) as port:
        places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in (closed, ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: places)

        assert call(request(port, url="http://two-places.invalid/")).stdout == b"hello"


# Deadlines and cancels


def test_a_server_that_says_nothing_does_not_hold_the_call():
    over = threading.Event()

    with server(lambda *_: over.wait(NEVER_S)) as port:
        ended = call(request(port, timeout_s=SHORT_S))
        over.set()

    assert (ended.timed_out, ended.code, ended.fault, ended.http_status) == (True, None, None, None)


@pytest.mark.parametrize(
    "beginning", [pytest.param(b"HTTP/1.1 200 ", id="in the head"), pytest.param(OK + b"\r\n", id="in the body")]
)
@pytest.mark.parametrize("pause_s", [pytest.param(0.01, id="a byte at a time"), pytest.param(0, id="without end")])
def test_a_server_that_never_comes_to_an_end_does_not_hold_the_call(beginning, pause_s):
    over = threading.Event()

    def answer(line, _):
        line.sendall(beginning)
        piece = b"x" if pause_s or b"OK" not in beginning else b"x" * 65_536
        while not over.wait(pause_s):
            line.sendall(piece)

    with server(answer) as port:
        ended = call(request(port, timeout_s=SHORT_S, output_cap=100))
        over.set()

    assert ended.code is None
    assert ended.timed_out or ended.fault  # a head without end is refused before the time is up
    assert len(ended.stdout) <= 100


def test_a_server_that_does_not_read_does_not_hold_the_call():
    over = threading.Event()

    with server(lambda *_: over.wait(NEVER_S)) as port:
        ended = call(request(port, timeout_s=SHORT_S, method="POST", body=b"x" * 50_000_000))
        over.set()

    assert (ended.timed_out, ended.code) == (True, None)


def test_another_thread_can_cancel_while_an_answer_is_awaited():
    cancel, over = threading.Event(), threading.Event()

    def answer(line, _):
        line.sendall(OK + b"\r\nhello")
        cancel.set()
        over.wait(NEVER_S)

    with server(answer) as port:
        ended = call(request(port), cancel=cancel)
        over.set()

    assert (ended.canceled, ended.timed_out, ended.code, ended.fault) == (True, False, None, None)


def test_a_cancel_is_seen_although_there_is_more_to_read():
    cancel = threading.Event()
    heard = []

    def listener(_name, piece):
        heard.append(len(piece))
        cancel.set()

    with server(saying(OK + b"Content-Length: 3000000\r\n\r\n" + b"x" * 3_000_000)) as port:
        ended = call(request(port), listener, cancel)

    assert (ended.canceled, ended.code) == (True, None)
    assert sum(heard) < 3_000_000


def test_another_thread_can_cancel_while_the_host_is_looked_for(monkeypatch):
    cancel, over = threading.Event(), threading.Event()

    def slow(*_args, **_kwargs):
        cancel.set()
        over.wait(NEVER_S)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", slow)

    ended = call(request(1, url="http://slow.invalid/"), cancel=cancel)
    over.set()

    assert ended.canceled


def test_the_search_for_the_host_counts(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: over.wait(NEVER_S) and [])

    ended = call(request(1, url="http://slow.invalid/", timeout_s=SHORT_S))
    over.set()

    assert ended.timed_out


def test_a_call_that_was_canceled_before_asks_nobody():
    cancel = threading.Event()
    cancel.set()
    asked = []

    with server(lambda *_: asked.append("somebody came"), listens=False) as port:
        ended = call(request(port), cancel=cancel)

    assert (ended.canceled, asked) == (True, [])


def test_a_listener_that_fails_ends_the_call():
    def listener(_name, _piece):
        raise ArithmeticError

    with server(saying(OK + b"\r\nhello")) as port, pytest.raises(ArithmeticError):
        call(request(port), listener)


# TLS


@pytest.fixture
def certificate(tmp_path):
    """A certificate for 127.0.0.1 that vouches for itself."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here")
    path = tmp_path / "certificate.pem"
    extensions = [
        "subjectAltName=IP:127.0.0.1",
        "basicConstraints=critical,CA:TRUE",
        "keyUsage=critical,digitalSignature,keyCertSign",
    ]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", "/CN=test", "-keyout", f"{path}", "-out", f"{tmp_path}/public.pem"]
    command += [word for extension in extensions for word in ("-addext", extension)]
    subprocess.run(command, check=True, capture_output=True, timeout=NEVER_S)
    path.write_text(path.read_text() + (tmp_path / "public.pem").read_text())
    return path


def secured(certificate) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_a_certificate_the_machine_trusts_is_good(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}")
    body = b"x" * 1_000_000

    def answer(line, _):
        line.sendall(OK + b"Content-Length: 1000000\r\n\r\n" + body)

    with server(answer, secured(certificate)) as port:
        ended = call(request(port, url=f"https://127.0.0.1:{port}/"))

    assert (ended.code, ended.stdout, ended.fault) == (0, body, None)


def test_a_certificate_nobody_vouches_for_is_refused(certificate):
    with server(saying(OK + b"\r\nhello"), secured(certificate)) as port:
        ended = call(request(port, url=f"https://127.0.0.1:{port}/"))

    assert (ended.code, ended.http_status) == (None, None)
    assert ended.fault.startswith(f"the certificate of `127.0.0.1:{port}` cannot be trusted: self")


def test_a_certificate_for_somebody_else_is_refused(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}")

    with server(saying(OK + b"\r\nhello"), secured(certificate)) as port:
        places = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: places)
        ended = call(request(port, url=f"https://other.invalid:{port}/"))

    assert ended.fault.startswith(f"the certificate of `other.invalid:{port}` cannot be trusted: Hostname mismatch")


def test_an_answer_over_tls_that_was_cut_is_none(certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", f"{certificate}")

    def answer(line, _):
        line.sendall(OK + b"\r\nhello")  # and no word of farewell: anybody on the way could have cut it here

    with server(answer, secured(certificate)) as port:
        ended = call(request(port, url=f"https://127.0.0.1:{port}/"))

    assert (ended.code, ended.http_status, ended.stdout) == (None, 200, b"hello")
    assert "was cut" in ended.fault


def test_a_server_without_tls_is_told_in_one_sentence():
    with server(saying(b"220 mail.invalid ESMTP\r\n" * 20), listens=False) as port:
        ended = call(request(port, url=f"https://127.0.0.1:{port}/"))

    assert ended.code is None
    assert re.match(f"no TLS connection with `127.0.0.1:{port}`: |the connection to .* was cut", ended.fault)


# What cannot be called


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"url": "ftp://host/"}, "begins with http:// or https://", id="another protocol"),
        pytest.param({"url": "/path"}, "begins with http:// or https://", id="no host"),
        pytest.param({"url": "http:///path"}, "begins with http:// or https://", id="empty host"),
        pytest.param({"url": "http://host:port/"}, "its host or its port is none", id="port"),
        pytest.param({"url": "http://host:99999/"}, "its host or its port is none", id="large port"),
        pytest.param({"url": "http://[::1/"}, "its host or its port is none", id="half a host"),
        pytest.param({"url": "http://a..b/"}, "its host or its port is none", id="empty label"),
        pytest.param({"url": "http://me:a-secret@host/"}, "holds a user or a password", id="password"),
        pytest.param({"url": "http://host/a b"}, "holds blanks or letters outside ASCII", id="blank"),
        pytest.param({"url": "http://host/ä"}, "holds blanks or letters outside ASCII", id="umlaut"),
        pytest.param({"method": "GET /x HTTP/1.1\r\nA: b"}, "is not a method of HTTP", id="method"),
        pytest.param({"method": ""}, "is not a method of HTTP", id="no method"),
        pytest.param({"headers": {"A B": "c"}}, "'A B' is not the name of a header", id="header name"),
        pytest.param({"headers": {"A": "a-secret\r\nB: c"}}, "the header `A` holds letters", id="header value"),
        pytest.param({"headers": {"A": "a-secret €"}}, "the header `A` holds letters", id="header letters"),
    ],
)
def test_what_is_no_call_is_refused_before_anybody_is_asked(changes, sentence, monkeypatch):
    monkeypatch.delattr(socket, "getaddrinfo")

    with pytest.raises(WorldFault) as caught:
        call(request(1, **changes))

    assert sentence in caught.value.message
    assert "a-secret" not in caught.value.message
    assert not caught.value.retryable
