"""Redaction: secrets are taken out of what is written down, known ones by value and unknown ones by their shape."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any
from urllib.parse import quote, quote_plus

MARK = "[redacted]"
SHORTEST = 6
"""Shorter values are words of everyday; taking them out would only make holes."""
CUT = "…"
"""What stands where a text was cut. Beside it, and at both ends of a text, a piece of a secret is one as well."""
CUTS = 64
"""How many cuts of one text are looked at."""
LONG = 4096
"""Characters of one string that are written down; the rest is its sha256."""
MARGIN = 256
"""How far behind the cut a secret is looked for that begins before it."""
DEEPEST = 100
Span = tuple[int, int]
View = tuple[str, list[int]]
"""Text decoded from other text, and where each of its characters (and its end) stands there."""

NAMES = r"pass(?:word|wd|phrase)|secret|token|api[_-]?key|(?:access|private|secret)[_-]?key|credentials?"
SENSITIVE = re.compile(rf"(?i:(?:^|[_.\- ]|[a-z](?=[A-Z]))(?:{NAMES})$)")
"""Keys whose value is a secret whatever it looks like."""
TOKENS = (
    ("sk-", r"sk-(?<![A-Za-z0-9]sk-)[A-Za-z0-9_-]{16,}"),
    ("k_live_", r"[sr]k_live_[A-Za-z0-9]{16,}"),
    ("k_test_", r"[sr]k_test_[A-Za-z0-9]{16,}"),
    ("gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{16,}"),
    ("akia", r"AKIA[A-Z0-9]{16}"),
    ("asia", r"ASIA[A-Z0-9]{16}"),
    ("xox", r"xox[a-z]-[A-Za-z0-9-]{10,}"),
    ("aiza", r"AIza[A-Za-z0-9_-]{30,}"),
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("eyj", r"eyJ(?<![A-Za-z0-9_-]eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,3}"),
    ("npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"pypi-[A-Za-z0-9_-]{16,}"),
    ("hf_", r"hf_(?<![A-Za-z0-9]hf_)[A-Za-z0-9]{20,}"),
    ("age-secret-key-", r"AGE-SECRET-KEY-1[A-Z0-9]{20,}"),
)
KEY = r"-----{} [A-Z0-9 ]{{0,40}}PRIVATE KEY-----"
KEYS = (("private key-----", rf"{KEY.format('BEGIN')}[\s\S]*?(?:{KEY.format('END')}|\Z)"),)
IS = r"[\"'\\]{0,2}\s{0,4}[:=]\s{0,4}[\"'\\]{0,2}"
"""What stands between a name and its value."""
HEADERS = (
    ("bearer", r"(?i:bearer)(?:\s|%20|\+){1,8}(?P<value>[A-Za-z0-9._~+/=-]{8,})"),
    (
        "authorization",
        rf"(?i:authorization){IS}(?:(?i:basic|token|bearer)\s{{1,4}})?(?!(?i:basic|token|bearer)\b)(?P<value>[A-Za-z0-9._~+/=-]{{6,}})",
    ),
    ("://", r"://[^\s/:@\"']{0,128}:(?P<value>[^\s/@\"']{1,256})@"),
)
VALUE = r"(?![=$`])(?P<value>[^\s\"'`&;,|<>(){}\\]{4,})"
ASSIGNED = tuple(
    (name, rf"(?i:{name})(?:{IS}|(?<=--{name})\s){VALUE}")
    for words in ("password", "passwd", "passphrase", "secret", "token", "api key", "access key", "private key")
    for name in dict.fromkeys((words.replace(" ", "_"), words.replace(" ", "-"), words.replace(" ", "")))
)
SHAPES = (*TOKENS, *KEYS, *HEADERS, *ASSIGNED)
"""How well-known secrets look, each with the small letters without which it need not be tried, nor compiled.

