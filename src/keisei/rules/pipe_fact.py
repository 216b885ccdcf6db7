"""Facts: what a step may take for granted, because its own condition held, and those of the steps it needs."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from keisei.rules.condition import ORDERINGS, Compared, Condition, Joined, Literally, Node, Not
from keisei.rules.reference import Path, Reference

Key = tuple[str, Path]
"""A root and a path."""
OWN = ("item", "index")
"""Roots that mean something only in the step itself."""


class Facts(NamedTuple):
    """What is known of values before a step runs."""

    present: frozenset[Key]
    """These are there."""
    filled: frozenset[Key]
    """And these are not null."""
    full: frozenset[Key]
    """And these are not empty."""

    def others(self) -> "Facts":
        """What holds for steps that need this one."""
        return Facts(*(frozenset(key for key in each if key[0] not in OWN) for each in self))


NOTHING = Facts(frozenset(), frozenset(), frozenset())


def facts(when: Condition | None) -> Facts:
    """What holds where a condition does."""
    if when is None:
        return NOTHING
    told = list(_told(when.node))
    full = frozenset(key for how, key in told if how == "full")
    filled = full | {key for how, key in told if how == "filled"}
    return Facts(filled | {key for _, key in told}, filled, full)


def together(each: Iterable[Facts]) -> Facts:
    """All of them."""
    found = [one for one in each if one.present]
    return Facts(*(frozenset().union(*sets) for sets in zip(*found, strict=True))) if found else NOTHING


def _told(node: Node) -> Iterator[tuple[str, Key]]:
    """What a part tells that certainly held, and was therefore looked at."""
    if isinstance(node, Reference):
        yield "full", (node.root, node.path)
    elif isinstance(node, Joined) and node.word == "and":
        for part in node.parts:
            yield from _told(part)
    elif isinstance(node, Compared):
        yield from _comparison(node, node.sign)
    elif isinstance(node, Not) and isinstance(node.inner, Compared):
        yield from _comparison(node.inner, {"==": "!=", "!=": "=="}.get(node.inner.sign, ""))
    elif isinstance(node, Not) and isinstance(node.inner, Reference):
        yield "present", (node.inner.root, node.inner.path)


def _comparison(node: Compared, sign: str) -> Iterator[tuple[str, Key]]:
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, Reference):
            is_null = isinstance(other, Literally) and other.value is None
            is_value = isinstance(other, Literally) and other.value is not None
            is_filled = sign in ORDERINGS or (sign == "!=" and is_null) or (sign == "==" and is_value)
            yield "filled" if is_filled else "present", (one.root, one.path)
    if sign == "in" and isinstance(node.right, Reference):
        yield "full", (node.right.root, node.right.path)
        if isinstance(node.left, Literally) and isinstance(node.left.value, str):
            yield "present", (node.right.root, (*node.right.path, node.left.value))
