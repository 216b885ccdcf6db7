"""kei-http::get."""

from kei_http.body import answer_told, most_bytes
from kei_http.context import Context, Data
from kei_http.exchange import exchange, read_order
from kei_http.fault import read_fault


def run(given: Data, context: Context) -> Data:
    """The answer to a GET request.

    Raises BadAddress, BadHeader, PrivateAddress, Unreachable, TlsFailed, TimedOut, BadAnswer, BadRedirect,
    UnexpectedStatus, TooLarge, NotJson.
    """
    order = read_order(context, given, {"accept-encoding": "gzip, deflate"}, most_bytes(given))
    with exchange(context, order, given, read_fault) as answer:
        return answer_told(context, given, answer)
