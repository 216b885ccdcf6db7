"""Places: where a model's server is, by its address, and what to say when it cannot be reached."""

import socket
import ssl
from typing import NamedTuple
from urllib.parse import urlsplit

import h11

from keisei.records.error import OperatorError

_PORTS = {"http": 80, "https": 443}


class Place(NamedTuple):
    """Where the server is."""

    host: str
    port: int
    secure: bool
    written: str
    """The host and port as the address has them, for the Host header."""
    prefix: str
    """The path that stands before every other."""


def place_of(url: str) -> Place:
    """The place an address names. Raises OperatorError where it names none; the address itself is not repeated."""
    hint = "write it as https://host[:port][/path], with no user, query or fragment"
    try:
        parts = urlsplit(url)
        host, written = parts.hostname, parts.netloc.encode("idna").decode()
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as error:
        raise OperatorError("the address of the model's server cannot be read", hint) from error
    is_plain = url.isascii() and url.isprintable() and not {"@", " ", "?", "#", "\\"} & set(url)
    if parts.scheme not in _PORTS or not host or not is_plain or "/../" in f"{parts.path}/":
        raise OperatorError("the address of the model's server is none that a relay could use", hint)
    return Place(host, port, parts.scheme == "https", written, parts.path.rstrip("/"))


class Unreachable(Exception):
    """The server gave no answer, or none that is whole. Its text is one sentence, and holds no key."""

    def __init__(self, place: Place, error: Exception) -> None:
        """Put what happened on the way to this place into words."""
        super().__init__(_sentence(place, error))
        self.late = isinstance(error, TimeoutError)
        """It took too long."""


def size_of(message: h11.Request | h11.Response) -> int:
    """About how many bytes the head of a message has; a whole one may be longer than what h11 holds of a part."""
    return sum(len(name) + len(value) for name, value in message.headers)


def _sentence(place: Place, error: Exception) -> str:
    """What went wrong on the way, in one sentence."""
    where = f"`{place.written}`"
    if isinstance(error, socket.gaierror):
        return f"the host `{place.host}` is not known: {error.strerror}"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate of {where} cannot be trusted: {error.verify_message}"
    if isinstance(error, TimeoutError):
        return f"{where} did not answer in time"
    if isinstance(error, ConnectionRefusedError):
        return f"{where} cannot be reached: {error.strerror}"
    if isinstance(error, ConnectionError | ssl.SSLEOFError):
        return f"the connection to {where} was cut before the answer was complete"
    if isinstance(error, ssl.SSLError):
        return f"no TLS connection with {where}: {error.reason or 'the handshake failed'}"
    if isinstance(error, OSError):
        return f"{where} cannot be reached: {error.strerror or 'no address of it takes a connection'}"
    return f"{where} does not answer in HTTP, or its answer was cut"
