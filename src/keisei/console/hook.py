"""Webhooks in: signed requests of others become sensor events. Anybody may ask; only signatures are believed."""

import json
import threading
from typing import Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from keisei.console.premises import Premises
from keisei.records.project import ProjectFile
from keisei.wiring.registry import defaults_of
from keisei.wiring.webhook import AT_ONCE, RETRY_S, Answer, Reception, receive, tolerant_reception


class Porch:
    """Where deliveries arrive. The webhooks of the project as its file names them now."""

    def __init__(self, premises: Premises) -> None:
        """Nothing is looked at yet: a console must start although a webhook's secret is missing."""
        self._premises = premises
        self._turn, self._room = threading.Lock(), threading.BoundedSemaphore(AT_ONCE)
        self._opened: tuple[Reception, dict[str, str]] | None = None
        self._file: ProjectFile | None = None

    def answer(self, name: str, headers: dict[str, str], body: bytes) -> Answer:
        """What becomes of a delivery. Never raises."""
        if self._premises.read_only:
            return _later("this console takes no deliveries")
        if not self._room.acquire(blocking=False):
            return _later("too many at once")
        try:
            reception, faults = self._reception()
            if name in faults:  # the fault names variables and files, which are no sender's business
                return _later("this webhook is not set up")
            return receive(reception, name, headers, body)
        finally:
            self._room.release()

    def _reception(self) -> tuple[Reception, dict[str, str]]:
        """As it was opened; where something was missing, asked again each time, and where the file has changed."""
        here, home = self._premises, self._premises.home
        with self._turn:
            if self._opened is None or self._opened[1] or self._file is not home.file:
                self._opened = tolerant_reception(home, here.store, here.registry, defaults_of(home))
                self._file = home.file
            return self._opened


async def deliver(request: Request) -> Response:
    """Take one delivery."""
    body = await request.body()
    headers = {name.lower(): value for name, value in request.headers.items()}
    porch = _porch(request)
    told = await run_in_threadpool(porch.answer, request.path_params["name"], headers, body)
    raw = json.dumps({key: value for key, value in told.body.items() if value is not None}).encode()
    return Response(raw, told.status, dict(told.headers), media_type="application/json")


def _porch(request: Request) -> Porch:
    state = request.app.state
    if not hasattr(state, "porch"):
        state.porch = Porch(state.premises)
    found: Porch = state.porch
    return found


def _later(why: str) -> Answer:
    return Answer(503, {"error": why}, {"Retry-After": str(RETRY_S)})


ROUTES: Final[tuple[BaseRoute, ...]] = (Route("/hooks/{name}", deliver, methods=["POST"]),)
