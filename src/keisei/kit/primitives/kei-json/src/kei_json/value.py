"""Values: what JSON can carry, how large it may be, and when two are the same."""

from math import isfinite
from typing import Any, NamedTuple

from kei_json.context import Context

Json = Any
"""Any value of JSON."""
LARGEST = 2**53 - 1
"""Every reader of JSON keeps integers up to here."""
DEEPEST = 128
"""Lists and objects inside each other."""
HEAVIEST = 2_000_000
"""Characters, where each value counts as four: JSON writes some in six bytes, and an answer has 16 MiB."""
VALUE = 4
"""What a value weighs beside its characters; the longest number has 24."""
KEY = 40
"""Characters of a text that are quoted."""


class Size(NamedTuple):
    """How large a value is."""

    weight: int
    """The characters of its texts and keys, and four for each value, itself included."""
    depth: int
    """Lists and objects inside each other."""


def sized(context: Context, value: Json) -> Size:
    """How large a value is. Raises NotJson, TooDeep, TooLarge; needs no more stack for a deep one."""
    weight, depth, waiting = 0, 0, [(value, 1)]
    while waiting:
        each, level = waiting.pop()
        weight += VALUE
        if isinstance(each, dict | list):
            depth = max(depth, level)
            waiting += [(inner, level + 1) for inner in (each.values() if isinstance(each, dict) else each)]
            weight += sum(_characters(context, key) for key in each) if isinstance(each, dict) else 0
        elif isinstance(each, str):
            weight += _characters(context, each)
        else:
            _check_number(context, each)
        check_size(context, Size(weight, depth))
    return Size(weight, depth)


def check_size(context: Context, size: Size) -> None:
    """Raise TooDeep, TooLarge."""
    if size.depth > DEEPEST:
        raise context.error("TooDeep", f"more than {DEEPEST} lists and objects stand inside each other")
    if size.weight > HEAVIEST:
        raise context.error(
            "TooLarge", f"there are more than {HEAVIEST} characters, where each value counts as {VALUE}"
        )


def _characters(context: Context, text: object) -> int:
    if not isinstance(text, str):
        raise context.error("NotJson", f"a key is a {type(text).__name__}, and JSON has texts")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise context.error("NotJson", "a text holds half a surrogate pair") from error
    return len(text)


def _check_number(context: Context, value: object) -> None:
    if value is None or isinstance(value, bool):
        return
    if not isinstance(value, int | float):
        raise context.error("NotJson", f"a {type(value).__name__} is no value of JSON")
    if isinstance(value, float) and not isfinite(value):
        raise context.error("NotJson", f"{value} is no number of JSON")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise context.error("NotJson", "an integer is beyond 2^53-1, where readers of JSON begin to round")


def same(one: Json, two: Json) -> bool:
    """Whether two values are one value of JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(value, two[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    return bool(one == two)


def copied(value: Json) -> Json:
    """The value again, sharing nothing that can change."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


def merged(target: Json, patch: Json) -> Json:
    """RFC 7396: members of the patch over those of the target, `null` takes one away; anything else replaces it."""
    if not isinstance(patch, dict):
        return patch
    left = target if isinstance(target, dict) else {}
    kept = {key: value for key, value in left.items() if key not in patch}
    return kept | {key: merged(left.get(key), value) for key, value in patch.items() if value is not None}


def shown(text: str) -> str:
    """A text as a message quotes it."""
    return repr(text if len(text) <= KEY else f"{text[:KEY]}…")
