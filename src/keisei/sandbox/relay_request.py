"""What a harness may ask of the model's server, and how the server is asked. Values in, values out."""

import hmac
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import h11

from keisei.records.relay import Protocol, Upstream
from keisei.rules.metering import Form
from keisei.sandbox.relay_place import Place

LARGEST = 64 * 1024 * 1024
"""Bytes of the body of a request."""
SPENT = "keisei: the budget of this task is used up"
SPENT_STATUS = 400
"""Every harness gives up on it at once; others are tried again, or taken for a wrong key."""

STEMS: Mapping[Protocol, str] = {"anthropic": "", "openai": "/v1", "ollama": ""}
"""What of a path inside stands in the server's address already."""
_MODELS: Mapping[tuple[str, str], Form | None] = {("GET", "/v1/models"): None}
_OPENAI: Mapping[tuple[str, str], Form | None] = {
    ("POST", "/v1/responses"): "responses",
    ("POST", "/v1/responses/compact"): "responses",
    ("POST", "/v1/chat/completions"): "chat",
    ("POST", "/v1/completions"): "chat",
    **_MODELS,
}
OPEN: Mapping[Protocol, Mapping[tuple[str, str], Form | None]] = {
    "anthropic": {("POST", "/v1/messages"): "messages", ("POST", "/v1/messages/count_tokens"): None, **_MODELS},
    "openai": _OPENAI,
    "ollama": {
        **{("POST", f"/api/{each}"): "ollama" for each in ("generate", "chat", "embed")},
        **{("GET", f"/api/{each}"): None for each in ("tags", "version", "ps")},
        ("POST", "/api/show"): None,
        **_OPENAI,
    },
}
"""Every path that leads on, and the form of its answer where it costs tokens."""
_ONE_MODEL = re.compile(r"/v1/models(?:/[A-Za-z0-9_:@-][A-Za-z0-9._:@-]*){1,4}")
_TARGET = re.compile(r"/[\x21\x22\x24-\x7e]*")

_HOP = {"connection", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"}
"""Headers that end at the next neighbour."""
_KEYS = {
    "authorization",
    "proxy-authorization",
    "proxy-authenticate",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
}
_OURS = {"host", "content-length", "accept-encoding", "expect", "via", "forwarded", "x-real-ip"}
_PAYERS = {"openai-organization", "openai-project", "anthropic-organization", "anthropic-workspace"}
"""Headers that say on whose account it goes: that is the operator's choice, by the key."""
_DETOURS = {"x-http-method-override", "x-http-method", "x-method-override", "x-original-url", "x-rewrite-url"}
"""Headers by which some servers are talked into another path than the one that was checked."""
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    413: "request_too_large",
    503: "overloaded_error",
}

Headers = list[tuple[bytes, bytes]]


class Rejected(Exception):
    """A request that does not go on."""

    def __init__(self, status: int, message: str) -> None:
        """The status and the sentence the harness is told."""
        super().__init__(message)
        self.status, self.message = status, message


class Asked(NamedTuple):
    """A request as the server gets it."""

    head: h11.Request
    form: Form | None
    """How to read the tokens of its answer; None where it costs none."""


def asked(request: h11.Request, upstream: Upstream, place: Place, token: str) -> Asked:
    """The request to make of the harness's. Raises Rejected where there is none to make."""
    _check_form(request)
    if not _has_token(request, token):
        raise Rejected(401, "keisei: this is not the token of the attempt")
    target = request.target.decode("ascii")
    path, mark, query = target.partition("?")
    form = _form(upstream.protocol, request.method.decode("ascii"), path)
    onward = place.prefix + path.removeprefix(STEMS[upstream.protocol]) + mark + query
    headers = _onward(request, upstream, place)
    return Asked(h11.Request(method=request.method, target=onward, headers=headers), form)


def is_knock(request: h11.Request) -> bool:
    """Whether the harness only asks if anybody is there: that is answered here, and tells nobody anything."""
    return request.method == b"HEAD" and request.target == b"/"


