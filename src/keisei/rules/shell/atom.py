"""Atoms: what a word is made of while it is expanded."""

from typing import Any, Final

Node = dict[str, Any]
Fields = tuple[str, ...]
Atom = tuple[str, bool] | tuple[tuple[str | Fields, ...], bool]
"""A character and whether it is quoted, or an expansion's alternatives and whether it is quoted."""

MOST: Final = 64
"""Alternatives of one word, values of one variable. More are unknown."""
LONGEST: Final = 4096
"""Characters of a value that is followed."""
