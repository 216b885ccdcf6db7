"""Refusals: what is answered to a request that goes no further, and what is written down of it."""

import html
import math
from http import HTTPStatus
from typing import Any, Final, Literal, NamedTuple

from msgspec import Struct

from keisei.console.problem import problem
from keisei.records.move import NewEntry
from keisei.records.problem import printable

REFUSED: Final = "console_refused"
"""The kind of row where somebody was turned away."""
What = Literal["host", "origin", "token", "cookie", "link", "csrf"]
KNOWN_PARTS: Final = frozenset({"api", "enter", "leave", "static", "hooks", "metrics", "healthz"})
LINK: Final = "`keisei console link` prints a link that lets you in"
PAGE: Final = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    '<title>{title}</title>{more}<link rel="icon" href="/static/icon.svg">'
    '<link rel="stylesheet" href="/static/app.css"></head>'
    '<body class="alone"><main><h1>{title}</h1><p>{detail}</p>{hint}</main></body></html>\n'
)


class Answer(NamedTuple):
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


class Refusal(Exception):
    """The request goes no further."""

    def __init__(  # noqa: PLR0913 - each says one thing, and most say none
        self,
        status: int,
        detail: str,
        *,
        hint: str | None = None,
        what: What | None = None,
        headers: dict[str, str] | None = None,
        closes: bool = False,
    ) -> None:
        """`what` was tried, where that is worth writing down; `closes` where nothing more is read from there."""
        super().__init__(detail)
        self.status, self.detail, self.hint, self.what = status, detail, hint, what
        self.headers = {**(headers or {}), **({"connection": "close"} if closes else {})}


def later(wait_s: float, detail: str, status: int = 429) -> Refusal:
    """Come again in a while."""
    return Refusal(status, detail, headers={"retry-after": str(max(1, math.ceil(wait_s)))})


def unknown(detail: str, what: What | None = None) -> Refusal:
    """Nobody is known by what was said."""
    return Refusal(401, detail, hint=LINK, what=what, headers={"www-authenticate": 'Bearer realm="keisei"'})


def answer_of(refusal: Refusal, *, is_api: bool) -> Answer:
    """What is told, to a program or to a person."""
    title = HTTPStatus(refusal.status).phrase
    if is_api:
        status, headers, body = problem(refusal.status, title, refusal.detail, hint=refusal.hint)
        return Answer(status, headers | refusal.headers, body)
    return page(refusal.status, title, refusal.detail, hint=refusal.hint, headers=refusal.headers)


def page(  # noqa: PLR0913 - as above
    status: int,
    title: str,
    detail: str,
    *,
    hint: str | None = None,
    headers: dict[str, str] | None = None,
    more: str = "",
) -> Answer:
    """A small page that needs nothing of the application. `more` is markup of ours, for its head."""
    told = f"<p>{_sentence(hint)}</p>" if hint else ""
    text = PAGE.format(title=html.escape(title), detail=_sentence(detail), hint=told, more=more)
    return Answer(status, {"content-type": "text/html; charset=utf-8", **(headers or {})}, text.encode())


def _sentence(text: str) -> str:
    """Words of ours as people read them on a page."""
    return html.escape(f"{text[:1].upper()}{text[1:].rstrip('.')}.")


class Attempt(Struct, frozen=True, kw_only=True):
    """Somebody was turned away."""

    what: What
    """What was wrong."""
    reason: str
    """In words; never what was said."""
    method: str
    """Of the request."""
    place: str
    """The first part of its path, where that is one of ours: the rest may hold a secret."""
    address: str
    """From where."""
    counted: int
    """How many before it were not written down."""


def place_of(path: str) -> str:
    """What may be kept of a path."""
    first = path.strip("/").partition("/")[0]
    return f"/{first}" if first in KNOWN_PARTS else "a page"


def refusal_entry(attempt: Attempt) -> NewEntry:
    """Its row in the ledger."""
    body: dict[str, Any] = {
        "reason": attempt.reason,
        "method": printable(attempt.method[:16]),
        "place": attempt.place,
        "address": printable(attempt.address[:64]),
        "only_counted_before": attempt.counted,
    }
    return NewEntry(kind=REFUSED, actor="console", subject=attempt.what, body=body)
