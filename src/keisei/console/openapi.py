"""The OpenAPI document: what can be asked under /api/v1, read off the pages and orders themselves."""

import re
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import Struct

from keisei import __version__
from keisei.console import table
from keisei.console.page import Order, Page

PROBLEM: Final = "application/problem+json"
REFERENCE: Final = "#/components/schemas/{name}"
PARAMETER: Final = re.compile(r"\{(\w+)(?::\w+)?\}")
FAILURES: Final = {
    400: "the request is malformed",
    401: "the token is missing or wrong",
    403: "not allowed to whoever asks",
    404: "there is no such thing",
    405: "another method is meant",
    408: "the body took too long",
    409: "it cannot be done as things are",
    413: "the body is too large",
    415: "another content type is expected",
    421: "this server does not answer for that host",
    422: "the request says something else than what can be asked",
    429: "too many requests",
    503: "the store or the disk is away; try again",
}


class Problem(Struct, frozen=True, kw_only=True):
    """What went wrong, as RFC 9457 has it."""

    type: str
    """What kind of problem, as an address."""
    title: str
    """That kind in words."""
    status: int
    """The status of the answer."""
    detail: str
    """What is wrong with this request."""
    hint: str | None = None
    """What to do next."""
    errors: tuple[dict[str, Any], ...] = ()
    """Every field that is at fault."""


@cache
def document() -> dict[str, Any]:
    """The document, OpenAPI 3.1."""
    kinds: set[type[Struct]] = {Problem}
    kinds |= {kind for page in table.PAGES for kind in (page.asks, page.shows)}
    kinds |= {kind for order in table.ORDERS for kind in (order.asks, order.shows)}
    ordered = sorted(kinds, key=lambda kind: (kind.__module__, kind.__qualname__))
    shown, schemas = msgspec.json.schema_components(ordered, ref_template=REFERENCE)
    named = dict(zip(ordered, shown, strict=True))
    paths: dict[str, Any] = {}
    for page in table.PAGES:
        paths.setdefault(_path(page.twin), {})["get"] = _reading(page, named, schemas)
    for order in table.ORDERS:
        paths.setdefault(_path(order.twin), {})["post"] = _ordering(order, named, schemas)
    for path, operations in table.EXTRA_PATHS.items():
        paths.setdefault(path, {}).update({method: _other(each) for method, each in operations.items()})
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "keisei",
            "version": __version__,
            "description": "Everything the console shows and orders. Every page has its twin here.",
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": schemas, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _path(path: str) -> str:
    return PARAMETER.sub(r"{\1}", path)


def _reading(page: Page, named: dict[type, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    inside = PARAMETER.findall(page.twin)
    return {
        "operationId": _name("show", page.path),
        "summary": page.summary,
        "tags": [page.room],
        "parameters": _parameters(page.asks, inside, named, schemas),
        "responses": {
            "200": {
                "description": "what there is",
                "headers": {"ETag": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": named[page.shows]}},
            },
            "304": {"description": "as the client has it already"},
            **_failures(*(each for each in FAILURES if each not in (408, 409, 413, 415))),
        },
    }


def _ordering(order: Order, named: dict[type, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    inside = PARAMETER.findall(order.twin)
    key = {"name": "Idempotency-Key", "in": "header", "required": False}
    key |= {"schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"}}
    key["description"] = "The same key and body again are answered as the first time, and nothing is done twice."
    return {
        "operationId": _name("order", order.path),
        "summary": order.summary,
        "tags": [order.path.strip("/").partition("/")[0]],
        "parameters": [
            *_parameters(order.asks, inside, named, schemas, only=inside),
            *([key] if order.needs == "operator" else []),
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _body(order, inside, named, schemas)}},
        },
        "responses": {
            str(order.status): {
                "description": "done",
                "content": {"application/json": {"schema": named[order.shows]}},
            },
            **_failures(*FAILURES),
        },
    }


def _other(operation: dict[str, Any]) -> dict[str, Any]:
    """A route of its own making, with what the guard and the frame may answer before it is reached."""
    return {**operation, "responses": {**_failures(*FAILURES), **operation["responses"]}}


def _fields(kind: type[Struct], named: dict[type, Any], schemas: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The properties of a record and those that must be said."""
    schema = schemas[named[kind]["$ref"].rpartition("/")[2]]
    return schema.get("properties", {}), schema.get("required", [])


def _parameters(
    kind: type[Struct],
    inside: list[str],
    named: dict[type, Any],
    schemas: dict[str, Any],
    only: list[str] | None = None,
) -> list[dict[str, Any]]:
    properties, required = _fields(kind, named, schemas)
    return [
        {
            "name": name,
            "in": "path" if name in inside else "query",
            "required": name in inside or name in required,
            "schema": _said(schema),
            **({"description": schema["description"]} if "description" in schema else {}),
        }
        for name, schema in properties.items()
        if only is None or name in only
    ]


def _said(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema: what is not said has no null to say."""
    kept = {key: value for key, value in schema.items() if key not in ("description", "default")}
    options = [each for each in kept.pop("anyOf", []) if each != {"type": "null"}]
    return {**kept, **options[0]} if len(options) == 1 else ({**kept, "anyOf": options} if options else kept)


def _body(order: Order, inside: list[str], named: dict[type, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    properties, required = _fields(order.asks, named, schemas)
    return {
        "type": "object",
        "properties": {name: schema for name, schema in properties.items() if name not in inside},
        "required": [name for name in required if name not in inside],
        "additionalProperties": False,
    }


def _failures(*statuses: int) -> dict[str, Any]:
    content = {PROBLEM: {"schema": {"$ref": REFERENCE.format(name="Problem")}}}
    return {str(status): {"description": FAILURES[status], "content": content} for status in statuses}


def _name(verb: str, path: str) -> str:
    words = [word for word in re.split(r"[^A-Za-z0-9]+", path) if word]
    return "_".join([verb, *words]) or f"{verb}_home"
