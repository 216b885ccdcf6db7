"""One answer of a search, whatever it is."""

from msgspec import Struct


class SearchHit(Struct, frozen=True, kw_only=True):
    """Something that was found."""

    kind: str
    """What it is: task, attempt, landing, pipe run, workflow, approval, page, or a kind of authored thing."""
    id: str
    """What it is called."""
    title: str
    """What it is about."""
    page: str | None
    """Where it is shown; None where it has no page."""
    status: str | None = None
    """Where it stands, where it is work."""
    graph: str | None = None
    """Where the graph begins with it, where it is authored."""
    snippet: str = ""
    """A part of its text around the words."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where in the snippet the words stand: start and end, in characters."""
