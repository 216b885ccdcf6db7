"""kei-http::send."""

from kei_http.address import url_of
from kei_http.body import answer_told, encoded, most_bytes
from kei_http.context import Context, Data
from kei_http.exchange import Order, exchange, packed
from kei_http.fault import send_fault
from kei_http.header import headers_of


def run(given: Data, context: Context) -> Data:
    """The answer to a request that may change something.

    Raises BadAddress, BadHeader, PrivateAddress, Unreachable, TlsFailed, AnswerLost, UnexpectedStatus, TooLarge,
    NotJson.
    """
    url = url_of(context, given["url"], given.get("query"))
    body, kind = encoded(context, given.get("body"))
    own = {"accept-encoding": "gzip, deflate", "idempotency-key": context.invocation_id} | kind
    plain, secret = headers_of(context, given, own)
    plain |= {"content-length": str(len(body))}
    order = Order(given["method"], url, plain, secret, body, most=packed(most_bytes(given)))
    with exchange(context, order, given, send_fault) as answer:
        return answer_told(context, given, answer)
