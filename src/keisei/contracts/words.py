"""Words for what a schema says in symbols, so that an error can be read aloud."""

from collections.abc import Iterable
from itertools import islice

from keisei.records.problem import printable

MANY, LIKE, LONGEST = 60, 2, 64
""""Did you mean" looks at this many names, this different in length, this long."""

PATTERNS = {
    r"^[^\r\n]*$": "a single line",
    "^[0-9a-f]{64}$": "a sha256 in lower-case hexadecimal (64 digits)",
    "^([0-9a-f]{40}|[0-9a-f]{64})$": "a git object id (40 or 64 hexadecimal digits)",
    r"^(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\x00-\x1f\x7f\u2028\u2029]+$": "a relative path without `..`",
    "^[a-z][a-z0-9-]{0,63}$": "lower-case letters, digits and dashes, starting with a letter, at most 64",
    "^[a-z][a-z0-9-]{0,63}::[a-z][a-z0-9-]{0,63}$": "`category::slug` in lower-case letters, digits and dashes",
    "^[a-z][a-z0-9]*(-[a-z0-9]+)*::[a-z][a-z0-9]*(-[a-z0-9]+)*$": "`package::verb`, both in kebab-case",
    r"^(\*|[a-z][a-z0-9-]*::(\*|[a-z][a-z0-9-]*))$": "`package::verb`, `package::*` or `*`",
    "^[a-z][a-z0-9]*(-[a-z0-9]+)*$": "a name in kebab-case",
    "^[A-Za-z_][A-Za-z0-9_]*$": "the name of an environment variable",
    r"^[0-9A-Za-z]+\.[A-Za-z][A-Za-z0-9_-]*$": "a contract principal such as `SP000.identity-registry`",
    "^[a-z0-9][a-z0-9_-]*$": "lower-case letters, digits, `_` and `-`",
    "^https?://": "an http or https address",
    "^[A-Za-z0-9][A-Za-z0-9_.-]*$": "letters, digits, `_`, `.` and `-`, starting with a letter or digit",
    "^[a-z0-9]+(-[a-z0-9]+)*$": "lower-case letters and digits in words joined by single dashes",
    "^[a-z][a-z0-9_-]*$": "lower-case letters, digits, `_` and `-`, starting with a letter",
    "^[a-z][a-z0-9_.-]*$": "lower-case letters, digits, `_`, `.` and `-`, starting with a letter",
    "^[A-Z][A-Za-z0-9]*$": "PascalCase",
    r"^[!-~]+$": "text without white space",
    r"^\[\[[^\[\]]+\]\]$": "a link such as `[[kei-task::create]]`",
    "^(?!LD_|PYTHON|KEISEI_|(PATH|HOME|TMPDIR|IFS)$)[A-Z][A-Z0-9_]*$": "a variable of your own, in capitals",
    "^[a-z][a-z0-9-]*$": "lower-case letters, digits and dashes, starting with a letter",
    "^[A-Za-z0-9][A-Za-z0-9_-]*$": "letters, digits, `_` and `-`",
    "^[a-z][a-z0-9_-]{0,63}$": "lower-case letters, digits, `_` and `-`, starting with a letter, at most 64",
}

FORMATS = {
    "date-time": "a time such as `2026-04-22T15:30:00Z`",
    "date": "a date such as `2026-04-22`",
    "time": "a time of day such as `15:30:00Z`",
    "duration": "a duration such as `PT15M`",
    "email": "an e-mail address",
    "idn-email": "an e-mail address",
    "hostname": "the name of a host",
    "idn-hostname": "the name of a host",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "uri": "an address such as `https://example.org/page`",
    "uri-reference": "an address, or a part of one",
    "iri": "an address such as `https://example.org/page`",
    "iri-reference": "an address, or a part of one",
    "uuid": "a UUID",
    "regex": "a regular expression",
    "json-pointer": "a JSON pointer such as `/items/0`",
    "relative-json-pointer": "a relative JSON pointer such as `1/name`",
}

TYPES = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return TYPES[names.get(type(value), "object")]


def shown(value: object) -> str:
    """A value as it is quoted in a message: short, on one line, and unable to command a terminal."""
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    text = printable(" ".join(text.split())) or ("(blank)" if text else "(empty)")
    return f"`{text[:60]}…`" if len(text) > 60 else f"`{text}`"  # noqa: PLR2004 - a line's worth


def listed(values: object) -> str:
    """Several values as they are quoted in a message."""
    return ", ".join(shown(value) for value in values) if isinstance(values, list | tuple) else shown(values)


def nearest(word: object, candidates: Iterable[object] | None) -> str | None:
    """`did you mean ...?`, where something is near enough. Bounded: of many names only those of like length count."""
    from difflib import get_close_matches  # noqa: PLC0415 - error path only

    text = str(word)[:LONGEST]
    names = [str(candidate) for candidate in candidates or ()]
    if len(names) > MANY:
        like = (name for name in names if abs(len(name) - len(text)) <= LIKE and name[:2] == text[:2])
        names = list(islice(like, MANY))
    near = get_close_matches(text, names, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else None
