"""Faults: which kind of error a harness's own words, its exit or an HTTP status stand for."""

import re
import signal
from datetime import datetime, timedelta

from keisei.adapters.hint import Hint, hint_in
from keisei.contracts.hook import one_line
from keisei.records.launch import Exit
from keisei.records.report import ErrorKind, HarnessError

LONGEST = 400
"""Characters of a message."""
TAIL = 300
"""Characters of standard error that are quoted, the last ones."""
READ = 4096
"""Bytes of standard error in which they are looked for."""

_STATUS = re.compile(
    r"(?:\bstatus(?: code)?:?|\bHTTP|\bAPI Error:|\berror code:?|\brejected) ?\(?([1-5]\d\d)\b",
    re.ASCII | re.IGNORECASE,
)
_WORDS: tuple[tuple[ErrorKind, str], ...] = (
    ("limit", r"prompt is too long|context (?:window|length)|max(?:imum)?[_ ](?:output|context)|ran out of room"),
    ("auth", r"quota exceeded|insufficient_quota|credit balance|billing|payment required"),
)
_MORE_WORDS: tuple[tuple[ErrorKind, str], ...] = (
    (
        "rate_limit",
        r"usage limit|rate.?limit|hit your .{0,40}limit|limit reached|too many requests|throttl|out of usage",
    ),
    ("auth", r"api key|/login|log(?:ged)? ?in\b|authenticat|unauthori[sz]ed|forbidden|\boauth|credential"),
    (
        "overloaded",
        r"overloaded|high demand|at capacity|capacity unavailable|server.?error|service unavailable|bad gateway",
    ),
    (
        "network",
        r"connect|econn|enotfound|network|\bdns\b|could not resolve|sending request|socket|timed? ?out|disconnected",
    ),
    ("refused", r"invalid_request|not[_ ]found|not supported|does not exist|flagged|content policy"),
)
AUTH = frozenset({401, 402, 403, 407})
TOO_MANY = 429
TIMEOUT = 408


def kind_of_status(status: int) -> ErrorKind:
    """The kind an HTTP status stands for."""
    if status in AUTH:
        return "auth"
    if status == TOO_MANY:
        return "rate_limit"
    if status >= 500 or status == TIMEOUT:  # noqa: PLR2004 - every server error
        return "overloaded"
    return "refused" if status >= 300 else "invalid"  # noqa: PLR2004 - redirects are not followed


def kind_of_words(message: str, status: int | None = None) -> ErrorKind | None:
    """The kind a harness's message stands for, by its words, then its status, then vaguer words; None for neither."""
    said = message[:4000]
    precise = _first(_WORDS, said)
    if precise is not None:
        return precise
    found = _STATUS.search(said)
    status = status or (int(found[1]) if found else None)
    return kind_of_status(status) if status is not None else _first(_MORE_WORDS, said)


def fault(kind: ErrorKind, message: str, ended: Exit, hint: Hint | None = None) -> HarnessError:
    """The error, with the wait that the message speaks of where no better hint is given."""
    found = hint if hint is not None and any(hint) else hint_in(message, end_of(ended))
    return HarnessError(
        kind=kind,
        message=one_line(message, LONGEST),
        retry_after_s=found.retry_after_s,
        resets_at=found.resets_at,
    )


def interruption(ended: Exit) -> HarnessError | None:
    """The error of a harness that did not end by itself; what it had said by then is no answer."""
    if ended.lease_lost:
        return HarnessError(kind="crash", message="it was ended because its lease was lost")
    if ended.canceled:
        return HarnessError(kind="crash", message="it was ended because somebody canceled it")
    if ended.silent:
        return HarnessError(kind="timeout", message="it was ended because it wrote nothing for too long")
    if ended.timed_out:
        return HarnessError(
            kind="timeout", message=f"it was ended because its time was up, after {ended.duration_s:.0f} s"
        )
    return None


def crash(ended: Exit, what: str = "") -> HarnessError:
    """The error of a program that ended badly: how, and the last words of its standard error."""
    tail = last_words(ended.stderr)
    said = ": ".join(part for part in (what or how(ended), tail) if part)
    return fault("crash", said, ended, hint_in(tail, end_of(ended)))


def cut(ended: Exit) -> HarnessError:
    """The error of output that was cut before its end."""
    message = f"the output was cut after {len(ended.stdout)} bytes, before its end"
    return HarnessError(kind="invalid", message=message)


def how(ended: Exit) -> str:
    """How a program ended, in words."""
    if ended.signal is not None:
        known = ended.signal in {each.value for each in signal.Signals}
        return f"signal {ended.signal}{f' ({signal.Signals(ended.signal).name})' if known else ''} ended it"
    if ended.code is None:
        return "it ended, and nobody can tell how"
    return f"it ended with exit {ended.code}"


def last_words(stream: bytes) -> str:
    """The end of a stream, as one line."""
    words = stream[-READ:].decode("utf-8", "replace").split()
    return " ".join(words)[-TAIL:]


def end_of(ended: Exit) -> datetime:
    """The moment it ended: what a message calls now."""
    return ended.started_at + timedelta(seconds=ended.duration_s)


def _first(table: tuple[tuple[ErrorKind, str], ...], said: str) -> ErrorKind | None:
    return next((kind for kind, words in table if re.search(words, said, re.ASCII | re.IGNORECASE)), None)
