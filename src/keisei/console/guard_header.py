"""Headers that every answer has, whatever made it."""

from typing import Any, Final

from keisei.console.guard_head import Head

CSP: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
FIXED: Final[tuple[tuple[bytes, bytes], ...]] = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
REFERRER, NO_REFERRER = b"same-origin", b"no-referrer"
"""Pages need the first: under `no-referrer` browsers send `Origin: null` with our own forms, which is refused."""
HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
ILL: Final = (b"\r", b"\n", b"\0")
FRESH, LASTING = b"no-cache", b"public, max-age=31536000, immutable"
OURS: Final = frozenset(
    {name for name, _ in FIXED} | {b"cache-control", b"server", b"strict-transport-security", b"referrer-policy"}
) - {b"content-security-policy"}
"""What an application does not decide. It may add a policy of its own: browsers hold to both."""


def dressed(headers: Any, head: Head, status: int, *, with_hsts: bool) -> list[tuple[bytes, bytes]]:  # noqa: ANN401 - as ASGI has them
    """The headers of an answer with those that all have. Raises ValueError for one that would become two."""
    told = [(bytes(name).lower(), bytes(value)) for name, value in headers]
    if any(ill in part for pair in told for part in pair for ill in ILL):
        message = "a header holds a line break"
        raise ValueError(message)
    kept = [pair for pair in told if pair[0] not in OURS]
    referrer = NO_REFERRER if (b"referrer-policy", NO_REFERRER) in told else REFERRER
    more = [(b"cache-control", _cache(head, status)), (b"referrer-policy", referrer)]
    return [*kept, *FIXED, *more, *([HSTS] if with_hsts else [])]


def _cache(head: Head, status: int) -> bytes:
    """Files may be kept: for good where their address names a version, else as long as they are asked about."""
    if not head.path.startswith("/static/") or status not in (200, 206, 304):
        return b"no-store"
    return LASTING if head.query.startswith(b"v=") else FRESH
