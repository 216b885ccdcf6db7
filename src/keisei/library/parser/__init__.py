"""Parser: text to data, strictly, or the reason with its line and column.

Owns: nothing. Touches: nothing; text in, data out. Leaves to others: which file it was, and what the data means. Each
format has a module with one function, `parse(text)`, which ends in time linear in the text on any text at all.
"""

from typing import NamedTuple

from keisei.library.locate import Position

DEPTH = 64
"""Levels; nobody writes more by hand, and every recursion below is bounded by it."""


class Fault(NamedTuple):
    """Why a text is not data."""

    code: str
    """The problem code it becomes."""
    place: Position
    """Where, in the text."""
    message: str
    """What is wrong."""
    hint: str | None = None
    """What to do."""


class Unparsed(Exception):
    """A text that is not data. Carries one fault or several."""

    def __init__(self, *faults: Fault) -> None:
        """Keep them in the order of the text."""
        super().__init__("; ".join(fault.message for fault in faults))
        self.faults = faults


def too_deep(place: Position) -> Unparsed:
    """The complaint about a text that nests too deeply."""
    return Unparsed(Fault("too-deep", place, f"nested more than {DEPTH} levels"))


def long_number(place: Position) -> Unparsed:
    """The complaint about an integer of more digits than Python reads."""
    return Unparsed(Fault("wrong-value", place, "must be an integer between -(2^53-1) and 2^53-1"))


def lower_first(text: str) -> str:
    """Parsers begin their sentences with a capital; ours go on after a colon."""
    return text[:1].lower() + text[1:]
