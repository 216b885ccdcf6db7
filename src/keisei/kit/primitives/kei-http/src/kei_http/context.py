"""What the runtime hands to a verb."""

from typing import Any, Protocol

Data = dict[str, Any]


class Context(Protocol):
    """The part of the runtime's context that these verbs use."""

    @property
    def invocation_id(self) -> str:
        """The id of this call; the same again is the same call again."""

    def remaining_s(self) -> float:
        """How many seconds are left."""

    def error(self, code: str, message: str) -> Exception:
        """A declared error, to be raised."""
