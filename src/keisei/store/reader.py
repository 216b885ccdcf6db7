"""What the reading modules need of a driver, so that each is written once."""

from collections.abc import Mapping
from typing import Any, Protocol

Row = tuple[Any, ...]


class Reader(Protocol):
    """Either driver."""

    def read(self, sql: str, params: Mapping[str, Any], /) -> list[Row]:
        """The rows of one statement that writes nothing, as of now. Parameters are named `:name` in the text."""