Where a part is named, only that part goes. None repeats a repetition, so each takes a time that grows with the text.
What a shell would put there (`token=$(...)`) is no secret and stays readable.
"""
ESCAPE = re.compile(
    r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\([\"\\/bfnrt])"
)
SHORT_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
PERCENT = re.compile("%([0-9a-fA-F]{2})")
WRAPPED = re.compile(r"(?<=[A-Za-z0-9+/_-]{20})\r?\n[ \t]{0,8}")
"""A line break inside base64."""
LEVELS = 3
"""JSON inside JSON inside JSON."""


class Redactor:
    """Takes secrets out of values. Knows the given ones in the forms in which programs write them."""

    def __init__(self, secrets: Iterable[str] = (), marked: Iterable[str] = ()) -> None:
        """Know the secrets; values shorter than six characters are none, unless somebody has `marked` them as such."""
        marked = tuple(marked)
        forms = {form for secret in (*secrets, *marked) for form in _forms(secret)}
        short = {form for secret in marked if len(secret.strip()) < SHORTEST for form in _short_forms(secret)}
        self._forms = tuple(sorted(forms | short, key=len))
        self._margin = max(MARGIN, max(map(len, self._forms), default=0))

    def redact(self, value: Any) -> Any:  # noqa: ANN401 - JSON in, JSON out
        """The value without secrets, keys included, long strings cut to their beginning and sha256. Never raises."""
        return self._value(value, 0)

    def text(self, text: str) -> str:
        """One string without secrets, and not cut. Where it was cut before, no piece of one is left there either."""
        return _without(text, [*self._spans(text), *self._pieces(text)], len(text))

    def _value(self, value: Any, depth: int) -> Any:  # noqa: ANN401 - as above
        if isinstance(value, str):
            return self._string(value)
        if value is None or isinstance(value, bool | float):
            return value
        if isinstance(value, int):
            return MARK if self._forms and self._knows(_digits(value)) else value
        if depth < DEEPEST and isinstance(value, dict):
            return self._object(value, depth + 1)
        if depth < DEEPEST and isinstance(value, list | tuple):
            return [self._value(item, depth + 1) for item in value]
        return MARK

    def _object(self, value: dict[Any, Any], depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items():
            name = self._string(key) if isinstance(key, str) else MARK
            while name in found:
                name += "+"
            secret = isinstance(item, str) and item != "" and isinstance(key, str) and SENSITIVE.search(key[-LONG:])
            found[name] = MARK if secret else self._value(item, depth)
        return found

    def _string(self, text: str) -> str:
        if len(text) <= LONG:
            return _without(text, self._spans(text), len(text))
        head = text[: LONG + self._margin]
        whole = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{_without(head, self._spans(head), LONG)}… [cut: {len(text)} characters, sha256 {whole}]"

    def _knows(self, text: str) -> bool:
        return any(form in text for form in self._forms)

    def _spans(self, text: str) -> list[Span]:
        """Where secrets stand, in the text itself and in what it says once its escapes are read."""
        spans = self._found(text)
        for decoded, where in _views(text):
            spans.extend((where[start], where[end]) for start, end in self._found(decoded))
        return spans

    def _pieces(self, text: str) -> list[Span]:
        """Where a cut has left the beginning of a secret before it, or the end of one behind it."""
        long = [form for form in self._forms if len(form) >= SHORTEST]
        cuts = [match.span() for match in islice(re.finditer(f"{CUT}+", text), CUTS)] if long else []
        ends = [len(text), *(start for start, _ in cuts)] if long else []
        starts = [0, *(end for _, end in cuts)] if long else []
        spans = [(_head_at(form, text, end), end) for form in long for end in ends]
        spans += [(start, _tail_at(form, text, start)) for form in long for start in starts]
        return [(start, end) for start, end in spans if start < end]

    def _found(self, text: str) -> list[Span]:
        spans: list[Span] = []
        for form in self._forms:
            if len(form) > len(text):
                break
            start = text.find(form)
            while start >= 0:
                spans.append((start, start + len(form)))
                start = text.find(form, start + 1)
        small = text.lower()
        for hint, pattern in SHAPES:
            if hint in small:
                shape = _compiled(pattern)
                named = "value" if "value" in shape.groupindex else 0
                spans.extend(match.span(named) for match in shape.finditer(text))
        return spans


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _head_at(form: str, text: str, end: int) -> int:
    """Where the longest beginning of a form starts that ends there; `end` where there is none worth the name."""
    start = text.find(form[:SHORTEST], max(0, end - len(form)), end)
    while start >= 0 and not form.startswith(text[start:end]):
        start = text.find(form[:SHORTEST], start + 1, end)
    return start if start >= 0 else end


def _tail_at(form: str, text: str, start: int) -> int:
    """Where the longest end of a form ends that starts there; `start` where there is none worth the name."""
    end = text.rfind(form[-SHORTEST:], start, start + len(form))
    while end >= 0 and not form.endswith(text[start : end + SHORTEST]):
        end = text.rfind(form[-SHORTEST:], start, end + SHORTEST - 1)
    return end + SHORTEST if end >= 0 else start


def _without(text: str, spans: list[Span], end: int) -> str:
    """The text up to `end` with one mark for each stretch of spans that touch."""
    parts: list[str] = []
    done = 0
    for start, stop in sorted(spans):
        if start >= end:
            break
        if start > done or not parts:
            parts += (text[done:start], MARK)
        done = max(done, stop)
    return "".join((*parts, text[done:end]))


def _views(text: str) -> Iterable[View]:
    """The text with its JSON escapes read, once or more often, with its percent escapes read, and unwrapped."""
    if "%" in text:
        yield from _decoded(text, None, PERCENT, lambda match: chr(int(match[1], 16)))
    if "\n" in text:
        yield from _decoded(text, None, WRAPPED, lambda _: "")
    where: list[int] | None = None
    for _ in range(LEVELS if "\\" in text else 0):
        for text, where in _decoded(text, where, ESCAPE, _unescaped):  # noqa: B020, PLR1704 - one level after another
            yield text, where
            if "%" in text:
                yield from _decoded(text, where, PERCENT, lambda match: chr(int(match[1], 16)))


def _decoded(
    text: str, where: list[int] | None, escape: re.Pattern[str], read: Callable[[re.Match[str]], str]
) -> list[View]:
    """The view behind one kind of escape; none where there is no such escape."""
    parts: list[str] = []
    places: list[int] = []
    done = 0
    for match in escape.finditer(text):
        meant = read(match)
        parts += (text[done : match.start()], meant)
        places.extend(range(done, match.start()))
        places.extend([match.start()] * len(meant))
        done = match.end()
    if not parts:
        return []
    places.extend(range(done, len(text) + 1))
    return [("".join((*parts, text[done:])), places if where is None else [where[place] for place in places])]


def _unescaped(match: re.Match[str]) -> str:
    high, low, single, short = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + (int(low, 16) - 0xDC00))
    return chr(int(single, 16)) if single else SHORT_ESCAPES[short]


def byte_forms(secrets: Iterable[str]) -> tuple[bytes, ...]:
    """The secrets as the bytes programs write, shortest first. Values shorter than six characters are no secrets.

    For a stream, which cannot be decoded as a string can: what `Redactor` finds behind escapes stands here as it is
    written, JSON inside JSON too. A base64 that was wrapped is known where it begins with the secret.
    """
    forms: set[bytes] = set()
    for secret in secrets:
        if not (found := _forms(secret)):
            continue
        for _ in range(LEVELS):
            forms.update(form.encode("utf-8", "surrogatepass") for form in found)
            found = {json.dumps(form)[1:-1] for form in found if '"' in form or "\\" in form}
        with suppress(UnicodeEncodeError):  # as an environment holds it, where bytes that are no text are surrogates
            raw = secret.encode("utf-8", "surrogateescape")
            for each in {raw, raw.strip()}:
                forms.update((each, *(form.encode() for form in _encoded(each) | _wrapped(each))))
    return tuple(sorted((form for form in forms if len(form) >= SHORTEST), key=lambda form: (len(form), form)))


def _forms(secret: str) -> set[str]:
    """The secret as it is and as encoders write it."""
    forms: set[str] = set()
    for text in {secret, secret.strip()} if len(secret.strip()) >= SHORTEST else ():
        raw = text.encode("utf-8", "surrogatepass")
        escaped = (json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1])
        forms.update((text, raw.decode("latin-1"), *escaped, *_encoded(raw)))
        forms.update(each.replace("/", "\\/") for each in escaped)
    return {form for form in forms if len(form) >= SHORTEST}


def _short_forms(secret: str) -> set[str]:
    """A short secret as it is written; encoded, it would be found in every word."""
    return {form for form in (secret.strip(), json.dumps(secret.strip())[1:-1]) if form}


def _encoded(raw: bytes) -> set[str]:
    """Bytes in hex, in an address and wherever they lie in base64."""
    percent = {quote(raw, safe=""), quote(raw), quote_plus(raw)}
    forms = {raw.hex(), raw.hex().upper(), *percent}
    forms.update(PERCENT.sub(lambda match: match[0].lower(), each) for each in percent)
    for lead, skipped in ((0, 0), (1, 2), (2, 3)):
        coded = base64.b64encode(b"\0" * lead + raw).decode()[skipped : (lead + len(raw)) * 8 // 6]
        forms.update((coded, coded.replace("+", "-").replace("/", "_")))
    return forms


def _wrapped(raw: bytes) -> set[str]:
    """Base64 as `base64` and `openssl` break it."""
    coded = base64.b64encode(raw).decode()[: len(raw) * 8 // 6]
    return {"\n".join(coded[at : at + width] for at in range(0, len(coded), width)) for width in (64, 76)}


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python converts
        return f"{value:x}"
