"""Cursors: where a list goes on, and what to say where no row of it is there any more."""

from typing import Annotated, Final

from msgspec import Meta

from keisei.console.asking import Fault, Unfit

FURTHEST: Final = 10**15
"""What JSON can count."""
Place = Annotated[int, Meta(ge=0, le=FURTHEST)]
"""A place in a list that goes by numbers; it stays good when the row that stood there is gone."""


def lost() -> Unfit:
    """No row has this id: it was removed meanwhile, or never was one. An empty page would look like the end."""
    return Unfit([Fault("after", "nothing in this list has that id; begin with the first page")])
