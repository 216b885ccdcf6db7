"""What a script language is like, and which of its functions do what."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from keisei.rules.shell.code.dialect import Dialect


class Language(NamedTuple):
    """What a script language is like, and which of its functions do what."""

    name: str
    dialect: Dialect
    glue: tuple[str, ...]
    """Operators that join strings."""
    table: Mapping[str, str]
    """Function to kind. `f` is called by itself, `.f` on anything, `X.f` on X."""
    bare: bool = False
    """Whether functions are called without parentheses too."""
    dots: tuple[str, ...] = (".",)
    defines: frozenset[str] = frozenset({"function", "def", "sub"})
    besides: Callable[[Any, int], None] | None = None
    """Looks at every token of a scan besides."""
    prepare: Callable[[Any], None] | None = None
    """Looks at a scan before its constants are learnt, and tells it the names that are none."""
    value: Callable[[Any, Any], Any] | None = None
    """What a piece of an expression is that is no string, no number and no name."""


def kinds(groups: Mapping[str, str]) -> dict[str, str]:
    """A table from functions to their kind, out of one from kinds to functions."""
    return {name: kind for kind, names in groups.items() for name in names.split()}
