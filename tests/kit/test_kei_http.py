"""kei-http: what its pages promise, against real servers on this machine."""

import gzip
import json
import socket
import ssl
import threading
import tracemalloc
import zlib
from base64 import b64decode
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from socketserver import TCPServer
from urllib.parse import parse_qs, urlsplit

import httpcore2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator

from keisei.contracts.secret_place import secret_values
from tests.kit.desk import Declared, output_of, spec_of

VERBS = ("get", "send", "download")
MIB = 1_048_576
BOMB = gzip.compress(bytes(24 * MIB), 6)


class Call:
    """What a verb is given: one invocation."""

    invocation_id = "01980000-0000-7000-8000-000000000001"

    def __init__(self, verb, remaining_s=20.0):
        self.atom, self._remaining_s = f"kei-http::{verb}", remaining_s

    def remaining_s(self):
        return self._remaining_s

    def error(self, code, message):
        assert code in {error.code for error in spec_of(self.atom).manifest.errors}
        return Declared(code, message)


def call(verb, *, remaining_s=20.0, **given):
    """What the verb returns; input and output fit their schemas."""
    atom = f"kei-http::{verb}"
    Draft7Validator(spec_of(atom).input_schema, validate_formats=True).validate(given)
    output = import_module(f"kei_http.atoms.{verb}").run(given, Call(verb, remaining_s))
    output_of(atom).validate(output)
    json.dumps(output, allow_nan=False).encode()
    return output


def local(verb, **given):
    return call(verb, allow_private=True, **given)


def refused(verb, **given):
    with pytest.raises(Declared) as error:
        call(verb, **given)
    return error.value.code


class Handler(BaseHTTPRequestHandler):
    """Answers by path; what it was asked stands in `server.asked`."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        """Say nothing."""

    def answer(self, status, body=b"", *headers):
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def handle_any(self):
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        path = urlsplit(self.path)
        self.query = {name: values[0] for name, values in parse_qs(path.query).items()}
        self.server.asked.append((self.command, self.path, dict(self.headers.items()), self.body))
        getattr(self, f"on_{path.path.strip('/').replace('-', '_')}", self.on_nothing)()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the names of the standard library

    def on_nothing(self):
        self.answer(404, b"nothing here", ("Content-Type", "text/plain"))

    def on_echo(self):
        told = {"method": self.command, "path": self.path, "headers": dict(self.headers.items())}
        told["body"] = self.body.decode()
        self.answer(200, json.dumps(told).encode(), ("Content-Type", "application/json"))

    def on_text(self):
        self.answer(200, "grün\n".encode(), ("Content-Type", "text/plain"), ("Set-Cookie", "sid=topsecret; Path=/"))

    def on_charset(self):
        body = bytes.fromhex(self.query["hex"])
        self.answer(200, body, ("Content-Type", f"text/plain; charset={self.query['is']}"))

    def on_json(self):
        self.answer(200, self.query["body"].encode("utf-8"), ("Content-Type", "application/json"))

    def on_to(self):
        self.answer(int(self.query.get("status", 302)), b"moved", ("Location", self.query["url"]))

    def on_round(self):
        self.answer(302, b"", ("Location", "/round"))

    def on_bomb(self):
        self.answer(200, BOMB, ("Content-Encoding", "gzip"))

    def on_bad_gzip(self):
        self.answer(200, b"no gzip at all", ("Content-Encoding", "gzip"))

    def on_cut_gzip(self):
        self.answer(200, gzip.compress(b"a" * 1000)[:-9], ("Content-Encoding", "gzip"))

    def on_packed(self):
        """Bytes, and how they are said to be packed."""
        self.answer(200, bytes.fromhex(self.query.get("hex", "")), ("Content-Encoding", self.query["as"]))

    def on_twice(self):
        self.answer(200, gzip.compress(gzip.compress(b"a")), ("Content-Encoding", "gzip"), ("Content-Encoding", "gzip"))

    def on_tail(self):
        """A small gzip, and behind it what unpacks to nothing, without end."""
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        self.wfile.write(gzip.compress(b"a"))
        for _ in range(64):
            self.wfile.write(bytes(65536))
        self.close_connection = True

    def on_strange(self):
        self.answer(799, b"\x1b[31mred\n")

    def on_short(self):
        self.send_response(200)
        self.send_header("Content-Length", "100")
        self.end_headers()
        self.wfile.write(b"only this")
        self.close_connection = True

    def on_silent(self):
        self.close_connection = True

    def on_drip(self):
        self.send_response(200)
        self.end_headers()
        while not self.server.over.wait(0.02):
            self.wfile.write(b".")
        self.close_connection = True

    def on_file(self):
        self.answer(200, b"hello\n", ("Content-Type", "text/csv"))

    def on_chunked(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.write(b"5\r\nhello\r\n" * 4 + b"0\r\n\r\n")


class Server(ThreadingHTTPServer):
    """A server that stops at once and says nothing of clients that leave."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host="127.0.0.1", tls=None):
        self.asked, self.over = [], threading.Event()
        super().__init__((host, 0), Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self):
        """Without asking a name server what this machine is called."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address

    def handle_error(self, *_):
        """A client that hung up is what some tests are about."""

    def at(self, path, scheme="http", host=None):
        return f"{scheme}://{host or self.server_address[0]}:{self.server_address[1]}{path}"


@contextmanager
def serving(*given):
    with Server(*given) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.over.set()
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def shared():
    with serving() as server:
        yield server


@pytest.fixture
def server(shared):
    shared.asked.clear()
    return shared


@pytest.fixture
def closed_port():
    """A port nobody listens on: it is taken, and not listened to."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.fixture
