"""The original runtime's HTTP routes, for programs that were written for it: its addresses, shapes and status codes.

They stand under `/api/` beside our own under `/api/v1`, and are left out of the OpenAPI document: that describes ours.
What is wrong is told as `{"error": ...}` with 400, a wrong method with 405, an unknown address with 404. HTML never
comes out of here: what a file says stands inside JSON.

Where they differ from the original, on purpose:
- A token or a session is needed, and the guard answers in its own words (401, 403, 413, 421, 429); viewers and whoever
  comes to a read-only console can order nothing (403). Every address knows its methods; the original lets most of them
  be asked by any.
- What is asked is checked: a type, profile, adapter, skill or parent that nobody knows, a status that is none, a number
  that is none, or a field of another type is a 400 with the reason, and nothing is queued. Unknown fields are let pass.
- A message becomes a task of the project's type `operator`. A project without one gets an `agent-task`: under the
  role of the profile that is asked for, or else `read-only`, because a message names no files to write. The default
  adapter is not forced over the profile's. `/word` calls a skill where there is one of that name, and is a word where
  there is none. A parent must be there, and the task is shown below it.
- A task that runs can be canceled: it is asked to end, and `status` is still `running` then.
- A tick `at` a moment far ahead fires each schedule for its next slot at most, and moves none to that moment.
- A sensor event is recorded with what it proposes or not at all; one that is refused may be sent again.
- Artifacts and snapshots are read inside their folder only: no `..`, no link, no device. Long ones are cut, and then
  `truncated` says so. The path of a snapshot is `snapshots/<name>`; whole paths are understood too.
- The stream keeps its connection alive, and tells how things stand anew to whoever cannot keep up.
- A request with an `Idempotency-Key` is carried out once.
"""

import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, get_args

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Receive, Scope, Send

from keisei.console import original_file, original_order, original_snapshot
from keisei.console.answer import as_json, wrong
from keisei.console.asking import Unfit
from keisei.console.original_ask import limit, number, read_body, word
from keisei.console.original_order import Told
from keisei.console.original_shape import event_shape, paused, state, task_shape
from keisei.console.original_stream import stream
from keisei.console.page import API
from keisei.console.permission import allowed
from keisei.console.premises import Premises
from keisei.console.repeat import repeated
from keisei.console.visitor import Visitor
from keisei.records.error import AuthorError, OperatorError
from keisei.records.move import EventQuery
from keisei.records.observation import SeenQuery
from keisei.records.progression import WorkflowQuery
from keisei.records.task import TaskStatus
from keisei.wiring.compat_shape import changed_tasks, schedule_shape, seen_shape, whole_workflow

Handler = Callable[[Request], Awaitable[Response]]
View = Callable[[Premises, QueryParams], dict[str, Any]]
Act = Callable[[Premises, dict[str, Any], Visitor], Told]
STATUSES: Final[tuple[TaskStatus, ...]] = get_args(TaskStatus)
WORKFLOWS: Final = 1000
"""Workflows that are listed: the newest."""
SERVER_FAULT: Final = 500


class Door:
    """One address: what it does, by method. It answers every method and every error in the original's words."""

    def __init__(self, **handlers: Handler) -> None:
        """`GET` and `POST`."""
        self._handlers = handlers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        answer = await self._answer(Request(scope, receive))
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        if not self._handlers:
            return _error(404, "Not Found")
        handler = self._handlers.get("GET" if request.method == "HEAD" else request.method)
        if handler is None:
            return _error(405, f"{request.method} not supported", {"allow": ", ".join(self._handlers)})
        try:
            return await handler(request)
        except HTTPException as error:
            return _error(error.status_code, error.detail)
        except Exception as error:  # noqa: BLE001 - whoever asked never sees what broke
            return _failed(error)


class Elsewhere(Route):
    """Every other address under `/api/`, save ours."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether it is one."""
        found, child = super().matches(scope)
        is_ours = child.get("path_params", {}).get("rest", "").partition("/")[0] == API.rpartition("/")[2]
        return (Match.NONE, {}) if is_ours else (found, child)


