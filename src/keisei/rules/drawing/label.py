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
MARKS: Final = frozenset({"Mn", "Me", "Cf"})
"""Characters that stand on others, or cannot be seen."""
JOINER: Final = "\u200d"


def label(name: str) -> str:
    """What stands beside the node of that name."""
    return shown(name, LONGEST)


def width(text: str) -> float:
    """Room for that text, in pixels. What is joined to an emoji is one with it."""
    joined = zip(text, ("", *text), strict=False)
    return max(sum(_width(each, before) for each, before in joined), NARROW)


def _width(character: str, before: str) -> float:
    if character.isascii():
        return NARROW
    if unicodedata.category(character) in MARKS:
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 0.0 if before == JOINER else WIDE
    return NARROW