def names(monkeypatch):
    """A name server of our own: name to addresses. Every other name is not known."""
    known, real = {}, socket.getaddrinfo

    def getaddrinfo(host, port, *args, **named):
        if host in known:
            return [entry for each in known[host] for entry in real(each, port, *args, **named)]
        if host.replace(".", "").isdecimal() or ":" in host:
            return real(host, port, *args, **named)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    return known


# --- get --------------------------------------------------------------------------------------------------------------


def test_an_answer_has_status_headers_and_text(server):
    told = local("get", url=server.at("/text#part"))

    assert (told["status"], told["encoding"], told["body"], told["size"]) == (200, "utf-8", "grün\n", 6)
    assert (told["url"], told["truncated"], told["redirects"]) == (server.at("/text"), False, [])
    assert ["content-type", "text/plain"] in told["headers"]
    assert ["set-cookie", "sid=***"] in told["headers"]


def test_a_status_is_an_answer_unless_another_is_expected(server):
    assert local("get", url=server.at("/nowhere"))["status"] == 404
    assert local("get", url=server.at("/nowhere"), expect=[200, 404])["body"] == "nothing here"
    with pytest.raises(Declared, match="404, not 200: nothing here") as error:
        local("get", url=server.at("/nowhere"), expect=[200])
    assert error.value.code == "UnexpectedStatus"


def test_query_and_headers_arrive_and_the_environment_does_not(server, monkeypatch, tmp_path, closed_port):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port}")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login ada password topsecret\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))

    told = local(
        "get",
        url=server.at("/echo?a=1"),
        query={"q": "two & words", "n": ["1", "2"]},
        headers={"X-Plain": "é", "Accept": "application/json"},
        secret_headers={"Authorization": "Bearer abc"},
        parse_json=True,
    )

    assert told["encoding"] == "json"
    assert told["json"]["path"] == "/echo?a=1&q=two+%26+words&n=1&n=2"
    sent = {name.lower(): value for name, value in told["json"]["headers"].items()}
    assert (sent["x-plain"], sent["accept"], sent["authorization"]) == ("é", "application/json", "Bearer abc")
    assert sent["host"] == urlsplit(server.at("/")).netloc
    assert "idempotency-key" not in sent


