"""What is met on the way through a tree: functions, tests, and what they are inside of."""

from collections.abc import Sequence

from msgspec import Struct
from tree_sitter import Node

from keisei.grammar.source import Source


class Met(Struct, frozen=True, kw_only=True):
    """A function, or something that functions are inside of."""

    name: str
    """Its own; empty where it lends none to what is inside."""
    function: Node | None = None
    """Where its lines are counted; None where it is no function."""
    body: Node | None = None
    """What it does; None where that stands elsewhere, or nowhere."""
    hollow: bool = False
    """It is written without a body, and so does nothing."""
    covers: Node | None = None
    """A function's node inside it that is this very thing, and not met again."""
    titled: bool = False
    """It is named by a text, as tests are whose names are sentences."""
    suite: bool = False
    """By its name, its marks or its parents, functions inside it may be tests."""
    test: bool = False
    """It is a test."""
    skipped: bool = False
    """It is marked to be skipped, and so is every test inside it."""
    checked: bool = False
    """Its marks say what must happen, so that an empty body is no empty test: `should_panic`."""


class Place(Struct, frozen=True, kw_only=True):
    """Where on the way a node is met."""

    source: Source
    """The file."""
    parents: Sequence[Node]
    """Nodes it is inside of, the nearest last. `Node.parent` searches from the root, which deep trees make slow."""
    around: Met | None
    """The nearest thing it is inside of."""
    marks: Sequence[Node] = ()
    """Attributes and decorators right before it."""

    def marked(self) -> list[str]:
        """The text of each mark."""
        return [self.source.words(mark) for mark in self.marks]

    @property
    def parent(self) -> Node | None:
        """The node it is directly in."""
        return self.parents[-1] if self.parents else None
