"""What the runtime hands to a verb."""

from collections.abc import Callable
from typing import Any, Protocol

import apsw

Data = dict[str, Any]


class Context(Protocol):
    """The part of the runtime's context that these verbs use."""

    def database(self) -> apsw.Connection:
        """The database, open; writers wait for each other."""

    def once(self, work: Callable[[apsw.Connection], Data]) -> Data:
        """Do the work in one write transaction, at most once for this invocation; return what it returned then."""

    def error(self, code: str, message: str) -> Exception:
        """A declared error, to be raised."""
