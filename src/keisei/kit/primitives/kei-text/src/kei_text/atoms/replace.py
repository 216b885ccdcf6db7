"""kei-text::replace."""

import re

from kei_text.context import Context, Data
from kei_text.line import check_size, check_texts
from kei_text.pattern import pattern_of

GROUP = re.compile(r"\\(?:g<|[1-9])")
"""What puts a group into a replacement."""


def run(given: Data, context: Context) -> Data:
    """The text with every match replaced; nothing is, where it raises an error its page declares."""
    text = given["text"]
    check_texts(context, text, given["find"], given["replacement"])
    parts, end, size, count = list[str](), 0, 0, 0
    for found in pattern_of(context, given).finditer(text):
        count += 1
        parts += [text[end : found.start()], _replacement(context, given, found)]
        size += len(parts[-2]) + len(parts[-1])
        check_size(context, size)
        end = found.end()
    _check_count(context, given, count)
    return {"text": "".join([*parts, text[end:]]), "count": count}


def _replacement(context: Context, given: Data, found: re.Match[str]) -> str:
    replacement: str = given["replacement"]
    if not given.get("regex", False):
        return replacement
    longest = max(len(group or "") for group in (found[0], *found.groups()))
    check_size(context, longest * len(GROUP.findall(replacement)))  # before it is made
    try:
        return found.expand(replacement)
    except (re.error, IndexError) as error:
        raise context.error("BadReplacement", f"not a replacement for this expression: {error}") from error


def _check_count(context: Context, given: Data, count: int) -> None:
    expected = given.get("expected_count")
    if expected is not None and count != expected:
        raise context.error("CountDiffers", f"expected {expected}, found {count}; nothing is replaced")
    if not count and expected is None and not given.get("allow_none", False):
        raise context.error("NotFound", f"the text does not hold {given['find'][:80]!r}")
