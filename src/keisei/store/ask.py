"""Questions: made to fit before the database sees them, whatever somebody asks for."""

from keisei.store.row import fits

MOST = 1000
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def bounded(limit: int) -> int:
    """How many rows: at least none, at most a thousand."""
    return max(0, min(limit, MOST))


def whole(number: int) -> int:
    """The number, or the nearest that a column can hold."""
    return max(SMALLEST, min(number, LARGEST))


def known(name: str) -> str:
    """The name, or, where no column can hold it, the empty one, which nothing has."""
    return name if fits(name) else ""
