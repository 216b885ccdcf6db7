"""Problems: what went wrong, as RFC 9457 tells it to programs."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

MEDIA: Final = "application/problem+json"
TYPES: Final[Mapping[int, str]] = {
    400: "The request cannot be read.",
    401: "Nobody is known by this token or session, or none was said.",
    403: "Whoever asks is known, and may not; or another site asked in their name.",
    404: "There is nothing at this address.",
    405: "This address does not know the method.",
    408: "The request did not come in time.",
    409: "Policy or the state of things says no.",
    410: "The link was used before, or is over.",
    412: "It has changed since it was read.",
    413: "The body is too large.",
    415: "The body is of another kind than is read here.",
    421: "The name in the request is not served here.",
    422: "The request was read, and what it says cannot be done.",
    429: "Too many requests; `Retry-After` says when to come again.",
    431: "The head of the request is too large.",
    500: "This is a bug in keisei.",
    503: "Something that is needed is away, or everything is taken; try again.",
}
"""What each type of problem means; a type is `/problems/` and its number."""


def problem(
    status: int, title: str, detail: str, *, hint: str | None = None, errors: Sequence[Mapping[str, Any]] = ()
) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    kind = f"/problems/{status}" if status in TYPES else "about:blank"
    told: dict[str, Any] = {"type": kind, "title": title, "status": status, "detail": detail}
    if hint:
        told["hint"] = hint
    if errors:
        told["errors"] = list(errors)
    return status, {"content-type": MEDIA}, json.dumps(told).encode()
