"""The guard: stands around the application, and lets nothing through that a page of another site could have sent.

In this order: the name that was called, the shape of the request, the site it comes from, the size it says, who asks,
how often, the body, the form's token. What is refused never reaches the application.
"""

import asyncio
from contextlib import suppress
from typing import Any, Final, NamedTuple

from keisei.console.address import LOOPBACK
from keisei.console.guard_body import Bodies, Body, Gone, form_token
from keisei.console.guard_config import GuardConfig, Limits
from keisei.console.guard_door import check_enter, enter, go
from keisei.console.guard_head import Head, check_host, check_shape, check_source, has_source
from keisei.console.guard_rate import Buckets, Streams, neighbourhood
from keisei.console.guard_refusal import Answer, Attempt, Refusal, answer_of, later, place_of
from keisei.console.guard_way import Heard, Out, Watch
from keisei.console.guard_who import Doorkeeper
from keisei.console.session import right_csrf
from keisei.console.visitor import Visitor
from keisei.records.error import KeiseiError
from keisei.wiring.refusal import Brake

__all__ = ["Guard", "GuardConfig", "Limits"]

BUG: Final = Refusal(500, "this is a bug in keisei", hint="the console's own output says more; please report it")


class Broken(Exception):
    """The application broke in the middle of an answer: the server hangs up."""


class Visit(NamedTuple):
    """One request."""

    scope: Any
    receive: Any
    head: Head
    body: Body
    out: Out


