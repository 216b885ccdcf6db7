"""Customs: what a function, a test and a skipped test look like, by language."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from tree_sitter import Node

from keisei.grammar import c, go, java, python, ruby, rust, script
from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source


def _no_mark(_node: Node, _source: Source) -> bool:
    return False


class Custom(Struct, frozen=True, kw_only=True):
    """The customs of one language."""

    kinds: frozenset[str]
    """Node types that may be met."""
    meet: Callable[[Node, Place], Met | None]
    """What a node of these types is; None where it is nothing."""
    is_mark: Callable[[Node, Source], bool] = _no_mark
    """Whether a node is a decorator or an attribute of what comes after it."""
    bare_calls: bool = False
    """A name alone may be a call."""


SCRIPT: Final = Custom(kinds=script.KINDS, meet=script.meet, is_mark=script.is_mark)
CUSTOMS: Final = {
    "python": Custom(kinds=python.KINDS, meet=python.meet, is_mark=python.is_mark),
    "rust": Custom(kinds=rust.KINDS, meet=rust.meet, is_mark=rust.is_mark),
    "go": Custom(kinds=go.KINDS, meet=go.meet),
    "javascript": SCRIPT,
    "typescript": SCRIPT,
    "tsx": SCRIPT,
    "java": Custom(kinds=java.KINDS, meet=java.meet),
    "c": Custom(kinds=c.KINDS, meet=c.meet, is_mark=c.is_mark),
    "cpp": Custom(kinds=c.KINDS, meet=c.meet, is_mark=c.is_mark),
    "ruby": Custom(kinds=ruby.KINDS, meet=ruby.meet, bare_calls=True),
}


def custom_of(language: str) -> Custom:
    """The customs of a language that `language_of` names."""
    return CUSTOMS[language]
