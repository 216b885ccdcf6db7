"""Bodies: what is sent, and what of an answer is told. Never more of it is held than was asked for."""

import codecs
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import urlencode

import httpx2

from kei_http.context import Context, Data
from kei_http.exchange import Answer
from kei_http.header import Headers, told
from kei_http.packing import content, is_readable

DEFAULT_BYTES = 1_048_576
MOST_SENT = 8_388_608
SHOWN = 200
CHARSET = re.compile(r"[A-Za-z0-9_.:-]{1,40}", re.ASCII)
CHARSETS = {"utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "ascii", "iso8859-1", "iso8859-2", "iso8859-15"}
CHARSETS |= {
    "cp1250",
    "cp1251",
    "cp1252",
    "koi8-r",
    "shift_jis",
    "euc_jp",
    "gb2312",
    "gbk",
    "gb18030",
    "big5",
    "euc_kr",
}
"""Encodings of text. Python has others that are none, and some that a hostile server would like."""


def encoded(context: Context, body: Data | None) -> tuple[bytes, Headers]:
    """What is sent, and its type: JSON, text or a form; nothing where there is no body. Raises TooLarge."""
    if body is None:
        return b"", {}
    if "json" in body:
        sent, kind = json.dumps(body["json"], ensure_ascii=False, separators=(",", ":")), "application/json"
    elif "form" in body:
        sent, kind = urlencode(body["form"], doseq=True), "application/x-www-form-urlencoded"
    else:
        sent, kind = body["text"], "text/plain; charset=utf-8"
    data = sent.encode("utf-8")
    if len(data) > MOST_SENT:
        raise context.error("TooLarge", f"the body has {len(data)} bytes; {MOST_SENT} are sent at most")
    return data, {"content-type": kind}


def answer_told(context: Context, given: Data, answer: Answer) -> Data:
    """An answer as get and send tell it. Raises UnexpectedStatus, TooLarge, NotJson."""
    response = answer.response
    data, truncated = bounded(content(response), most_bytes(given))
    text = _text(response, data, truncated=truncated) if is_readable(response) else None
    expect_status(context, response.status_code, given.get("expect"), text)
    found = {
        "url": str(answer.url),
        "status": response.status_code,
        "headers": told(response.headers.multi_items()),
        "content_type": response.headers.get("content-type"),
        "size": len(data),
        "truncated": truncated,
        "redirects": answer.redirects,
    }
    if given.get("parse_json", False):
        if truncated:
            raise context.error("TooLarge", f"the answer has more than {len(data)} bytes, and half of JSON is none")
        return found | {"encoding": "json", "json": _json(context, text)}
    if text is None:
        return found | {"encoding": "base64", "body": b64encode(data).decode("ascii")}
    return found | {"encoding": "utf-8", "body": text}


def most_bytes(given: Data) -> int:
    """How many bytes of an answer are told."""
    return int(given.get("max_bytes", DEFAULT_BYTES))


def bounded(chunks: Iterable[bytes], most: int) -> tuple[bytes, bool]:
    """The first bytes, decompressed, and whether there are more. What is behind them is neither read nor unpacked."""
    found = bytearray()
    for chunk in chunks:
        found += chunk
        if len(found) > most:
            return bytes(found[:most]), True
    return bytes(found), False


def expect_status(context: Context, status: int, expected: list[int] | None, text: str | None) -> None:
    """Raise UnexpectedStatus where others were expected."""
    if expected is not None and status not in expected:
        shown = "".join(letter if letter.isprintable() else " " for letter in (text or "")[:SHOWN]).strip()
        said = f": {shown}" if shown else ""
        raise context.error("UnexpectedStatus", f"the answer is {status}, not {', '.join(map(str, expected))}{said}")


def _text(response: httpx2.Response, data: bytes, *, truncated: bool) -> str | None:
    """The body as text, in the encoding it says, else UTF-8; None where it is none. A cut letter is left out."""
    for name in _encodings(response.charset_encoding):
        try:
            return codecs.getincrementaldecoder(name)("strict").decode(data, final=not truncated)
        except UnicodeError:
            continue
    return None


def _encodings(said: str | None) -> Iterator[str]:
    if said is not None and CHARSET.fullmatch(said):
        try:
            name = codecs.lookup(said).name
        except LookupError:
            name = ""
        if name in CHARSETS:
            yield name
    yield "utf-8"


def _json(context: Context, text: str | None) -> Any:  # noqa: ANN401 - any JSON
    """The value of a JSON text that every reader reads alike. Raises NotJson."""
    try:
        value = json.loads("" if text is None else text.removeprefix("\ufeff"), parse_constant=_refuse)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8")  # a lone surrogate, 1e999
    except (ValueError, RecursionError) as error:
        raise context.error("NotJson", f"the answer is no JSON: {error}") from error
    return value


def _refuse(word: str) -> None:
    message = f"{word} is no JSON"
    raise ValueError(message)