@pytest.mark.parametrize(
    ("given", "encoding", "body"),
    [
        ({"is": "iso-8859-1", "hex": "e9"}, "utf-8", "é"),
        ({"is": "utf-16-le", "hex": "e900"}, "utf-8", "é"),
        ({"is": "rot13", "hex": "61"}, "utf-8", "a"),
        ({"is": "unicode_escape", "hex": "5c78"}, "utf-8", "\\x"),
        ({"is": "no/such", "hex": "e9"}, "base64", "6Q=="),
        ({"is": "ascii", "hex": "c3a9"}, "utf-8", "é"),
        ({"is": "utf-8", "hex": "ff00"}, "base64", "/wA="),
    ],
)
def test_text_is_text_in_the_encoding_it_names_and_anything_else_base64(server, given, encoding, body):
    told = local("get", url=server.at("/charset"), query=given)

    assert (told["encoding"], told["body"]) == (encoding, body)


def test_a_large_answer_is_cut_and_a_cut_letter_left_out(server):
    told = local("get", url=server.at("/text"), max_bytes=3)

    assert (told["body"], told["size"], told["truncated"]) == ("gr", 3, True)
    assert local("get", url=server.at("/text"), max_bytes=6)["truncated"] is False
    assert local("get", url=server.at("/text"), max_bytes=0)["body"] == ""


def test_a_bomb_is_not_unpacked_behind_the_bound(server):
    local("get", url=server.at("/text"))
    tracemalloc.start()
    try:
        told = local("get", url=server.at("/bomb"), max_bytes=MIB)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert (told["size"], told["truncated"]) == (MIB, True)
    assert told["body"] == "\0" * MIB
    assert peak < 16 * MIB


@pytest.mark.parametrize(
    ("kind", "packed", "body"),
    [
        ("gzip", gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), "ab"),
        ("X-Gzip", gzip.compress(b"a", mtime=0) + b"what stands behind", "a"),
        ("deflate", zlib.compress(b"a"), "a"),
        ("deflate", zlib.compress(b"a")[2:-4], "a"),
        ("identity", b"a", "a"),
        ("gzip", b"", ""),
        ("br", b"a", "YQ=="),  # nobody asked for that: it is told as it came
    ],
)
def test_what_is_packed_is_unpacked_whole(server, kind, packed, body):
    assert local("get", url=server.at("/packed"), query={"as": kind, "hex": packed.hex()})["body"] == body


