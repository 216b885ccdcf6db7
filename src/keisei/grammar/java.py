"""Java: methods, constructors and lambdas; tests as JUnit and TestNG find them."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place

SCOPES: Final = frozenset(
    {
        "class_declaration",
        "interface_declaration",
        "enum_declaration",
        "record_declaration",
        "annotation_type_declaration",
    }
)
FUNCTIONS: Final = frozenset({"method_declaration", "constructor_declaration", "compact_constructor_declaration"})
KINDS: Final = SCOPES | FUNCTIONS | {"lambda_expression"}
TEST: Final = re.compile(
    r"@([\w.]+\.)?(Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)\b"
)
SKIP: Final = re.compile(r"@([\w.]+\.)?(Disabled\w*|Ignore\w*)\b|@([\w.]+\.)?Test\s*\(.*enabled\s*=\s*false", re.DOTALL)
EXPECTS: Final = re.compile(r"@([\w.]+\.)?Test\s*\(.*expected", re.DOTALL)


def meet(node: Node, place: Place) -> Met | None:
    """Types lend their names and skip marks; a method with a test's annotation is a test."""
    name, marks = place.source.field(node, "name"), _annotations(node, place)
    skipped = any(SKIP.match(mark) for mark in marks)
    if node.type in SCOPES:
        return Met(name=name, suite="TestCase" in place.source.field(node, "superclass"), skipped=skipped)
    if node.type == "lambda_expression":
        return Met(name=_bound(place), function=node)
    body = node.child_by_field_name("body")
    if body is None:
        return None
    old = place.around is not None and place.around.suite and name.startswith("test")
    return Met(
        name=name,
        function=node,
        body=body,
        test=old or any(TEST.match(mark) for mark in marks),
        skipped=skipped,
        checked=any(EXPECTS.match(mark) for mark in marks),
    )


def _annotations(node: Node, place: Place) -> list[str]:
    modifiers = [each for each in node.children[:1] if each.type == "modifiers"]
    return [place.source.words(each) for group in modifiers for each in group.children if "annotation" in each.type]


def _bound(place: Place) -> str:
    parent = place.parent
    named = parent is not None and parent.type == "variable_declarator"
    return place.source.field(parent, "name") if named and parent is not None else "<lambda>"
