"""The application: every page, its twin, every order, as routes."""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from keisei.console import table
from keisei.console.answer import Wrong, as_json, failed, frame, is_api, tagged, wrong
from keisei.console.asking import Fault, Unfit, converted, from_json, from_words
from keisei.console.openapi import document
from keisei.console.page import API, Order, Page
from keisei.console.permission import allowed
from keisei.console.premises import Premises
from keisei.console.repeat import repeated
from keisei.console.templating import STATIC, render

Endpoint = Callable[[Request], Awaitable[Response]]
FORM: Final = "application/x-www-form-urlencoded"
JSON: Final = "application/json"


def application(premises: Premises) -> Starlette:
    """Everything behind the guard."""
    routes: list[BaseRoute] = [*table.ROUTES]
    for page in table.PAGES:
        routes += [_route(page.twin, _twin(page), "GET"), _route(page.path, _page(page), "GET")]
    for order in table.ORDERS:
        routes += [_route(order.twin, _call(order), "POST"), _route(order.path, _form(order), "POST")]
    routes.append(_route(f"{API}/openapi.json", _document, "GET"))
    routes.append(Mount("/static", StaticFiles(directory=STATIC)))
    made = Starlette(routes=routes, exception_handlers={HTTPException: _refused})
    made.state.premises = premises
    return made


def _route(path: str, endpoint: Endpoint, method: str) -> Route:
    return Route(path, told(endpoint), methods=[method])


def told(endpoint: Endpoint) -> Endpoint:
    """The endpoint, whose errors become answers."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except HTTPException:
            raise
        except Exception as error:  # noqa: BLE001 - whoever asked never sees what broke
            found = wrong(error)
            return await run_in_threadpool(failed, request, found)

    return answer


def _page(page: Page) -> Endpoint:
    async def show(request: Request) -> Response:
        def made() -> Response:
            asks = from_words(page.asks, request.query_params.multi_items(), request.path_params, strict=False)
            shown = page.view(_premises(request), asks)
            if page.leads is not None and (elsewhere := page.leads(shown)) is not None:
                return RedirectResponse(elsewhere, 303)
            text = render(page.template, page=shown, asks=asks, twin=page.twin, **frame(request, room=page.room))
            return tagged(request, HTMLResponse(text))

        return await run_in_threadpool(made)

    return show


def _twin(page: Page) -> Endpoint:
    async def show(request: Request) -> Response:
        def made() -> Response:
            asks = from_words(page.asks, request.query_params.multi_items(), request.path_params, strict=True)
            return as_json(request, page.view(_premises(request), asks))

        return await run_in_threadpool(made)

    return show


def _call(order: Order) -> Endpoint:
    async def act(request: Request) -> Response:
        _check_kind(request, JSON)
        body = await request.body()

        def made() -> Response:
            visitor = allowed(request, order.needs)
            asks = from_json(order.asks, body, request.path_params)

            def done() -> Response:
                return as_json(request, _done(order, request, asks), order.status)

            if order.needs == "viewer":  # it changes nothing, so nothing of it is kept: not for a viewer either
                return done()
            return repeated(request, visitor, body, done)

        return await run_in_threadpool(made)

    return act


def _form(order: Order) -> Endpoint:
    async def act(request: Request) -> Response:
        _check_kind(request, FORM)
        try:
            words = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=1000)
        except ValueError:
            raise Unfit([Fault("", "the body is no form in UTF-8")]) from None

        def made() -> Response:
            allowed(request, order.needs)
            asked = [(name, word) for name, word in words if name != "csrf"]  # the guard has looked at that
            if order.form is None:
                asks = from_words(order.asks, asked, request.path_params, strict=False)
            else:
                asks = converted(order.asks, {**order.form(asked), **request.path_params}, strict=False)
            return RedirectResponse(order.then(_done(order, request, asks)), 303)

        return await run_in_threadpool(made)

    return act


def _done(order: Order, request: Request, asks: msgspec.Struct) -> msgspec.Struct:
    return order.act(_premises(request), asks, request.state.visitor)


def _check_kind(request: Request, kind: str) -> None:
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != kind:
        raise HTTPException(415, f"send {kind}")


def _premises(request: Request) -> Premises:
    found: Premises = request.app.state.premises
    return found


async def _document(request: Request) -> Response:
    return as_json(request, document())


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - it is registered for nothing else
    detail = error.detail or "there is nothing at this address"
    found = Wrong(error.status_code, detail, "/api/v1/openapi.json lists what there is" if is_api(request) else None)
    response = await run_in_threadpool(failed, request, found)
    response.headers.update(dict(error.headers or {}))
    return response
