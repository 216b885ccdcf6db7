"""Lookups of registered names: where one is asked for, and what the answer says. The answer is a stranger's."""

from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import quote, urlsplit

from keisei.records.project import IdentityLookup
from keisei.rules.webhook import pointed

PLACE: Final = "{address}"
LONGEST: Final = 200
"""Characters of a name."""


def url_fault(url: str) -> str | None:
    """Why an address is not one that may be asked; None where it is."""
    if PLACE not in url:
        return f"`{PLACE}` stands nowhere in it, so that every agent would get the same answer"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return "it cannot be read"
    if not host or parts.scheme not in ("http", "https"):
        return "it begins with https:// and names a host"
    if PLACE in parts.netloc:
        return f"`{PLACE}` stands in its host, which is always the same"
    if "@" in parts.netloc:
        return "it holds a user or a password"
    if parts.scheme == "http" and not _is_loopback(host):
        return "it is plain http, which everybody on the way can change"
    return None


def url_of(lookup: IdentityLookup, address: str) -> str:
    """Where one address is asked for."""
    return lookup.url.replace(PLACE, quote(address, safe=""))


def name_in(lookup: IdentityLookup, answer: Any) -> str | None:  # noqa: ANN401 - JSON
    """The name an answer tells; None where it tells none that could be one."""
    found = pointed(answer, lookup.name)
    if not isinstance(found, str):
        return None
    name = " ".join(found.split())
    return name if 0 < len(name) <= LONGEST and name.isprintable() else None


def moment_in(lookup: IdentityLookup, answer: Any) -> datetime | None:  # noqa: ANN401 - JSON
    """When it was registered, as the answer tells; None where it does not, or in no way that is a moment."""
    found = None if lookup.registered_at is None else pointed(answer, lookup.registered_at)
    if not isinstance(found, str):
        return None
    try:
        moment = datetime.fromisoformat(found)
        return moment.astimezone(UTC) if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