def answered(response: h11.Response) -> Headers:
    """The headers of the answer, as the harness gets them."""
    named = _named(response)
    dropped = _HOP | named | {"set-cookie", "set-cookie2", "content-length"}
    kept = [(name, value) for name, value in response.headers.raw_items() if _lower(name) not in dropped]
    return kept + _framing(response)


def failure(protocol: Protocol, status: int, message: str) -> bytes:
    """An error in the form of the protocol, as JSON."""
    kind = _KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")  # noqa: PLR2004 - a server's
    if protocol == "ollama":
        value: object = {"error": message}
    elif protocol == "anthropic":
        value = {"type": "error", "error": {"type": kind, "message": message}}
    else:
        value = {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return json.dumps(value).encode()


def _check_form(request: h11.Request) -> None:
    headers = [name for name, _ in request.headers]
    if b"upgrade" in headers or request.method == b"CONNECT":
        raise Rejected(400, "keisei: a connection through the relay cannot become another one")
    if b"transfer-encoding" in headers and b"content-length" in headers:
        raise Rejected(400, "keisei: a request says its length in one way, not in two")
    if any(name == b"content-encoding" and value.lower() != b"identity" for name, value in request.headers):
        raise Rejected(400, "keisei: the body of a request is sent as it is, not compressed")
    if not _TARGET.fullmatch(request.target.decode("latin-1")):
        raise Rejected(400, "keisei: a request names a path and nothing else, in plain letters")
    length = next((value for name, value in request.headers if name == b"content-length"), b"0")
    if len(length) > 12 or int(length) > LARGEST:  # noqa: PLR2004 - digits, far more than any size
        raise Rejected(413, f"keisei: a request may hold {LARGEST} bytes")


def _has_token(request: h11.Request, token: str) -> bool:
    given = [value for name, value in request.headers if name == b"x-api-key"]
    bearers = [value for name, value in request.headers if name == b"authorization"]
    given += [value[7:].strip() for value in bearers if value[:7].lower() == b"bearer "]
    found = [hmac.compare_digest(each, token.encode()) for each in given]
    return any(found)


def _form(protocol: Protocol, method: str, path: str) -> Form | None:
    if (method, path) in OPEN[protocol]:
        return OPEN[protocol][method, path]
    if method == "GET" and _ONE_MODEL.fullmatch(path):
        return None
    raise Rejected(403, "keisei: the relay leads to the model and nowhere else; this path is not open")


def _onward(request: h11.Request, upstream: Upstream, place: Place) -> Headers:
    adds = {name.lower(): value for name, value in upstream.adds.items()}
    dropped = _HOP | _KEYS | _OURS | _PAYERS | _DETOURS | {"content-encoding"} | _named(request)
    headers: Headers = [(b"Host", place.written.encode())]
    for name, value in request.headers.raw_items():
        known = _lower(name)
        if known not in dropped and not known.startswith("x-forwarded-"):
            added = adds.pop(known, None)
            headers.append((name, value if added is None else value + b"," + added.encode()))
    headers += [(name.encode(), value.encode()) for name, value in adds.items()]
    headers.append((b"Accept-Encoding", b"identity"))
    return headers + _key(upstream) + _framing(request)


def _key(upstream: Upstream) -> Headers:
    if upstream.key is None or upstream.auth == "none":
        return []
    if upstream.auth == "bearer":
        return [(b"Authorization", b"Bearer " + upstream.key.encode())]
    return [(b"X-Api-Key", upstream.key.encode())]


def _framing(message: h11.Request | h11.Response) -> Headers:
    if any(name == b"transfer-encoding" for name, _ in message.headers):
        return [(b"Transfer-Encoding", b"chunked")]
    return [(b"Content-Length", value) for name, value in message.headers if name == b"content-length"]


def _named(message: h11.Request | h11.Response) -> set[str]:
    """Headers that the neighbour says are meant for the neighbour."""
    values = [value for name, value in message.headers if name == b"connection"]
    return {each.strip().lower() for value in values for each in value.decode("latin-1").split(",")}


def _lower(name: bytes) -> str:
    return name.decode("latin-1").lower()
