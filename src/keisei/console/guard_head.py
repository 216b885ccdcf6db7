"""Heads: a request before its body, and what of it is refused whoever asks."""

from typing import Any, Final

from keisei.console.guard_refusal import Refusal

SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
KNOWN: Final = SAFE | {"POST", "PUT", "PATCH", "DELETE"}
ONCE: Final = frozenset(
    {
        b"host", b"origin", b"authorization", b"content-length", b"transfer-encoding", b"content-type",
        b"sec-fetch-site", b"sec-fetch-mode", b"sec-fetch-dest", b"x-csrf-token",
    }
)  # fmt: skip
"""What is said twice is read differently by different readers."""
OWN: Final = (b"same-origin", b"none")
PUBLIC: Final = ("/static/", "/hooks/")
API: Final = ("/api/", "/metrics", "/hooks/", "/healthz")
LONGEST: Final = 2048
"""Characters of a path."""


class Head:
    """What a request says before its body."""

    def __init__(self, scope: Any) -> None:  # noqa: ANN401 - as ASGI has it
        """Nothing is judged yet."""
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.raw_path: bytes = scope.get("raw_path") or self.path.encode("utf-8", "replace")
        self.query: bytes = scope.get("query_string", b"")
        self.headers: list[tuple[bytes, bytes]] = scope["headers"]
        client = scope.get("client")
        self.address: str = str(client[0]) if client else "?"

    def one(self, name: bytes) -> bytes | None:
        """What a header says. Raises Refusal where it is said twice."""
        found = [value for key, value in self.headers if key == name]
        if len(found) > 1 and name in ONCE:
            raise Refusal(400, f"the header {name.decode()} is said twice")
        return found[0] if found else None

    @property
    def is_safe(self) -> bool:
        """Whether it asks for no change."""
        return self.method in SAFE

    @property
    def is_api(self) -> bool:
        """Whether a program asks, and reads JSON."""
        return self.path.startswith(API)

    @property
    def is_public(self) -> bool:
        """Whether anybody may ask."""
        return self.path in ("/healthz", "/enter") or self.path.startswith(PUBLIC)


def check_host(head: Head, origins: dict[str, str]) -> str:
    """The origin under which it was called. Raises Refusal: a page of another name may have been led here."""
    told = head.one(b"host")
    origin = origins.get(told.decode("latin-1")) if told is not None else None
    if origin is None:
        raise Refusal(421, "this name is not served here", what="host")
    if not head.raw_path.startswith(b"/"):
        raise Refusal(400, "the target is no path", what="host")
    return origin


def check_shape(head: Head) -> None:
    """Raise Refusal for what means one thing to one reader and another to the next."""
    if head.method not in KNOWN:
        raise Refusal(405, "this method is not known here", headers={"allow": ", ".join(sorted(KNOWN))})
    for name in ONCE:
        head.one(name)
    if head.one(b"transfer-encoding") is not None and head.one(b"content-length") is not None:
        raise Refusal(400, "the body has two lengths", closes=True)
    path = head.path
    parts = path.split("/")[1:]
    if len(path) > LONGEST or any(part in (".", "..") for part in parts) or "" in parts[:-1]:
        raise Refusal(400, "the path is too long, or has an empty part or dots in it")
    if any(char < " " or char in "\\\x7f\ufffd" for char in path):
        raise Refusal(400, "the path has characters in it that no address has")


def check_source(head: Head, origin: str) -> None:
    """Raise Refusal where another site asks. Of those only a link that somebody follows to a page is let through."""
    site, told = head.one(b"sec-fetch-site"), head.one(b"origin")
    if told is not None and told != origin.encode():
        raise Refusal(403, "another site asked for this", what="origin")
    if site is None or site in OWN:
        return
    followed = head.one(b"sec-fetch-mode") == b"navigate" and head.one(b"sec-fetch-dest") == b"document"
    if not (head.is_safe and followed and not head.is_api):
        raise Refusal(403, "another site asked for this", what="origin")


def has_source(head: Head) -> bool:
    """Whether the browser says where a request comes from. `check_source` has looked at what it says."""
    return head.one(b"origin") is not None or head.one(b"sec-fetch-site") is not None
