"""What the runtime hands to a verb."""

from typing import Any, Protocol

Data = dict[str, Any]


class Context(Protocol):
    """The part of the runtime's context that these verbs use."""

    invocation_id: str
    """The id of this call; the same again is the same call again."""

    def error(self, code: str, message: str) -> Exception:
        """A declared error, to be raised."""
