"""Patterns: example strings of a regular expression, to see whether two patterns contradict each other."""

import re
import warnings
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice, product
from re import _constants as op  # type: ignore[attr-defined]  # the parser of `re` itself; an unknown node is no sample
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from keisei.rules.possessive import sound

LIMIT = 64
LONGEST = 120


@lru_cache(maxsize=1024)
def samples(pattern: str) -> tuple[str, ...]:
    """A few strings the pattern matches, every alternative among them. Empty where it cannot say, or not in time."""
    if not is_tame(pattern):
        return ()
    try:
        found = _sequence(_parsed(pattern))
    except (re.error, RecursionError, OverflowError, LookupError):
        return ()
    expression = _compiled(pattern)
    return tuple(text for text in dict.fromkeys(_trimmed(expression, text) for text in found) if text)


@lru_cache(maxsize=1024)
def is_tame(pattern: str) -> bool:
    """Whether matching cannot run away: no endless repeat of something that itself repeats or chooses."""
    try:
        return not _wild(_parsed(pattern), endless=False)
    except (re.error, RecursionError, OverflowError):
        return False


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text."""
    return _compiled(pattern).search(text) is not None


def _parsed(pattern: str) -> Any:  # noqa: ANN401 - a node of `re`
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a set that may mean something else one day means the same today
        return _parser.parse(pattern)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return re.compile(sound(pattern))


def _trimmed(expression: re.Pattern[str], text: str) -> str:
    """The sample without blanks at its ends, where it still matches; empty where it does not match at all."""
    return next((each for each in (text.strip(), text) if each and expression.search(each)), "")


def _wild(nodes: Any, *, endless: bool) -> bool:  # noqa: ANN401 - a node of `re`
    for kind, value in nodes:
        if kind is op.SUBPATTERN:
            inner, many = [value[-1]], endless
        elif kind is op.BRANCH:
            if endless:
                return True
            inner, many = value[1], endless
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            repeats = value[1] > FEW
            if endless and repeats:
                return True
            inner, many = [value[2]], endless or repeats
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            inner, many = [value[1]], endless
        else:
            continue
        if any(_wild(each, endless=many) for each in inner):
            return True
    return False


FEW = 8


def _sequence(nodes: Any) -> list[str]:  # noqa: ANN401 - a node of `re`
    parts = [_node(kind, value) for kind, value in nodes]
    found = ["".join(choice) for choice in islice(product(*parts), LIMIT)]
    if any(len(text) > LONGEST for text in found):
        message = "a sample that is too long to be one"
        raise LookupError(message)
    return found


def _node(kind: Any, value: Any) -> Sequence[str]:  # noqa: ANN401 - a node of `re`
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.SUBPATTERN:
        return _sequence(value[-1])
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in _sequence(branch)]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        low, high, inner = value
        once = _sequence(inner)
        if low > FEW:
            message = "a repeat that is too long to be shown"
            raise LookupError(message)
        return [text * max(low, 1) for text in once] if low else ["", *(once if high else [])]
    if kind is op.IN:
        return _class(value)
    if kind is op.ANY:
        return ["x"]
    if kind in (op.AT, op.ASSERT, op.ASSERT_NOT):
        return [""]
    message = "a node that is not sampled"
    raise LookupError(message)


def _class(items: Any) -> list[str]:  # noqa: ANN401 - the members of a character class
    found: list[str] = []
    for kind, value in items[:FEW]:
        if kind is op.NEGATE:
            return ["x"]
        if kind is op.LITERAL:
            found.append(chr(value))
        elif kind is op.RANGE:
            found.append(chr(value[0]))
        elif kind is op.CATEGORY:
            found.append({op.CATEGORY_SPACE: " ", op.CATEGORY_DIGIT: "0"}.get(value, "x"))
    return found or [""]
