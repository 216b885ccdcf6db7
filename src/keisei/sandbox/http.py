"""Calls: an HTTP request is made and its answer read, within one deadline, and told as the exit of a program is.

Proxies of the environment are ignored, redirects are answers like others, certificates are verified against the
machine's authorities. No message holds more of an address than its host and port: the rest may be a secret.
"""

import http.client
import re
import socket
import ssl
import threading
import time
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import urlsplit

from keisei.records.error import WorldFault
from keisei.records.launch import Call, Exit
from keisei.sandbox.line import Canceled, Line, Patience, TimeUp
from keisei.sandbox.stream import OnOutput, Stream

_PIECE = 65_536
_PORTS = {"http": 80, "https": 443}
_CUT = (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError, http.client.IncompleteRead)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VISIBLE = re.compile(r"[\x21-\x7e]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def call(call: Call, on_output: OnOutput | None = None, cancel: threading.Event | None = None) -> Exit:
    """Make the call and wait for the whole answer, the deadline or the cancel, which is soon seen.

    The body comes as `stdout`, piece by piece where it is listened to. What the network does is told by the exit and
    raises nothing; WorldFault is raised where the call itself is none: a bad address, method or header.
    """
    began, started_at = time.monotonic(), datetime.now(UTC)
    exchange = _Exchange(call, Patience(began + call.timeout_s, cancel), on_output)
    timed_out = canceled = False
    fault = None
    try:
        exchange.run()
    except TimeUp:
        timed_out = True
    except Canceled:
        canceled = True
    except (OSError, http.client.HTTPException, ValueError) as error:
        fault = _fault(exchange.target, error)
    complete = not (timed_out or canceled or fault)
    return Exit(
        code=(0 if 200 <= (exchange.status or 0) < 300 else 1) if complete else None,  # noqa: PLR2004 - all successes
        signal=None,
        stdout=bytes(exchange.body.data),
        stderr=b"",
        stdout_truncated=exchange.body.truncated,
        stderr_truncated=False,
        timed_out=timed_out,
        canceled=canceled,
        survivors_killed=0,
        survivors_left=0,
        level="none",
        started_at=started_at,
        duration_s=time.monotonic() - began,
        http_status=exchange.status,
        http_headers=exchange.headers,
        fault=fault,
    )


class _Target(NamedTuple):
    """Where a call goes."""

    host: str
    port: int
    secure: bool
    written: str
    """The host and port as the address has them, for the Host header."""
    path: str
    """What is asked for there."""


class _Connection(http.client.HTTPConnection):
    """A connection over a line of ours, opened when there is something to send: what cannot be sent opens nothing."""

    def __init__(self, target: _Target, patience: Patience) -> None:
        super().__init__(target.host, target.port)
        self._target, self._patience = target, patience
        self.line: Line | None = None

    def connect(self) -> None:
        self.line = Line(self._target.host, self._target.port, self._patience, secure=self._target.secure)
        self.sock = self.line  # it has what is asked of a socket here


class _Exchange:
    """One request and its answer, as far as it came."""

    def __init__(self, call: Call, patience: Patience, on_output: OnOutput | None) -> None:
        self._call, self._on_output = call, on_output
        self.target = _target(call)
        self._connection = _Connection(self.target, patience)
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.body = Stream(call.output_cap)

    def run(self) -> None:
        """Raises what the network raises, and HTTPException where the answer is none or is cut."""
        try:
            self._send()
            response = self._connection.getresponse()
            if self._connection.line is None or self._connection.line.ended:
                raise http.client.IncompleteRead(b"")  # the end of the connection was taken for the end of the head
            self.status = response.status
            for name, value in response.getheaders():
                known = self.headers.get(name.lower())
                self.headers[name.lower()] = value if known is None else f"{known}, {value}"
            self._read(response)
        finally:
            if self._connection.line is not None:
                self._connection.line.hang_up()

    def _send(self) -> None:
        given = {name.lower() for name in self._call.headers}
        ours = {"Host": self.target.written, "Connection": "close"}
        headers = {name: value for name, value in ours.items() if name.lower() not in given} | dict(self._call.headers)
        try:
            self._connection.request(self._call.method, self.target.path, self._call.body or None, headers)
        except (BrokenPipeError, ConnectionResetError):
            if self._connection.line is None:
                raise
            # It did not want to read all of it, and may have said why.

    def _read(self, response: http.client.HTTPResponse) -> None:
        left = response.length
        while left != 0 and (piece := response.read1(_PIECE if left is None else min(left, _PIECE))):
            left = None if left is None else left - len(piece)
            self.body.add(piece)
            if self._on_output is not None:
                self._on_output("stdout", piece)
        if left:
            raise http.client.IncompleteRead(b"", left)


def _target(call: Call) -> _Target:
    """Where the call goes. Raises WorldFault where it could not even be written down."""
    _check_words(call)
    try:
        parts = urlsplit(call.url)
        host, written = parts.hostname, parts.netloc.encode("idna").decode()
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise WorldFault("the address of a call cannot be read: its host or its port is none") from error
    if parts.scheme not in _PORTS or not host:
        raise WorldFault("the address of a call begins with http:// or https:// and names a host")
    if "@" in parts.netloc:
        raise WorldFault("the address of a call holds a user or a password", "send them in an Authorization header")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _VISIBLE.fullmatch(path):
        raise WorldFault(
            "the address of a call holds blanks or letters outside ASCII", "write them as %20 and the like"
        )
    return _Target(host, port, parts.scheme == "https", written, path)


def _check_words(call: Call) -> None:
    if not _TOKEN.fullmatch(call.method):
        raise WorldFault(f"{call.method!r} is not a method of HTTP")
    for name, value in call.headers.items():
        if not _TOKEN.fullmatch(name):
            raise WorldFault(f"{name!r} is not the name of a header")
        if not _HEADER_VALUE.fullmatch(value):
            raise WorldFault(f"the header `{name}` holds letters that no header may hold, such as a line end")


def _fault(target: _Target, error: Exception) -> str:
    """What went wrong on the way, in one sentence."""
    where = f"`{target.written}`"
    if isinstance(error, socket.gaierror):
        return f"the host `{target.host}` is not known: {error.strerror}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {where} cannot be trusted: {error.verify_message}"
    if isinstance(error, _CUT) or getattr(error, "reason", "") == "UNEXPECTED_EOF_WHILE_READING":
        return f"the connection to {where} was cut before the answer was complete"
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection with {where}: {error.reason or 'the handshake failed'}"
    if isinstance(error, OSError):
        return f"{where} cannot be reached: {error.strerror or error}"
    return f"{where} does not answer in HTTP"
