"""The relay and servers behind TLS: verified, or not asked."""

import shutil
import socket
import ssl
import subprocess

import pytest

from keisei.sandbox.relay import Relay
from tests.sandbox import relaying
from tests.sandbox.relaying import (
    JSON,
    KEY,
    OK,
    TOKEN,
    asked,
    chunked,
    dialled,
    message,
    plain,
    request,
    rest,
    saying,
    told,
)

EXTENSIONS = """
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign
subjectKeyIdentifier = hash
[server]
basicConstraints = CA:FALSE
subjectAltName = IP:127.0.0.1
authorityKeyIdentifier = keyid
[stranger]
basicConstraints = CA:FALSE
subjectAltName = DNS:stranger.example
authorityKeyIdentifier = keyid
"""


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """An authority of our own, and certificates it has signed: `ca.pem`, `server.pem` and `stranger.pem` with keys."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs openssl to make certificates")
    folder = tmp_path_factory.mktemp("authority")
    (folder / "x.cnf").write_text("[req]\ndistinguished_name = dn\n[dn]\n" + EXTENSIONS)

    def run(*args: str) -> None:
        subprocess.run([openssl, *args], cwd=folder, check=True, capture_output=True)

    elliptic = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-config", "x.cnf")
    run("req", "-x509", *elliptic, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca", "-extensions", "ca")
    for name in ("server", "stranger"):
        run("req", *elliptic, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "x.cnf", "-extensions", name)
        run("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days", "2", *signed)
    return folder


def serving(authority, name: str = "server") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / f"{name}.pem", authority / f"{name}.key")
    return context


def secured(server, **changes) -> Relay:
    place = relaying.upstream(server.port, url=f"https://127.0.0.1:{server.port}")
    return Relay(place, TOKEN, **changes)


def trusting(authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority / "ca.pem"))


def test_a_server_that_is_known_is_asked_and_its_connection_kept(authority):
    big = bytes(range(256)) * 4000
    with (
        relaying.Server(saying(*chunked(big[:7], big[7:])), serving(authority)) as server,
        secured(server, trust=trusting(authority)) as relay,
        dialled(relay) as line,
    ):
        for _ in range(3):
            line.sendall(request(b"x" * 100_000))
            assert told(line)[2] == big
        assert server.connections == 1
        assert KEY.encode() in server.heads[0]


@pytest.mark.parametrize("case", ["nobody vouches", "another name"])
def test_a_server_that_is_not_known_never_sees_the_key(authority, case):
    name = "stranger" if case == "another name" else "server"
    trust = trusting(authority) if case == "another name" else None
    with (
        relaying.Server(saying(plain(b"{}")), serving(authority, name)) as server,
        secured(server, trust=trust) as relay,
    ):
        status, _, body = asked(relay, request())
        assert (status, "cannot be trusted" in message(body)) == (502, True)
    assert server.heads == []


def test_a_server_that_speaks_no_tls_is_told_as_502(authority):
    def answer(line, _):
        with line:
            line.sendall(b"HTTP/1.1 400 Plain\r\n\r\n")

    with relaying.Server(answer, reads=False) as server, secured(server, trust=trusting(authority)) as relay:
        status, _, body = asked(relay, request())
    assert (status, "TLS" in message(body)) == (502, True)


def test_an_end_without_a_farewell_is_no_end(authority):
    """Anybody on the way can cut a connection; an answer that only its end ends is then not complete."""

    def answer(line, head):
        relaying.exactly(line, relaying.length(head))
        line.sendall(OK + JSON + b"\r\nhello")
        socket.socket.shutdown(line, socket.SHUT_RDWR)

    with (
        relaying.Server(answer, serving(authority)) as server,
        secured(server, trust=trusting(authority)) as relay,
        dialled(relay) as line,
    ):
        line.sendall(request())
        assert not rest(line).endswith(b"0\r\n\r\n")
