"""Repeating: a request with an `Idempotency-Key` is carried out once, however often it is sent."""

import hashlib
import logging
import re
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from keisei.console.asking import Fault, Unfit
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.records.error import KeiseiError, Refused
from keisei.records.request import RequestAnswer, RequestRecord

HEADER: Final = "idempotency-key"
KEY: Final = re.compile(r"[!-~]{1,200}")
JSON: Final = "application/json"
log = logging.getLogger("keisei.console")


def repeated(request: Request, visitor: Visitor, body: bytes, act: Callable[[], Response]) -> Response:
    """The answer of the order, or the kept one of an earlier request with this key.

    What failed was not carried out, so its key is free again. Raises what `act` raises, Unfit for a key that is none,
    Refused while the same request is under way.
    """
    key = request.headers.get(HEADER)
    if key is None:
        return act()
    if KEY.fullmatch(key) is None:
        raise Unfit([Fault("Idempotency-Key", "write 1 to 200 visible ASCII characters")])
    premises: Premises = request.app.state.premises
    begun = premises.store.begin_request(key, visitor.actor, _digest(request, body))
    if begun.state != "fresh":
        return _known(begun)
    try:
        answer = act()
    except BaseException:
        premises.store.withdraw_request(key, visitor.actor, begun.fence)
        raise
    kept = RequestAnswer(
        key=key, actor=visitor.actor, fence=begun.fence, status=answer.status_code, body=bytes(answer.body)
    )
    try:
        premises.store.answer_request(kept)
    except KeiseiError as error:  # it was carried out: whoever asked must hear that, and not of our bookkeeping
        log.warning("the answer to an Idempotency-Key could not be kept: %s", error.message)
    return answer


def _digest(request: Request, body: bytes) -> str:
    asked = f"{request.method} {request.url.path}?{request.url.query}\n".encode()
    return hashlib.sha256(asked + body).hexdigest()


def _known(found: RequestRecord) -> Response:
    if found.state == "mismatch":
        fault = Fault("Idempotency-Key", "this key was used for something else")
        raise Unfit([fault])
    if found.state == "open":
        raise Refused("the same request is being carried out", "send it again in a moment for its answer")
    if found.body is None:
        raise Refused("it was carried out, and its answer was too large to keep", "look at what came of it")
    return Response(found.body, found.status or 200, {"idempotent-replayed": "true"}, media_type=JSON)
