"""Headers: what a caller may send, what goes on after a redirect, what is told of an answer."""

import re
from collections.abc import Iterable

from kei_http.context import Context, Data

NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}", re.ASCII)
VALUE = re.compile(r"[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?|")
OURS = {"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect"}
OURS |= {"accept-encoding", "proxy-authorization", "proxy-connection"}
"""Headers that say how the message is sent: two minds about these are how requests are smuggled."""
SECRET = {"authorization", "cookie"}
"""Headers that are secrets wherever they were given."""
AGENT = "keisei-kei-http/0.1"
Headers = dict[str, str]


def headers_of(context: Context, given: Data, own: Headers) -> tuple[Headers, Headers]:
    """The plain and the secret headers of a call, by small name. `own` are those the caller may replace.

    Raises BadHeader for a name or value that no header can have, one that is ours to set, and one given twice.
    """
    plain, secret = (_checked(context, given.get(name, {})) for name in ("headers", "secret_headers"))
    for name in (*plain.keys() & secret.keys(), *OURS & {*plain, *secret}):
        raise context.error("BadHeader", f"header {name} is {'set by kei-http' if name in OURS else 'given twice'}")
    hidden = {name: plain.pop(name) for name in SECRET & plain.keys()}
    own = {"user-agent": AGENT, "accept": "*/*"} | own
    return {name: value for name, value in own.items() if name not in secret} | plain, secret | hidden


def _checked(context: Context, given: Data) -> Headers:
    found: Headers = {}
    for name, value in given.items():
        small = name.lower()
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):  # the value may be a secret: it is not shown
            raise context.error("BadHeader", f"{name[:100]!r} is no header, or its value holds what none can")
        if small in found:
            raise context.error("BadHeader", f"header {small} is given twice")
        found[small] = value
    return found


def told(items: Iterable[tuple[str, str]]) -> list[list[str]]:
    """An answer's headers, in order. The value of a cookie is a secret of the session, and is left out."""
    return [[name.lower(), _cookie(value) if name.lower() == "set-cookie" else value] for name, value in items]


def _cookie(value: str) -> str:
    return f"{value.partition('=')[0]}=***" if "=" in value else "***"
