"""Python: functions, methods and named lambdas; tests as pytest and unittest find them."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source, statements

KINDS: Final = frozenset({"module", "class_definition", "function_definition", "lambda"})
MARK: Final = re.compile(r"@\s*(\w+\s*\.\s*)*(skip|skipif|skipIf|skipUnless|skip_if|xfail|expectedFailure)\b")
ALL: Final = re.compile(r"pytestmark\b[^=]*=.*\.(skip|skipif|xfail)\b|__test__\s*=\s*False", re.DOTALL)
"""An assignment that skips everything beside it."""
SKIP: Final = re.compile(r"(pytest\.)?(skip|xfail)\s*\(|self\.skipTest\s*\(|raise\s+([\w.]+\.)?(SkipTest|Skipped)\b")
CASE: Final = re.compile(r"\b\w*TestCase\b")


def is_mark(node: Node, _source: Source) -> bool:
    """Decorators."""
    return node.type == "decorator"


def meet(node: Node, place: Place) -> Met | None:
    """Modules and classes lend their skip marks; functions named `test...` in test modules and classes are tests."""
    if node.type == "module":
        return Met(name="", suite=place.source.is_test_file, skipped=_skips_all(node, place.source))
    if node.type == "class_definition":
        return _class(node, place)
    if node.type == "lambda":
        return _lambda(node, place)
    return _function(node, place)


def _class(node: Node, place: Place) -> Met:
    name, outer = place.source.field(node, "name"), place.around
    by_name = outer is not None and outer.suite and name.startswith("Test")
    body = node.child_by_field_name("body")
    return Met(
        name=name,
        suite=by_name or CASE.search(place.source.field(node, "superclasses")) is not None,
        skipped=_is_skipped(place) or (body is not None and _skips_all(body, place.source)),
    )


def _function(node: Node, place: Place) -> Met:
    name, outer, body = place.source.field(node, "name"), place.around, node.child_by_field_name("body")
    test = name.startswith("test") and outer is not None and outer.suite
    return Met(
        name=name,
        function=node,
        body=body,
        test=test,
        skipped=_is_skipped(place) or any(SKIP.match(place.source.words(each)) for each in statements(body)),
    )


def _lambda(node: Node, place: Place) -> Met | None:
    parent = place.parent
    if parent is None or parent.type != "assignment":
        return None
    return Met(name=place.source.field(parent, "left"), function=node)


def _is_skipped(place: Place) -> bool:
    return any(MARK.match(mark) for mark in place.marked())


def _skips_all(body: Node, source: Source) -> bool:
    return any(ALL.match(words) or SKIP.match(words) for words in map(source.words, statements(body)))
