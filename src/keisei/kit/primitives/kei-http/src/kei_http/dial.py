"""Dialling: a name is resolved once, every address is judged, and the connection goes to an address that was judged.

The name stays what the request and the certificate are for. No later answer of a name server changes anything.
"""

import socket
import ssl
from collections.abc import Iterable
from time import monotonic
from typing import Any

import httpcore2

from kei_http.address import is_public

MOST_TRIED = 4
LEAST_S = 0.05
Option = httpcore2.SOCKET_OPTION


class PrivateAddressError(Exception):
    """A name led to machines that are not public."""


class TlsError(httpcore2.ConnectError):
    """The machine is there, and no secure connection to it."""


class Line(httpcore2.NetworkStream):
    """A connection whose every wait ends when the call's time does."""

    def __init__(self, stream: httpcore2.NetworkStream, until: float) -> None:
        self._stream, self._until = stream, until

    def _left(self, error: type[Exception]) -> float:
        left = self._until - monotonic()
        if left <= 0:
            message = "the time is up"
            raise error(message)
        return left

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - one deadline for all
        """What came. Raises ReadTimeout, ReadError."""
        return self._stream.read(max_bytes, self._left(httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - one deadline for all
        """Send it. Raises WriteTimeout, WriteError."""
        self._stream.write(buffer, self._left(httpcore2.WriteTimeout))

    def close(self) -> None:
        """Hang up."""
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ARG002 - one deadline for all
    ) -> httpcore2.NetworkStream:
        """The same line, encrypted. Raises TlsError, ConnectError, ConnectTimeout."""
        left = self._left(httpcore2.ConnectTimeout)
        try:
            return Line(self._stream.start_tls(ssl_context, server_hostname, left), self._until)
        except httpcore2.ConnectError as error:
            if isinstance(error.__cause__, ssl.SSLError):
                raise TlsError(str(error)) from error
            raise

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - whatever the library asks for
        """What is known of the connection."""
        return self._stream.get_extra_info(info)


class Dialer(httpcore2.NetworkBackend):
    """Connects to public machines, and to others where that is allowed."""

    def __init__(self, until: float, *, allow_private: bool) -> None:
        self._until, self._allow_private = until, allow_private
        self._network = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ARG002 - one deadline for all
        local_address: str | None = None,
        socket_options: Iterable[Option] | None = None,
    ) -> httpcore2.NetworkStream:
        """A line to one of the name's machines. Raises PrivateAddressError, ConnectError, ConnectTimeout.

        Once somebody public was asked, nobody private is any more: a redirect leads from outside to the inside.
        """
        addresses = self._judged(host, _resolved(host, port))
        failed: httpcore2.ConnectError | httpcore2.ConnectTimeout | None = None
        for tried, address in enumerate(addresses):
            left = max(LEAST_S, (self._until - monotonic()) / (len(addresses) - tried))
            try:
                stream = self._network.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
            else:
                self._allow_private = self._allow_private and not is_public(address)
                return Line(stream, self._until)
        raise failed or httpcore2.ConnectError(f"{host} has no address")

    def _judged(self, host: str, addresses: list[str]) -> list[str]:
        allowed = [each for each in addresses if self._allow_private or is_public(each)]
        if addresses and not allowed:
            message = f"{host} leads to {addresses[0]}, which is not public"
            raise PrivateAddressError(message)
        return allowed[:MOST_TRIED]


def _resolved(host: str, port: int) -> list[str]:
    """The addresses of a name, each once. Raises ConnectError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        message = f"the name {host} is not known: {error}"
        raise httpcore2.ConnectError(message) from error
    return list(dict.fromkeys(str(each[4][0]) for each in found))