@given(st.lists(st.binary(max_size=300), max_size=3), st.sampled_from(["gzip", "deflate", "raw"]), st.integers(1, 40))
@settings(max_examples=50, deadline=None)
def test_pieces_of_any_size_unpack_to_the_same(texts, kind, size):
    packed = b"".join(map(gzip.compress, texts)) if kind == "gzip" else zlib.compress(b"".join(texts))
    packed = packed[2:-4] if kind == "raw" else packed
    unpack, window = import_module("kei_http.packing")._unpacked, 31 if kind == "gzip" else 15
    pieces = [packed[place : place + size] for place in range(0, len(packed), size)]

    assert b"".join(unpack(pieces, window)) == b"".join(texts)
    if len(packed) > 10:
        with pytest.raises(httpcore2.RemoteProtocolError):
            list(unpack([packed[: len(packed) // 2 if len(texts) < 2 else -9]], window))


def test_what_unpacks_to_nothing_is_not_read_without_end(server):
    given = {"url": server.at("/tail"), "allow_private": True}

    assert refused("get", **given, max_bytes=1000) == "BadAnswer"
    assert refused("send", **given, max_bytes=1000, method="PUT") == "AnswerLost"


def test_a_message_shows_no_control_characters(server):
    with pytest.raises(Declared, match=r"the answer is 799, not 200: \[31mred$"):
        local("get", url=server.at("/strange"), expect=[200])
    assert local("get", url=server.at("/strange"))["status"] == 799


def test_json_is_a_value_and_what_is_none_is_said(server):
    def answered(body, **given):
        return local("get", url=server.at("/json"), query={"body": body}, parse_json=True, **given)

    assert answered('{"a": [1, null, "ü"]}')["json"] == {"a": [1, None, "ü"]}
    assert "body" not in answered("\ufeff1")  # as some servers begin
    for body in ("{", "NaN", "1e999", '"\\ud800"', "[" * 1500, "x"):
        with pytest.raises(Declared) as error:
            answered(body)
        assert error.value.code == "NotJson"
    with pytest.raises(Declared) as error:
        answered("[1, 2]", max_bytes=3)
    assert error.value.code == "TooLarge"


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://example.com:0/",
        "http:///path",
        "http://ada:secret@example.com/",
        "http://example.com:99999/",
        "http://exa mple.com/",
        "http://a\nb/",
        "http://" + "a" * 300,
        "http://" + "a" * 60 + "!",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    assert refused("get", url=url) == "BadAddress"


def test_an_address_has_a_bound_with_its_query():
    assert refused("get", url="http://127.0.0.1/", query={"a": "b" * 8192}) == "BadAddress"


@pytest.mark.parametrize(
    ("headers", "secret"),
    [
        ({"Host": "evil"}, {}),
        ({"content-length": "5"}, {}),
        ({}, {"Transfer-Encoding": "chunked"}),
        ({"a b": "c"}, {}),
        ({"": "c"}, {}),
        ({"a": "b\r\nc: d"}, {}),
        ({"a": "\u20ac"}, {}),
        ({"a": " b"}, {}),
        ({"A": "1", "a": "2"}, {}),
        ({"Authorization": "1"}, {"authorization": "2"}),
    ],
)
def test_headers_that_none_may_send_are_refused(server, headers, secret):
    given = {"url": server.at("/echo"), "headers": headers, "secret_headers": secret, "allow_private": True}

    assert refused("get", **given) == "BadHeader"
    assert server.asked == []


def test_a_secret_is_in_no_message_and_marked_in_the_schema():
    given = {"url": "http://127.0.0.1/", "secret_headers": {"x-key": "topsecret\n"}}

    with pytest.raises(Declared) as error:
        call("get", **given)
    assert "topsecret" not in str(error.value)
    for verb in VERBS:
        assert list(secret_values(spec_of(f"kei-http::{verb}").input_schema, given)) == ["topsecret\n"]


# --- addresses --------------------------------------------------------------------------------------------------------

PRIVATE = ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"]  # noqa: S104
PRIVATE += ["169.254.169.254", "100.100.100.200", "168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255"]
PRIVATE += ["[::1]", "[::]", "[fe80::1]", "[fd00:ec2::254]", "[ff02::1]", "[::ffff:127.0.0.1]", "[::ffff:a9fe:a9fe]"]
PRIVATE += ["[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2001:0:1::1]", "[fec0::1]"]


@pytest.mark.parametrize("host", PRIVATE)
def test_addresses_that_are_not_public_are_refused(host):
    assert refused("get", url=f"http://{host}:1/") == "PrivateAddress"


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.216.34", "2606:4700::1111", "64:ff9b::808:808"])
def test_other_addresses_are_public(address):
    assert import_module("kei_http.address").is_public(address)


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_that_leads_inside_is_refused_by_every_verb(server, names, verb, tmp_path):
    names["inside.test"] = ["127.0.0.1"]
    given = {"send": {"method": "POST"}, "download": {"to": str(tmp_path / "file")}}.get(verb, {})

    assert refused(verb, url=server.at("/text", host="inside.test"), **given) == "PrivateAddress"
    assert server.asked == []


def test_a_name_is_asked_once_and_the_address_that_was_judged_is_connected_to(names, monkeypatch):
    """Whoever answers with a public address first and with ours later gains nothing."""
    names["twice.test"] = ["93.184.216.34", "127.0.0.1"]
    connected = []

    def connect_tcp(_self, host, *_):
        names["twice.test"] = ["127.0.0.1"]
        connected.append(host)
        raise httpcore2.ConnectError("nobody")

    monkeypatch.setattr(httpcore2.SyncBackend, "connect_tcp", connect_tcp)
    assert refused("get", url="http://twice.test/") == "Unreachable"
    assert connected == ["93.184.216.34"]


def test_the_next_address_is_tried_where_one_does_not_answer(server, names):
    names["two.test"] = ["127.0.0.3", "127.0.0.1"]

    told = local("get", url=server.at("/echo", host="two.test"), parse_json=True)
    assert told["json"]["headers"]["host"] == f"two.test:{server.server_address[1]}"


def test_no_redirect_leads_from_outside_to_the_inside(server, monkeypatch):
    monkeypatch.setattr(import_module("kei_http.dial"), "is_public", lambda address: address != "127.0.0.2")
    with serving("127.0.0.2") as inside:
        url = {"url": server.at("/to"), "query": {"url": inside.at("/text")}}

        assert refused("get", **url) == "PrivateAddress"
        assert refused("get", **url, allow_private=True) == "PrivateAddress"
        assert inside.asked == []
        assert local("get", url=inside.at("/to"), query={"url": server.at("/text")})["status"] == 200


# --- redirects --------------------------------------------------------------------------------------------------------


def test_redirects_are_followed_told_and_bounded(server):
    told = local("get", url=server.at("/to"), query={"url": "/text"})

    assert (told["url"], told["status"]) == (server.at("/text"), 200)
    assert told["redirects"] == [server.at("/to?url=%2Ftext")]
    server.asked.clear()
    assert refused("get", url=server.at("/round"), allow_private=True) == "BadRedirect"
    assert len(server.asked) == 11
    assert local("get", url=server.at("/round"), max_redirects=0)["status"] == 302


@pytest.mark.parametrize("to", ["ftp://127.0.0.1/", "file:///etc/passwd", "http://a:b@127.0.0.1/", "http://[", "//"])
def test_a_redirect_to_no_address_is_refused(server, to):
    assert refused("get", url=server.at("/to"), query={"url": to}, allow_private=True) == "BadRedirect"


def test_secrets_stay_with_their_origin(server):
    secret = {
        "headers": {"Cookie": "sid=1", "X-Plain": "seen"},
        "secret_headers": {"Authorization": "Bearer abc", "X-Api-Key": "k"},
    }
    with serving() as other:
        local("get", url=server.at("/to"), query={"url": "/echo"}, **secret)
        local("get", url=server.at("/to"), query={"url": other.at(f"/to?url={server.at('/echo')}")}, **secret)

        _, same, first, back = (sent for _, _, sent, _ in server.asked)
        (away,) = (sent for _, _, sent, _ in other.asked)
    for sent in (same, first):
        assert (sent["authorization"], sent["x-api-key"], sent["cookie"]) == ("Bearer abc", "k", "sid=1")
    for sent in (away, back):
        assert not {"authorization", "x-api-key", "cookie"} & sent.keys()
        assert sent["x-plain"] == "seen"


# --- the network ------------------------------------------------------------------------------------------------------


def test_nobody_there_and_no_such_name_are_unreachable(closed_port, names):
    assert names == {}
    for verb, more in (("get", {}), ("send", {"method": "POST"})):
        assert refused(verb, url=f"http://127.0.0.1:{closed_port}/", allow_private=True, **more) == "Unreachable"
        assert refused(verb, url="http://nowhere.test/", **more) == "Unreachable"


@pytest.mark.parametrize("path", ["/short", "/silent", "/bad-gzip", "/cut-gzip", "/twice"])
def test_an_answer_that_cannot_be_read_is_said(server, path):
    assert refused("get", url=server.at(path), allow_private=True) == "BadAnswer"
    assert refused("send", url=server.at(path), method="POST", allow_private=True) == "AnswerLost"


def test_an_answer_without_end_ends_with_the_time(server):
    drip = {"url": server.at("/drip"), "allow_private": True}

    assert refused("get", **drip, timeout_s=0.1) == "TimedOut"
    assert refused("get", **drip, remaining_s=0.35) == "TimedOut"
    assert refused("send", **drip, method="POST", timeout_s=0.1) == "AnswerLost"
    assert refused("get", url=server.at("/text"), allow_private=True, remaining_s=0.0) == "TimedOut"
    assert local("get", url=server.at("/drip"), max_bytes=2)["body"] == ".."


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for secure.test and its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "secure.test")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


def test_a_certificate_is_checked_for_the_name_and_the_name_is_sent(certificate, names, monkeypatch):
    names |= {"secure.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    asked, tls = [], ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    tls.sni_callback = lambda _socket, name, _context: asked.append(name)
    with serving("127.0.0.1", tls) as server:
        url = {host: server.at("/echo", "https", host) for host in names}
        assert refused("get", url=url["secure.test"], allow_private=True) == "TlsFailed"
        assert refused("send", url=url["secure.test"], allow_private=True, method="PUT") == "TlsFailed"

        trusting = ssl.create_default_context(cafile=certificate)
        monkeypatch.setattr(import_module("kei_http.exchange"), "trust", lambda: trusting)
        told = local("get", url=url["secure.test"], parse_json=True)
        assert told["json"]["headers"]["host"] == f"secure.test:{server.server_address[1]}"
        assert refused("get", url=url["other.test"], allow_private=True) == "TlsFailed"
        away = {"url": server.at("/to", "https", "secure.test"), "query": {"url": "http://127.0.0.1:1/"}}
        assert refused("get", **away, allow_private=True) == "BadRedirect"
    assert asked[-3:] == ["secure.test", "other.test", "secure.test"]


# --- send -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        ({"json": {"name": "Ödön", "n": None}}, "application/json", '{"name":"Ödön","n":null}'),
        ({"json": None}, "application/json", "null"),
        ({"text": "grün"}, "text/plain; charset=utf-8", "grün"),
        ({"form": {"a": "b c", "n": ["1", "2"]}}, "application/x-www-form-urlencoded", "a=b+c&n=1&n=2"),
        (None, None, ""),
    ],
)
def test_a_body_is_sent_in_its_form(server, body, kind, sent):
    given = {} if body is None else {"body": body}
    echoed = local("send", url=server.at("/echo"), method="PUT", parse_json=True, **given)["json"]

    assert (echoed["method"], echoed["body"]) == ("PUT", sent)
    assert echoed["headers"].get("content-type") == kind
    assert echoed["headers"]["content-length"] == str(len(sent.encode()))
    assert echoed["headers"]["idempotency-key"] == Call.invocation_id


def test_headers_of_ones_own_replace_ours(server):
    own = {"Idempotency-Key": "mine", "Content-Type": "text/csv"}
    echoed = local("send", url=server.at("/echo"), method="POST", body={"text": "a"}, headers=own, parse_json=True)

    assert (echoed["json"]["headers"]["idempotency-key"], echoed["json"]["headers"]["content-type"]) == (
        "mine",
        "text/csv",
    )


def test_a_body_has_exactly_one_form_and_a_bound(server):
    schema = Draft7Validator(spec_of("kei-http::send").input_schema)
    given = {"url": server.at("/echo"), "method": "POST"}

    assert schema.is_valid(given | {"body": {"text": ""}})
    for body in ({}, {"text": "", "json": 1}, {"file": "x"}, "text"):
        assert not schema.is_valid(given | {"body": body})
    assert not schema.is_valid(given | {"method": "GET"})
    too_large = {"json": "x" * (8 * MIB)}
    assert refused("send", **given, body=too_large, allow_private=True) == "TooLarge"
    assert server.asked == []


@pytest.mark.parametrize("status", ["301", "307", "308"])
def test_what_is_sent_goes_to_the_address_that_was_named_and_no_further(server, status):
    told = local("send", url=server.at("/to"), method="POST", query={"url": "/echo", "status": status})

    assert told["status"] == int(status)
    assert ["location", "/echo"] in told["headers"]
    assert len(server.asked) == 1


# --- download ---------------------------------------------------------------------------------------------------------

HELLO = sha256(b"hello\n").hexdigest()


def test_a_file_is_written_whole_with_its_digest(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = local("download", url=server.at("/file"), to="a file.csv", sha256=HELLO.upper())

    assert told == {
        "url": server.at("/file"),
        "to": "a file.csv",
        "size": 6,
        "sha256": HELLO,
        "fetched": True,
        "content_type": "text/csv",
        "content_encoding": None,
        "redirects": [],
    }
    assert [each.name for each in tmp_path.iterdir()] == ["a file.csv"]
    assert Path("a file.csv").read_bytes() == b"hello\n"
    server.asked.clear()
    assert local("download", url=server.at("/file"), to="a file.csv", sha256=HELLO)["fetched"] is False
    assert server.asked == []


def test_a_file_that_is_there_is_replaced_only_where_that_is_said(server, tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    given = {"url": server.at("/file"), "to": str(path)}
    assert refused("download", **given, allow_private=True) == "Exists"
    assert server.asked == []
    assert local("download", **given, replace=True)["fetched"]
    assert path.read_text() == "hello\n"


def test_a_link_is_replaced_and_what_it_leads_to_stays(server, tmp_path):
    (tmp_path / "kept").write_text("kept")
    link = tmp_path / "link"
    link.symlink_to("kept")

    assert refused("download", url=server.at("/file"), to=str(link), allow_private=True) == "Exists"
    local("download", url=server.at("/file"), to=str(link), replace=True)
    assert (link.is_symlink(), link.read_text()) == (False, "hello\n")
    assert (tmp_path / "kept").read_text() == "kept"


@pytest.mark.parametrize(
    ("path", "given", "code"),
    [
        ("/file", {"sha256": "0" * 64}, "WrongDigest"),
        ("/file", {"max_bytes": 5}, "TooLarge"),
        ("/chunked", {"max_bytes": 19}, "TooLarge"),
        ("/nowhere", {}, "UnexpectedStatus"),
        ("/short", {}, "BadAnswer"),
        ("/drip", {"timeout_s": 0.1}, "TimedOut"),
        ("/round", {}, "BadRedirect"),
    ],
)
def test_after_an_error_the_file_is_as_it_was(server, tmp_path, path, given, code):
    (tmp_path / "file").write_text("old")

    asked = {"url": server.at(path), "to": str(tmp_path / "file"), "replace": True, "allow_private": True}
    assert refused("download", **asked, **given) == code
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "old")]


def test_a_file_that_comes_meanwhile_is_not_overwritten(server, tmp_path, monkeypatch):
    path = tmp_path / "file"
    monkeypatch.setattr(import_module("kei_http.atoms.download"), "check", lambda *_, **__: path.write_text("other"))

    assert refused("download", url=server.at("/file"), to=str(path), allow_private=True) == "Exists"
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("file", "other")]


def test_places_where_no_file_can_be(server, tmp_path):
    (tmp_path / "file").write_text("")
    for to, code in (
        (tmp_path, "IsFolder"),
        (f"{tmp_path}/", "IsFolder"),
        (tmp_path / "no" / "file", "NotFound"),
        (tmp_path / "file" / "file", "NotFound"),
        (tmp_path / ("x" * 300), "NotWritable"),
    ):
        assert refused("download", url=server.at("/file"), to=str(to), allow_private=True) == code
    target = import_module("kei_http.target")
    for to in ("a\0b", "\ud800"):
        with pytest.raises(Declared) as error:
            target.check(Call("download"), to, replace=True)
        assert error.value.code == "BadPath"


def test_bytes_are_stored_as_they_come(server, tmp_path):
    told = local("download", url=server.at("/bomb"), to=str(tmp_path / "file"))

    assert (told["content_encoding"], told["size"]) == ("gzip", len(BOMB))
    assert (tmp_path / "file").read_bytes() == BOMB
    assert server.asked[0][2]["accept-encoding"] == "identity"


# --- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_the_page_declares_what_the_verb_does(verb):
    manifest = spec_of(f"kei-http::{verb}").manifest
    effects = {(effect.op, effect.domain) for effect in manifest.side_effects}

    assert manifest.kind == "command"
    assert ("network", "http:{url}") in effects
    assert manifest.idempotent == (verb != "send")
    assert (("write", "fs:{to}") in effects) == (verb == "download")
    assert bool(manifest.destructive) == (verb != "get")


@pytest.mark.parametrize("verb", VERBS)
def test_examples_end_the_same_with_and_without_a_network(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = spec_of(f"kei-http::{verb}").input_schema

    for example in schema["examples"]:
        expected = "Unreachable" if example.get("allow_private") else "PrivateAddress"
        assert refused(verb, **example) == expected
    assert list(tmp_path.iterdir()) == []


def test_base64_is_what_came(server):
    told = local("get", url=server.at("/charset"), query={"is": "utf-8", "hex": "00ff10"})

    assert b64decode(told["body"]) == b"\x00\xff\x10"
