"""Python text as a syntax tree."""

import ast
import textwrap
import threading
import warnings

from keisei.records.effect import BELOW, UNKNOWN
from keisei.rules.shell.code.python.value import Blank

HOLE = "keisei_unknown_text"
"""Takes the place of UNKNOWN while the text is parsed: a name where code stands, plain letters inside a string."""
_PARSING = threading.Lock()
"""Held while warnings are switched off: that is a setting of the whole process, and calls come in many threads."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of code, also of code that is indented as a whole. Raises SyntaxError or ValueError."""
    filled = text.replace(UNKNOWN, HOLE)
    with _PARSING, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(filled)
        except IndentationError:
            return ast.parse(textwrap.dedent(filled))


def constant_of(node: ast.Constant) -> object:
    """The value of a constant in a tree; None is None, and anything that is no text or number is not known."""
    if isinstance(node.value, str):
        return node.value.replace(HOLE, UNKNOWN).replace(BELOW, UNKNOWN)
    return node.value if isinstance(node.value, bytes | bool | int | float | None) else Blank.ANY
