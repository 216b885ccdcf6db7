"""One exchange: a request goes out, redirects are followed, an answer comes in."""

import ssl
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from time import monotonic
from typing import NamedTuple

import httpcore2
import httpx2

from kei_http.address import origin, url_of
from kei_http.context import Context, Data
from kei_http.dial import Dialer, PrivateAddressError
from kei_http.header import Headers, headers_of

MOST_REDIRECTS = 10
REDIRECTS = {301, 302, 303, 307, 308}
MARGIN_S = 0.25
"""Left of the call's time to say that it is up."""


LONGEST_S = 86_400.0
SLACK = 262_144
NETWORK = (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpx2.RequestError)
"""Everything the network can do to a call."""
Fault = Callable[[Context, Exception], Exception]
"""What such an error is called."""


class Order(NamedTuple):
    """What is asked for."""

    method: str
    url: httpx2.URL
    headers: Headers
    secret_headers: Headers
    """Sent to the first origin only."""
    body: bytes | None = None
    redirects: int = 0
    """How many are followed."""
    most: int = 0
    """The most bytes of a body, as it is sent, that are of any use."""


class Answer(NamedTuple):
    """What came back; its body is still on its way."""

    url: httpx2.URL
    response: httpx2.Response
    redirects: list[str]
    """The addresses that led here, in order."""


class Body(httpx2.SyncByteStream):
    """A body that is read once, and not without end: what is packed may unpack to nothing for ever."""

    def __init__(self, response: httpcore2.Response, most: int) -> None:
        self._response, self._most = response, most

    def __iter__(self) -> Iterator[bytes]:
        """What comes, as it comes. Raises RemoteProtocolError where that is more than anybody wants."""
        left = self._most
        for chunk in self._response.iter_stream():
            left -= len(chunk)
            if left < 0:
                message = f"more than {self._most} bytes came"
                raise httpcore2.RemoteProtocolError(message)
            yield chunk


def read_order(context: Context, given: Data, own: Headers, most: int) -> Order:
    """What get and download ask for. Raises BadAddress, BadHeader."""
    plain, secret = headers_of(context, given, own)
    url = url_of(context, given["url"], given.get("query"))
    redirects = int(given.get("max_redirects", MOST_REDIRECTS))
    return Order("GET", url, plain, secret, redirects=redirects, most=packed(most))


def packed(most: int) -> int:
    """How many bytes so many can have when they are packed badly, and a little more: a chunk may end later."""
    return most + most // 64 + SLACK


@cache
def trust() -> ssl.SSLContext:
    """Whom certificates are trusted of: the machine's own authorities, whatever variables say."""
    return httpx2.create_ssl_context(trust_env=False)


@contextmanager
def exchange(context: Context, order: Order, given: Data, fault: Fault) -> Iterator[Answer]:
    """The answer, open until the end of the block. What the network does before or in the block becomes a fault.

    No proxy, no cookie and no password comes from the surroundings. Raises PrivateAddress, BadRedirect, and what
    `fault` makes.
    """
    until = monotonic() + min(context.remaining_s() - MARGIN_S, given.get("timeout_s", LONGEST_S))
    dialer = Dialer(until, allow_private=bool(given.get("allow_private", False)))
    try:
        with httpcore2.ConnectionPool(ssl_context=trust(), max_keepalive_connections=0, network_backend=dialer) as pool:
            answer, response = _answered(context, pool, order)
            with closing(response):
                yield answer
    except PrivateAddressError as error:
        raise context.error("PrivateAddress", f"{error}; `allow_private` reaches it") from error
    except NETWORK as error:
        raise fault(context, error) from error


def _answered(context: Context, pool: httpcore2.ConnectionPool, order: Order) -> tuple[Answer, httpcore2.Response]:
    """The first answer that is no redirect to be followed; it must be closed."""
    seen: list[str] = []
    while True:
        response = pool.handle_request(_request(order))
        try:
            answer = Answer(order.url, _readable(response, order.most), seen)
            following = _next(context, order, answer)
        except BaseException:
            response.close()
            raise
        if following is None:
            return answer, response
        response.close()
        seen = [*seen, str(order.url)]
        order = following


def _request(order: Order) -> httpcore2.Request:
    url = order.url
    headers = {"host": url.netloc.decode("ascii")} | order.headers | order.secret_headers
    return httpcore2.Request(
        method=order.method,
        url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in headers.items()],
        content=order.body,
    )


def _readable(response: httpcore2.Response, most: int) -> httpx2.Response:
    """The answer, to be unpacked. Raises RemoteProtocolError where it is packed twice: that only bombs are."""
    made = httpx2.Response(response.status, headers=response.headers, stream=Body(response, most))
    if len(made.headers.get_list("content-encoding", split_commas=True)) > 1:
        message = "the answer is packed twice"
        raise httpcore2.RemoteProtocolError(message)
    return made


def _next(context: Context, order: Order, answer: Answer) -> Order | None:
    """What a redirect asks for next; None where it is none, or none is followed. Raises BadRedirect."""
    location = answer.response.headers.get("location")
    if answer.response.status_code not in REDIRECTS or location is None or not order.redirects:
        return None
    if len(answer.redirects) >= order.redirects:
        raise context.error("BadRedirect", f"more than {order.redirects} redirects; the last came from {order.url}")
    try:
        joined = str(order.url.join(location))
    except (httpx2.InvalidURL, ValueError) as error:
        raise context.error("BadRedirect", f"{order.url} redirects to what is no address: {error}") from error
    url = url_of(context, joined, code="BadRedirect")
    if (order.url.scheme, url.scheme) == ("https", "http"):
        raise context.error("BadRedirect", f"{order.url} redirects from https to http")
    secret = order.secret_headers if origin(url) == origin(order.url) else {}
    return order._replace(url=url, secret_headers=secret)