def _error(status: int, told: str, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": told}, status, headers)


def _failed(error: Exception) -> Response:
    found = wrong(error)
    told = [found.detail]
    if isinstance(error, AuthorError):
        told += [each["message"] for each in found.errors]
    if found.hint and not isinstance(error, Unfit):  # its hint names a document that does not tell of these routes
        told.append(found.hint)
    return _error(found.status if found.status >= SERVER_FAULT else 400, "; ".join(told))


def _reading(view: View) -> Handler:
    async def show(request: Request) -> Response:
        def made() -> Response:
            return as_json(request, view(request.app.state.premises, request.query_params))

        return await run_in_threadpool(made)

    return show


def _ordering(act: Act, *, may_be_empty: bool = False) -> Handler:
    return _asking(lambda premises, _request, body, visitor: act(premises, body, visitor), may_be_empty=may_be_empty)


def _asking(
    act: Callable[[Premises, Request, dict[str, Any], Visitor], Told], *, may_be_empty: bool = False
) -> Handler:
    async def order(request: Request) -> Response:
        data = await request.body()

        def made() -> Response:
            visitor = allowed(request, "operator")
            body = read_body(data, may_be_empty=may_be_empty)

            def done() -> Response:
                status, told = act(request.app.state.premises, request, body, visitor)
                return as_json(request, told, status)

            return repeated(request, visitor, data, done)

        return await run_in_threadpool(made)

    return order


def _heartbeat(premises: Premises, _query: QueryParams) -> dict[str, Any]:
    """Whether the store answers, and how soon."""
    begun = time.perf_counter()
    premises.store.pauses()
    return {"ok": True, "latency_ms": round((time.perf_counter() - begun) * 1000)}


def _workflows(premises: Premises, _query: QueryParams) -> dict[str, Any]:
    found = premises.store.workflows(WorkflowQuery(limit=WORKFLOWS))
    return {"workflows": [whole_workflow(each) for each in reversed(found)]}


def _tasks(premises: Premises, query: QueryParams) -> dict[str, Any]:
    said = word(query, "status")
    statuses = tuple(each for each in STATUSES if each == said)
    if said and not statuses:
        raise OperatorError(f"status `{said[:100]}` is none", f"there is {', '.join(STATUSES)}")
    found = changed_tasks(premises.store, limit(query, 20), statuses)
    return {"tasks": [task_shape(each) for each in found]}


def _events(premises: Premises, query: QueryParams) -> dict[str, Any]:
    since = max(0, number(query, "since", 0))
    found = premises.store.events(EventQuery(after=since, newest=not since, limit=limit(query, 50)))
    return {"events": [event_shape(each) for each in found]}


def _schedules(premises: Premises, _query: QueryParams) -> dict[str, Any]:
    """Those whose rows can be read; the others stand on the page of schedules."""
    found = (each.record for each in premises.store.schedules())
    return {"schedules": [schedule_shape(each) for each in found if each is not None]}


def _sensor_events(premises: Premises, query: QueryParams) -> dict[str, Any]:
    found = premises.store.seen(SeenQuery(limit=limit(query, 50)))
    return {"events": [seen_shape(each) for each in found]}


def _artifacts(premises: Premises, query: QueryParams) -> dict[str, Any]:
    return original_file.listed(premises.home.artifacts, word(query, "path"))


def _artifact(premises: Premises, query: QueryParams) -> dict[str, Any]:
    return original_file.read(premises.home.artifacts, word(query, "path"))


def _snapshots(premises: Premises, _query: QueryParams) -> dict[str, Any]:
    return {"snapshots": original_snapshot.listed(premises.home.artifacts)}


def _snapshot(premises: Premises, query: QueryParams) -> dict[str, Any]:
    return original_snapshot.snapshot(premises.home.artifacts, word(query, "path"))


def _report(premises: Premises, query: QueryParams) -> dict[str, Any]:
    return original_snapshot.report(premises.home.artifacts, word(query, "before"), word(query, "after"))


def _latest(premises: Premises, _query: QueryParams) -> dict[str, Any]:
    return {"report": original_snapshot.latest(premises.home.artifacts)}


def _cancel(premises: Premises, request: Request, body: dict[str, Any], visitor: Visitor) -> Told:
    return original_order.cancel(premises, request.path_params["task_id"], body, visitor)


ROUTES: Final[tuple[BaseRoute, ...]] = (
    Route("/api/state", Door(GET=_reading(lambda premises, _query: state(premises)))),
    Route("/api/heartbeat", Door(GET=_reading(_heartbeat))),
    Route("/api/workflows", Door(GET=_reading(_workflows))),
    Route("/api/tasks", Door(GET=_reading(_tasks))),
    Route("/api/tasks/queue", Door(POST=_ordering(original_order.queue))),
    Route("/api/tasks/{task_id}/cancel", Door(POST=_asking(_cancel, may_be_empty=True))),
    Route("/api/events", Door(GET=_reading(_events))),
    Route("/api/schedules", Door(GET=_reading(_schedules), POST=_ordering(original_order.put_schedule))),
    Route("/api/schedules/tick", Door(POST=_ordering(original_order.tick, may_be_empty=True))),
    Route("/api/sensors/events", Door(GET=_reading(_sensor_events), POST=_ordering(original_order.record_event))),
    Route("/api/artifacts", Door(GET=_reading(_artifacts))),
    Route("/api/artifact", Door(GET=_reading(_artifact))),
    Route("/api/snapshots", Door(GET=_reading(_snapshots))),
    Route("/api/snapshot", Door(GET=_reading(_snapshot))),
    Route("/api/report", Door(GET=_reading(_report))),
    Route("/api/report/latest", Door(GET=_reading(_latest))),
    Route(
        "/api/pause",
        Door(GET=_reading(lambda premises, _query: paused(premises.store)), POST=_ordering(original_order.pause)),
    ),
    Route("/api/stream", Door(GET=stream)),
    Elsewhere("/api/{rest:path}", Door()),
)
