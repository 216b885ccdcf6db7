"""Labels of nodes: how they read, and how wide they are where nobody can measure them."""

import unicodedata
from typing import Final

from keisei.rules.drawing.legible import shown

LONGEST: Final = 32
"""Characters of an id that stand beside a node."""
HEIGHT: Final = 14.0
"""Of a line of them."""
NARROW: Final = 7.0
WIDE: Final = 13.5
"""Of one character of a monospaced font of 11.5 pixels, with some air."""


def label(name: str) -> str:
    """What stands beside the node of that name."""
    return shown(name, LONGEST)


def width(text: str) -> float:
    """Room for that text, in pixels."""
    return sum(_width(each) for each in text)


def _width(character: str) -> float:
    if character.isascii():
        return NARROW
    if unicodedata.combining(character):
        return 0.0
    return WIDE if unicodedata.east_asian_width(character) in "WF" else NARROW
