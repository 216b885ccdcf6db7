"""Answers: what a view tells as a page or as JSON, and what went wrong in words."""

import hashlib
import logging
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from keisei.console.asking import Unfit
from keisei.console.page import Missing
from keisei.console.premises import Premises
from keisei.console.problem import problem
from keisei.console.templating import render
from keisei.console.visitor import Visitor
from keisei.records.error import (
    AuthorError,
    ContractViolation,
    IllegalMove,
    KeiseiError,
    MissingAtom,
    Refused,
    WorldFault,
)

JSON: Final = "application/json"
STATUSES: Final[tuple[tuple[type[KeiseiError], int], ...]] = (
    (Missing, 404),
    (MissingAtom, 404),
    (Refused, 409),
    (IllegalMove, 409),
    (WorldFault, 503),
    (KeiseiError, 422),
)
"""What each kind of error is to a client; the first that fits."""
log = logging.getLogger("keisei.console")


class Wrong(NamedTuple):
    """What is told of an error."""

    status: int
    detail: str
    hint: str | None = None
    errors: tuple[dict[str, Any], ...] = ()

    @property
    def title(self) -> str:
        """The status in words."""
        return HTTPStatus(self.status).phrase


def wrong(error: Exception) -> Wrong:
    """What an error is to whoever asked. What is no error of ours is our bug: it is logged, and not told."""
    if isinstance(error, Unfit):
        faults = tuple({"field": each.field, "message": each.message} for each in error.faults)
        return Wrong(422, error.message, error.hint, faults)
    if isinstance(error, AuthorError):
        told = tuple({"field": str(each.path), "message": each.render()} for each in error.problems)
        return Wrong(422, "authored files need an edit", "`keisei lint all` shows every problem", told)
    if isinstance(error, ContractViolation):
        return Wrong(422, error.message, error.hint, tuple({"field": "", "message": each} for each in error.complaints))
    if isinstance(error, KeiseiError):
        status = next(status for kind, status in STATUSES if isinstance(error, kind))
        return Wrong(status, error.message, error.hint)
    if isinstance(error, RecursionError):  # JSON that is nested thousands deep reaches rules that go down with it
        return Wrong(422, "this is nested too deeply", "say it with fewer levels")
    log.error("a page broke", exc_info=error)
    return Wrong(500, "this is a bug in keisei", "the console's own output says more; please report it")


def is_api(request: Request) -> bool:
    """Whether a program asks."""
    return request.url.path.startswith("/api/")


def failed(request: Request, told: Wrong) -> Response:
    """The answer that tells of an error, in the form that was asked for."""
    if is_api(request):
        status, headers, body = problem(told.status, told.title, told.detail, hint=told.hint, errors=told.errors)
        return Response(body, status, headers)
    if request.state.visitor is None:  # where anybody may ask, nothing of the house is told
        return PlainTextResponse(told.title, told.status)
    return HTMLResponse(render("error.html", wrong=told, **frame(request, room="")), told.status)


def frame(request: Request, *, room: str) -> dict[str, Any]:
    """What every page is told beside its own matter."""
    premises: Premises = request.app.state.premises
    visitor: Visitor = request.state.visitor
    return {
        "visitor": visitor,
        "may_order": visitor.role == "operator" and not premises.read_only,
        "project": premises.home.name,
        "read_only": premises.read_only,
        "stale": premises.stale,
        "room": room,
        "path": request.url.path,
        "query": request.url.query,
        "now": premises.now(),
    }


def as_json(request: Request, told: object, status: int = 200) -> Response:
    """What a view tells, for programs."""
    return tagged(request, Response(msgspec.json.encode(told), status, media_type=JSON))


def tagged(request: Request, response: Response) -> Response:
    """The response with its ETag, or 304 where the client has it already."""
    if request.method not in ("GET", "HEAD") or response.status_code != HTTPStatus.OK:
        return response
    tag = f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(None, 304, {"etag": tag})
    response.headers["etag"] = tag
    return response
