"""Go: functions, methods and function literals; tests, fuzz targets, benchmarks and subtests of `_test.go` files.

A benchmark that calls nothing is not empty: it measures, and nobody counts it among the tests that pass.
"""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import statements

KINDS: Final = frozenset({"function_declaration", "method_declaration", "func_literal", "call_expression"})
TEST: Final = re.compile(r"(Test|Fuzz|Benchmark)([^a-z].*)?", re.DOTALL)
RUN: Final = re.compile(r"\w+\.Run")
SKIP: Final = re.compile(r"\w+\.Skip(f|Now)?\s*\(")
RECEIVER: Final = re.compile(r"\(\s*(?:\w+\s+)?\**\s*(\w+)")
BINDINGS: Final = {"short_var_declaration": "left", "assignment_statement": "left", "var_spec": "name"}


def meet(node: Node, place: Place) -> Met | None:
    """Functions by name, methods with their receiver's type, subtests by their text."""
    if node.type == "call_expression":
        return _subtest(node, place) if place.source.path.endswith("_test.go") else None
    if node.type == "func_literal":
        return Met(name=_bound(place), function=node)
    name = place.source.field(node, "name")
    receiver = RECEIVER.match(place.source.field(node, "receiver"))
    test = node.type == "function_declaration" and TEST.fullmatch(name) is not None and _takes_testing(node, place)
    return _function(f"{receiver[1]}.{name}" if receiver else name, node, place, test=test)


def _function(name: str, node: Node, place: Place, *, test: bool, titled: bool = False) -> Met:
    body = node.child_by_field_name("body")
    skipped = test and any(SKIP.match(place.source.words(each)) for each in statements(body))
    return Met(
        name=name,
        function=node,
        body=body,
        covers=node if titled else None,
        test=test,
        titled=titled,
        skipped=skipped,
        checked=name.startswith("Benchmark") or (titled and place.around is not None and place.around.checked),
    )


def _takes_testing(node: Node, place: Place) -> bool:
    return place.source.path.endswith("_test.go") and "testing." in place.source.field(node, "parameters")


def _subtest(node: Node, place: Place) -> Met | None:
    given = node.child_by_field_name("arguments")
    values = given.named_children if given is not None else []
    if len(values) != 2 or not RUN.fullmatch(place.source.field(node, "function")):  # noqa: PLR2004 - a name, a function
        return None
    title, function = values
    if function.type != "func_literal" or "string_literal" not in title.type:
        return None
    return _function(place.source.words(title)[1:-1], function, place, test=True, titled=True)


def _bound(place: Place) -> str:
    """The variable a literal is bound to, where it is the only one."""
    for parent in place.parents[:-3:-1]:
        if parent.type in BINDINGS:
            return place.source.field(parent, BINDINGS[parent.type])
        if parent.type != "expression_list" or parent.named_child_count > 1:
            break
    return "<function>"
