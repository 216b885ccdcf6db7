"""JSON positions: one pass over the tokens, no recursion."""

import json
import re
from contextlib import suppress

from keisei.library.locate import Growth, Positions

# An unclosed string runs to the end of the text: looking for its end again from each later quote would be quadratic.
TOKEN = re.compile(
    r"""
      "(?:[^"\\]++|\\.)*"?
    | [\[\]{}]
    | [^\x20\t\r\n"\[\]{},:]++
    """,
    re.VERBOSE | re.DOTALL,
)


def positions(text: str) -> Positions:
    """Return the positions of a text that `json.loads` accepts; of a repeated key, those of the last one.

    Never raises. Any other text gives what could be told of it, at most up to the first key that is not a JSON string.
    """
    growth = Growth()
    with suppress(ValueError):
        for token in TOKEN.finditer(text):
            _take(growth, token.group(), token.start())
    return growth.root.positions(text)


def _take(growth: Growth, lexeme: str, offset: int) -> None:
    if lexeme in ("{", "["):
        growth.open(offset, is_list=lexeme == "[")
    elif lexeme in ("}", "]"):
        growth.close()
    elif growth.expects_key:
        growth.key(_name(lexeme), offset)
    else:
        growth.scalar(offset)


def _name(lexeme: str) -> str:
    if not lexeme.startswith('"'):
        raise ValueError(lexeme)
    return str(json.loads(lexeme))
