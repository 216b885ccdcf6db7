"""Patterns: example strings of a regular expression, to see whether two patterns contradict each other."""

import re
from collections.abc import Sequence
from itertools import islice, product
from re import _constants as op  # type: ignore[attr-defined]  # the parser of `re` itself; an unknown node is no sample
from re import _parser  # type: ignore[attr-defined]
from typing import Any

LIMIT = 256


def samples(pattern: str) -> list[str]:
    """A few strings the pattern matches, every alternative among them. Empty where it cannot say."""
    try:
        parsed = _parser.parse(pattern)
        found = _sequence(parsed)
    except (re.error, RecursionError, OverflowError, LookupError):
        return []
    return [text.strip() for text in dict.fromkeys(found) if text.strip() and re.search(pattern, text)]


def _sequence(nodes: Any) -> list[str]:  # noqa: ANN401 - a node of `re`
    parts = [_node(kind, value) for kind, value in nodes]
    return ["".join(choice) for choice in islice(product(*parts), LIMIT)]


def _node(kind: Any, value: Any) -> Sequence[str]:  # noqa: ANN401 - a node of `re`, one line a kind
    if kind is op.LITERAL:
        return [chr(value)]
    if kind is op.SUBPATTERN:
        return _sequence(value[-1])
    if kind is op.BRANCH:
        return [text for branch in value[1] for text in _sequence(branch)]
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT):
        low, high, inner = value
        once = _sequence(inner)
        return [text * max(low, 1) for text in once] if low else ["", *(once if high else [])]
    if kind is op.IN:
        return _class(value)
    if kind is op.ANY:
        return ["x"]
    if kind is op.AT:
        return [""]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [""]
    message = "a node that is not sampled"
    raise LookupError(message)


def _class(items: Any) -> list[str]:  # noqa: ANN401 - the members of a character class
    for kind, value in items:
        if kind is op.NEGATE:
            return ["x"]
        if kind is op.LITERAL:
            return [chr(value)]
        if kind is op.RANGE:
            return [chr(value[0])]
        if kind is op.CATEGORY:
            return [{op.CATEGORY_SPACE: " ", op.CATEGORY_DIGIT: "0"}.get(value, "x")]
    return [""]