class Guard:
    """An ASGI application around another. The visitor is `scope["state"]["visitor"]`; None where anybody may ask."""

    def __init__(self, app: Any, config: GuardConfig) -> None:  # noqa: ANN401 - as ASGI has it
        """Nothing came yet. Raises OperatorError where the keys can neither be read nor made."""
        self._app, self._config, limits = app, config, config.limits
        self._origins = config.address.origins
        self._keeper = Doorkeeper(config)
        self._changes = Buckets(limits.per_s, limits.burst, config.clock)
        self._failures = Buckets(limits.failures_per_s, limits.failures, config.clock)
        self._streams = Streams(limits.streams, limits.streams_each)
        self._bodies, self._deliveries = Bodies(limits.bodies), Bodies(limits.bodies)
        self._brake = Brake(config.clock)
        self._telling: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as ASGI has them
        """Pass a request on, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._guarded(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _guarded(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - as above
        head = Head(scope)
        out = Out(send, head, self._streams, with_hsts=self._with_hsts(head))
        body = self._body(head)
        try:
            await self._judged(Visit(scope, receive, head, body, out))
        except Refusal as refusal:
            await out.answer(answer_of(self._braked(refusal, head), is_api=head.is_api))
        except Gone:
            pass
        except KeiseiError as error:
            await out.answer(answer_of(Refusal(503, error.message, hint=error.hint), is_api=head.is_api))
        finally:
            body.drop()
            out.release()

    def _body(self, head: Head) -> Body:
        """Nothing yet. Strangers' bodies are counted apart: they take no room from those of visitors."""
        limits = self._config.limits
        if head.path.startswith("/hooks/"):
            return Body(self._deliveries, limits.hook)
        return Body(self._deliveries if head.is_public else self._bodies, limits.body)

    def _with_hsts(self, head: Head) -> bool:
        """Whether browsers should come by TLS alone. Never for `localhost`: other ports of it would be cut off too."""
        host = next((value for name, value in head.headers if name == b"host"), b"").decode("latin-1")
        return self._config.address.is_tls and host in self._origins and not host.startswith(LOOPBACK)

    async def _judged(self, visit: Visit) -> None:
        """Raises Refusal, Gone, Broken, KeiseiError."""
        head, body, out = visit.head, visit.body, visit.out
        origin = check_host(head, self._origins)
        check_shape(head)
        check_source(head, origin)
        has_body = body.check(head)
        if head.path == "/enter":
            await out.answer(await asyncio.to_thread(enter, self._config, self._keeper, check_enter(head)))
            return
        visitor = None if head.is_public else self._keeper.visitor(head)
        self._check_change(head, visitor)
        if has_body:
            await body.read(visit.receive, self._config.limits.body_s)
        self._check_form(head, visitor, body.data)
        if head.path == "/leave" and visitor is not None:
            await out.answer(await self._left(head, visitor))
            return
        await self._inside(visit, visitor)

    def _check_change(self, head: Head, visitor: Visitor | None) -> None:
        """Raises Refusal for a change that this visitor may not ask for, or not so often."""
        if head.is_safe:
            return
        if visitor is not None and visitor.session is not None and not has_source(head):
            raise Refusal(403, "the browser does not say which site asks", what="origin")
        is_free = visitor is None or visitor.role == "operator" or head.path == "/leave"
        if not is_free and not self._config.viewer_may(head.method, head.path):
            raise Refusal(403, "viewers look and do not order", hint="ask for an operator's link")
        if wait := self._changes.spend(_purse(head, visitor)):
            raise later(wait, "too many changes in a short time")

    def _check_form(self, head: Head, visitor: Visitor | None, data: bytes) -> None:
        """Raises Refusal for a change in a session's name that none of its pages asked for."""
        if head.is_safe or visitor is None or visitor.session is None:
            return
        said = head.one(b"x-csrf-token")
        told = said.decode("latin-1") if said is not None else form_token(head, data)
        if not right_csrf(visitor, told):
            hint = "load the page again; programs say a token in `Authorization`"
            raise Refusal(403, "the form is not one of this session's", hint=hint, what="csrf")

    async def _left(self, head: Head, visitor: Visitor) -> Answer:
        if head.method != "POST":
            raise Refusal(405, "a session is left by POST", headers={"allow": "POST"})
        return await asyncio.to_thread(go, self._config, self._keeper, visitor)

    async def _inside(self, visit: Visit, visitor: Visitor | None) -> None:
        """Raises Broken."""
        head, out, config = visit.head, visit.out, self._config
        out.key = _purse(head, visitor)
        watch = Watch(config.closing, lambda: self._knows(head), config.limits.watch_s)
        heard = Heard(visit.receive, visit.body.data, out, watch)
        state = {**visit.scope.get("state", {}), "visitor": visitor}
        try:
            await self._app({**visit.scope, "scheme": config.address.scheme, "state": state}, heard, out)
        except Exception as error:  # noqa: BLE001 - whoever asked never sees what broke
            with suppress(Exception):
                config.broken(error)
            if out.has_begun and not out.is_whole:
                raise Broken from None
            if not out.has_begun:
                await out.answer(answer_of(BUG, is_api=head.is_api))
        if heard.is_ended:
            await out.end()

    def _knows(self, head: Head) -> bool:
        """Whether whoever asked would still be let in."""
        try:
            return head.is_public or self._keeper.visitor(head) is not None
        except Refusal:
            return False

    def _braked(self, refusal: Refusal, head: Head) -> Refusal:
        """The refusal, written down; in its place `come again later` for somebody who tries and tries.

        Whoever is known is never held up by it, also behind a proxy that lends everybody its address.
        """
        if refusal.what is None:
            return refusal
        self._tell(refusal, head)
        if refusal.what in ("host", "origin"):
            return refusal
        wait = self._failures.spend(neighbourhood(head.address))
        return later(wait, "too many wrong attempts") if wait else refusal

    def _tell(self, refusal: Refusal, head: Head) -> None:
        counted = self._brake.passed()
        if counted is None or refusal.what is None:
            return
        attempt = Attempt(
            what=refusal.what,
            reason=refusal.detail,
            method=head.method,
            place=place_of(head.path),
            address=head.address,
            counted=counted,
        )
        task = asyncio.ensure_future(self._told(attempt))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _told(self, attempt: Attempt) -> None:
        """A ledger that is away holds nobody up, and lets nobody in."""
        try:
            await asyncio.to_thread(self._config.refused, attempt)
        except Exception as error:  # noqa: BLE001 - whatever it is
            with suppress(Exception):
                self._config.broken(error)


def _purse(head: Head, visitor: Visitor | None) -> str:
    """By whom changes and streams are counted."""
    return neighbourhood(head.address) if visitor is None else visitor.session or f"{visitor.role} token"
