"""Addresses: where the console listens, and by which names browsers may call it there."""

import ipaddress
import os
import re
import ssl
import stat
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from keisei.records.error import OperatorError

HOST, PORT = "127.0.0.1", 4314
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
ANY: Final = frozenset({"0.0.0.0", "::"})  # noqa: S104 - to know them, not to listen there
NAME: Final = re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
LAST_PORT: Final = 65_535
PORTS: Final = {"http": 80, "https": 443}


class Address(Struct, frozen=True, kw_only=True):
    """Where the console listens."""

    host: str
    """The interface, as a number."""
    port: int
    """0 is any that is free; `at` says which it became."""
    names: tuple[str, ...]
    """By which hosts browsers may call it, without a port."""
    tls: tuple[Path, Path] | None = None
    """Certificate and key, where it speaks TLS itself."""
    public: str | None = None
    """The origin that a proxy serves it under."""

    @property
    def is_tls(self) -> bool:
        """Whether browsers come by TLS."""
        return self.tls is not None or self.public is not None

    @property
    def scheme(self) -> str:
        """How browsers come."""
        return "https" if self.is_tls else "http"

    @property
    def origin(self) -> str:
        """Where browsers find it; links begin with it."""
        return self.public or f"{self.scheme}://{_with_port(self.names[0], self.port, self.scheme)}"

    @property
    def origins(self) -> dict[str, str]:
        """By each Host that may be called, the origin it stands for."""
        hosts = [_with_port(name, self.port, self.scheme) for name in self.names]
        if self.public is not None:
            hosts = [self.public.partition("://")[2]]
        told = {host: f"{self.scheme}://{host}" for host in hosts}
        usual = {f"{host}:{PORTS[self.scheme]}": origin for host, origin in told.items() if not _has_port(host)}
        return usual | told

    def at(self, port: int) -> "Address":
        """The same with the port it became."""
        return msgspec.structs.replace(self, port=port)


def address(  # noqa: PLR0913 - a command's options
    host: str = HOST,
    port: int = PORT,
    *,
    allow_remote: bool = False,
    tls_cert: Path | None = None,
    tls_key: Path | None = None,
    behind_proxy: str | None = None,
    names: tuple[str, ...] = (),
) -> Address:
    """The address that options say. Raises OperatorError for one that would let in strangers, or nobody."""
    if not 0 <= port <= LAST_PORT:
        raise OperatorError(f"{port} is no port", f"give one from 1 to {LAST_PORT}, or 0 for any that is free")
    number = HOST if host == "localhost" else host.removeprefix("[").removesuffix("]")
    is_near = _is_loopback(number)
    if not is_near and not allow_remote:
        hint = f"leave --host out to listen on {HOST}, or add --allow-remote with TLS or a proxy"
        raise OperatorError(f"`{host}` is not this machine alone", hint)
    tls = _tls(tls_cert, tls_key)
    if tls is not None and behind_proxy is not None:
        raise OperatorError("--tls-cert and --behind-proxy do not go together", "the proxy speaks TLS: leave out one")
    if not is_near and tls is None and behind_proxy is None:
        hint = "give --tls-cert and --tls-key, or say --behind-proxy https://NAME where a proxy speaks TLS for it"
        raise OperatorError("without TLS every token and page could be read on the way", hint)
    if behind_proxy is not None:
        return Address(host=number, port=port, names=(), public=_public(behind_proxy))
    return Address(host=number, port=port, names=_names(number, is_near=is_near, names=names), tls=tls)


def tls_context(tls: tuple[Path, Path]) -> ssl.SSLContext:
    """What speaks TLS. Raises OperatorError where certificate or key cannot be used."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        if stat.S_IMODE(os.stat(tls[1]).st_mode) & stat.S_IRWXO:  # noqa: PTH116 - for its mode
            raise OperatorError(f"everybody can read the key `{tls[1]}`", f"`chmod 600 {tls[1]}`")
        context.load_cert_chain(*tls, password=lambda: "")  # else OpenSSL would ask on the terminal
    except (OSError, ValueError) as error:
        message = f"certificate `{tls[0]}` and key `{tls[1]}` cannot be used: {_why(error)}"
        raise OperatorError(message, "give a PEM chain, and its key without a pass phrase") from error
    return context


def _tls(cert: Path | None, key: Path | None) -> tuple[Path, Path] | None:
    if cert is None and key is None:
        return None
    if cert is None or key is None:
        raise OperatorError("--tls-cert and --tls-key go together", "give both")
    return cert, key


def _public(text: str) -> str:
    """The origin that a proxy serves. Raises OperatorError."""
    hint = "write it as browsers see it, such as https://keisei.example.org"
    try:
        parts, port = urlsplit(text.lower().removesuffix("/")), urlsplit(text).port
    except ValueError as error:
        raise OperatorError(f"`{text}` is no origin: {error}", hint) from error
    more = (parts.path, parts.query, parts.fragment, parts.username, parts.password)
    if parts.scheme != "https" or any(more) or not parts.hostname or NAME.fullmatch(parts.hostname) is None:
        raise OperatorError(f"`{text}` is not https and a name alone", hint)
    return f"https://{_with_port(parts.hostname, port or PORTS['https'], 'https')}"


def _names(number: str, *, is_near: bool, names: tuple[str, ...]) -> tuple[str, ...]:
    told = tuple(name.lower().removesuffix(".") for name in names)
    for name in told:
        if NAME.fullmatch(name) is None:
            raise OperatorError(f"`{name}` is no name of a host", "write it without scheme and port")
    if number in ANY:
        if not told:
            raise OperatorError(f"`{number}` is every interface, and no name", "say with --name how browsers call it")
        return told + LOOPBACK
    own = f"[{number}]" if ":" in number else number
    near = LOOPBACK if is_near else ()
    return tuple(dict.fromkeys((*told, own, *near)))


def _is_loopback(number: str) -> bool:
    """Whether only this machine reaches it. Other spellings of the same count as elsewhere: falls closed."""
    try:
        return ipaddress.ip_address(number).is_loopback
    except ValueError:
        return False


def _with_port(host: str, port: int, scheme: str) -> str:
    return host if port == PORTS[scheme] else f"{host}:{port}"


def _has_port(host: str) -> bool:
    return ":" in host.rpartition("]")[2]


def _why(error: Exception) -> str:
    return ((error.strerror if isinstance(error, OSError) else None) or str(error)).lower()
