"""Conditions of pipe steps, checked before anything runs, where the schemas leave no doubt."""

from collections.abc import Callable, Iterator

from keisei.contracts.words import nearest, shown
from keisei.rules.condition import ORDERINGS, Compared, Condition, Literally, Node, walked
from keisei.rules.pipe_input import Complaint, absent, kind_words
from keisei.rules.pipe_type import Typed, kinds_of, literally, values_of
from keisei.rules.reference import Reference, listed_names
from keisei.rules.schema_part import EVERY, NUMBERS

Kinds = frozenset[str]
BOOLEAN: Kinds = frozenset({"boolean"})


def condition_complaints(
    found: Condition, typed: Callable[[Reference], Typed], kinds: Callable[[Typed], Kinds]
) -> Iterator[Complaint]:
    """Comparisons that can never be made or never hold, and values that may be absent. Paths are empty."""
    for node in walked(found.node):
        if isinstance(node, Compared):
            yield from _comparison(node.sign, *(_kinds(each, typed, kinds) for each in (node.left, node.right)))
            yield from _never_said(node, typed)
        elif isinstance(node, Reference) and not typed(node).sure and not _is_asked_for(found, node):
            told = absent(node, node, is_declared=kinds(typed(node)) != EVERY)
            yield told._replace(hint=_hint(node), within=node.text)


def _hint(node: Reference) -> str | None:
    if not node.path or not isinstance(node.path[-1], str):
        return None
    outer = node._replace(path=node.path[:-1]).text
    return f"ask first: `'{node.path[-1]}' in {outer} and ...`"


def _never_said(node: Compared, typed: Callable[[Reference], Typed]) -> Iterator[Complaint]:
    """A text that a counted value never is: most often a slip."""
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if node.sign in ("==", "!=") and isinstance(one, Reference) and isinstance(other, Literally):
            values = values_of(typed(one)) if isinstance(other.value, str) else None
            if values is not None and other.value not in values and any(isinstance(each, str) for each in values):
                names = [str(each) for each in values if each is not None]
                hint = nearest(other.value, names) or f"it is one of: {listed_names(other.value, names)}"
                message = f"`{one.text}` is never {shown(other.value)}"
                yield Complaint("bad-condition", (), message, hint, "value", "warning", one.text)


def _is_asked_for(found: Condition, node: Reference) -> bool:
    """Whether the condition itself asks if it is there: `'x' in $a and $a.x > 1`."""
    asked = {
        (each.right.root, (*each.right.path, each.left.value))
        for each in walked(found.node)
        if isinstance(each, Compared) and isinstance(each.right, Reference) and isinstance(each.left, Literally)
        if each.sign == "in" and isinstance(each.left.value, str)
    }
    return any((node.root, node.path[:length]) in asked for length in range(1, len(node.path) + 1))


def _kinds(node: Node, typed: Callable[[Reference], Typed], kinds: Callable[[Typed], Kinds]) -> Kinds:
    if isinstance(node, Reference):
        return kinds(typed(node))
    return kinds_of(literally(node.value)) if isinstance(node, Literally) else BOOLEAN


def _comparison(sign: str, left: Kinds, right: Kinds) -> Iterator[Complaint]:
    both = f"{kind_words(left)} and {kind_words(right)}"
    if sign in ORDERINGS:
        if not ((left & NUMBERS and right & NUMBERS) or "string" in left & right):
            yield Complaint("bad-condition", (), f"`{sign}` cannot order {both}")
    elif sign == "in":
        if "array" not in right and not ("string" in left and right & {"object", "string"}):
            message = f"`in` needs a list, an object or a text on its right, not {kind_words(right)}"
            yield Complaint("bad-condition", (), message)
    elif not (left & right or (left & NUMBERS and right & NUMBERS)):
        message = f"`{sign}` compares {both}, which are never equal"
        yield Complaint("bad-condition", (), message, None, "value", "warning")
