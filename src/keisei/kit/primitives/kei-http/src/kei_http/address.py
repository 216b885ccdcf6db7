"""Addresses: which URLs are taken, and which machines are public."""

import re
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlencode

import httpx2

from kei_http.context import Context, Data

SCHEMES = {"http": 80, "https": 443}
LONGEST = 8192
LAST_PORT = 65535
HOST = re.compile(r"(?=.{1,253}\.?\Z)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?", re.ASCII)
NOT_PUBLIC_4 = tuple(
    map(
        IPv4Network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32"),  # the last and 192.0.0.192: metadata of two clouds
    )
)
PUBLIC_6 = IPv6Network("2000::/3")
"""All that is given out for machines; anything else has a meaning of its own."""
NAT64 = IPv6Network("64:ff9b::/96")


def url_of(context: Context, text: str, query: Data | None = None, code: str = "BadAddress") -> httpx2.URL:
    """The address, with the query's fields added, and without a fragment. Raises the error of this code."""
    try:
        url = httpx2.URL(text).copy_with(fragment=None)
        if query:
            added = urlencode(query, doseq=True).encode("ascii")
            url = url.copy_with(query=url.query + b"&" + added if url.query else added)
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise context.error(code, f"this is no address: {error}") from error
    if url.scheme not in SCHEMES or not _is_host(url.raw_host.decode("ascii")):
        raise context.error(code, "an address begins with http:// or https:// and names a host")
    if not 1 <= origin(url)[2] <= LAST_PORT:
        raise context.error(code, f"a port is a number from 1 to {LAST_PORT}")
    if url.userinfo:
        raise context.error(code, "an address holds no password; put it into secret_headers")
    if len(str(url)) > LONGEST:
        raise context.error(code, f"an address has at most {LONGEST} characters")
    return url


def origin(url: httpx2.URL) -> tuple[str, str, int]:
    """What two addresses share whose secrets are one: scheme, host and port."""
    return url.scheme, url.host, SCHEMES[url.scheme] if url.port is None else url.port


def _is_host(text: str) -> bool:
    """Whether it is a name that can be looked up, or an IP address."""
    try:
        return HOST.fullmatch(text) is not None or bool(ip_address(text))
    except ValueError:
        return False


def is_public(text: str) -> bool:
    """Whether an IP address is a machine of the open internet, whatever Python version looks at it. Falls closed.

    Loopback, private, shared, link-local, multicast and reserved addresses are not, nor are the clouds' metadata
    services, nor an IPv6 address that carries such an IPv4 address inside.
    """
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return _is_public_4(address) if isinstance(address, IPv4Address) else _is_public_6(address)


def _is_public_4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in each for each in NOT_PUBLIC_4)


def _is_public_6(address: IPv6Address) -> bool:
    inner = address.ipv4_mapped or address.sixtofour
    if inner is None and address in NAT64:
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
    if inner is not None:
        return _is_public_4(inner)
    return address in PUBLIC_6 and address.is_global
