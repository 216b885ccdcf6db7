"""Patterns: what is looked for, as it stands or as a regular expression."""

import re
import warnings

from kei_text.context import Context, Data


def pattern_of(context: Context, given: Data) -> re.Pattern[str]:
    """What `find`, `regex` and `ignore_case` ask for; `^` and `$` stand at every line. Raises BadPattern."""
    flags = re.MULTILINE | (re.IGNORECASE if given.get("ignore_case", False) else 0)
    text = given["find"] if given.get("regex", False) else re.escape(given["find"])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what may mean something else one day is not this call's affair
            return re.compile(text, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise context.error("BadPattern", f"not a regular expression: {error}") from error
