"""Ruby: methods, named lambdas and examples; tests as minitest, Rails and RSpec find them."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import statements

SCOPES: Final = frozenset({"class", "module"})
KINDS: Final = SCOPES | {"method", "singleton_method", "lambda", "call", "program"}
GROUP: Final = re.compile(r"[xf]?(describe|context|feature)|example_group")
EXAMPLE: Final = re.compile(r"[xf]?(it|specify|example|scenario)|test|its|pending|skip")
CASE: Final = re.compile(r"\w*(Test|TestCase|Spec)$")
OPTION: Final = re.compile(r":(skip|pending)\b|(:?(skip|pending)(:|\s*=>))(?!\s*false\b)")
SKIP: Final = re.compile(r"(skip|pending|omit)\b\s*(?![.=\s])|(skip|pending|omit)\s+[\"'(]")


def meet(node: Node, place: Place) -> Met | None:
    """Classes lend their names, `describe` its text; blocks of `it` and methods named `test_...` are tests."""
    if node.type == "program":
        return Met(name="", suite=place.source.is_test_file)
    if node.type in SCOPES:
        case = CASE.search(place.source.field(node, "superclass")) is not None
        return Met(name=place.source.field(node, "name"), suite=case or _in_suite(place))
    if node.type == "call":
        return _call(node, place)
    if node.type == "lambda":
        return Met(name=_bound(place), function=node) if _bound(place) else None
    name = place.source.field(node, "name")
    test = node.type == "method" and name.startswith("test_") and _in_suite(place)
    return _function(name, node, node.child_by_field_name("body"), place, test=test)


def _in_suite(place: Place) -> bool:
    return place.around is not None and place.around.suite


def _call(node: Node, place: Place) -> Met | None:
    method, receiver = place.source.field(node, "method"), place.source.field(node, "receiver")
    block = node.child_by_field_name("block")
    if method in {"lambda", "proc"} and not receiver and block is not None and _bound(place):
        return Met(name=_bound(place), function=block)
    if receiver not in {"", "RSpec"} or not (receiver or _in_suite(place)):
        return None
    skipped = method.startswith("x") or _opts_out(node, place)
    if GROUP.fullmatch(method) and block is not None:
        return Met(name=_title(node, place), titled=True, suite=True, skipped=skipped)
    if EXAMPLE.fullmatch(method):
        return _example(node, block, place, skipped=skipped or method in {"pending", "skip"})
    return None


def _example(node: Node, block: Node | None, place: Place, *, skipped: bool) -> Met | None:
    title = _title(node, place)
    if block is None:
        named_only = node.child_by_field_name("method") is not None and title and not _is_statement(node, place)
        return Met(name=title, function=node, titled=True, test=True, skipped=True) if named_only else None
    met = _function(title or "<example>", node, block.child_by_field_name("body"), place, test=True)
    return Met(
        name=met.name,
        function=node,
        body=met.body,
        hollow=met.hollow,
        titled=True,
        test=True,
        skipped=skipped or met.skipped,
    )


def _is_statement(node: Node, place: Place) -> bool:
    """Whether it is `skip "why"` inside of a test rather than a test without a body."""
    return place.around is None or not place.around.titled or place.source.field(node, "method") in {"skip", "pending"}


def _function(name: str, node: Node, body: Node | None, place: Place, *, test: bool) -> Met:
    skipped = test and any(SKIP.match(f"{place.source.words(each)}\n") for each in _lines(body))
    return Met(name=name, function=node, body=body, hollow=body is None, test=test, skipped=skipped)


def _lines(body: Node | None) -> list[Node]:
    if body is None:
        return []
    return statements(body) if body.type in {"body_statement", "block_body"} else [body]


def _title(node: Node, place: Place) -> str:
    given = node.child_by_field_name("arguments")
    first = given.named_children[0] if given is not None and given.named_children else None
    words = place.source.words(first)
    return words[1:-1] if first is not None and first.type == "string" else words


def _opts_out(node: Node, place: Place) -> bool:
    given = node.child_by_field_name("arguments")
    rest = given.named_children[1:] if given is not None else []
    return any(OPTION.match(place.source.words(each)) for each in rest)


def _bound(place: Place) -> str:
    parent = place.parent
    return place.source.field(parent, "left") if parent is not None and parent.type == "assignment" else ""
