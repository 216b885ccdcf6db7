"""C and C++: definitions, methods and lambdas; tests of GoogleTest, Boost, Catch2, doctest, Check and Unity."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source, statements

SCOPES: Final = frozenset({"namespace_definition", "class_specifier", "struct_specifier", "union_specifier"})
KINDS: Final = SCOPES | {"function_definition", "lambda_expression", "compound_statement"}
MACRO: Final = re.compile(
    r"(TYPED_)?TEST(_F|_P)?|BOOST_(AUTO|FIXTURE|DATA)_TEST_CASE|START_TEST|Test|ParameterizedTest"
)
"""Macros that look like a definition: `TEST(Suite, Name) { ... }`."""
TITLED: Final = re.compile(r"\s*((TEMPLATE_|DOCTEST_)?TEST_CASE(_METHOD|_FIXTURE|_TEMPLATE)?|SCENARIO)\s*\(")
"""Macros that look like a call before a block: `TEST_CASE("adds up", "[cart]") { ... }`."""
HIDDEN: Final = re.compile(r"\[(\.[^\]]*|!shouldfail|!mayfail)\]|doctest::(skip|should_fail|may_fail)\(")
TITLE: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
SKIP: Final = re.compile(r"(GTEST_SKIP|SKIP|TEST_IGNORE\w*|cr_skip_test|skip)\s*\(")
TEMPLATE: Final = re.compile(r"<[^<>]*>")


def is_mark(node: Node, source: Source) -> bool:
    """A test's macro that stands before its block."""
    if node.type != "expression_statement" or TITLED.match(source.words(node)) is None:
        return False
    return source.data[node.end_byte - 1 : node.end_byte] != b";"


def meet(node: Node, place: Place) -> Met | None:
    """Namespaces and classes lend their names; test macros name tests."""
    if node.type in SCOPES:
        named = node.child_by_field_name("body") is not None and place.source.field(node, "name")
        return Met(name=named) if named else None
    if node.type == "lambda_expression":
        return Met(name=_bound(place), function=node)
    if node.type == "compound_statement":
        return _block(node, place)
    return _definition(node, place)


def _definition(node: Node, place: Place) -> Met | None:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or _inner(declarator)
    if declarator is None:
        return None  # a class behind a macro reads as a definition, and is none
    name = place.source.field(declarator, "declarator")
    if MACRO.fullmatch(name) and node.child_by_field_name("type") is None:
        name = ".".join(_parameters(declarator, place)[:2]) or name
        return _function(name, node, place, test=True)
    plain = TEMPLATE.sub("", name).replace("::", ".")
    return _function(plain, node, place, test=name.startswith("test_") and place.source.is_test_file)


def _inner(declarator: Node) -> Node | None:
    """What a reference or parentheses hold, which these grammars do not name."""
    return next((each for each in declarator.named_children if each.type.endswith("declarator")), None)


def _parameters(declarator: Node, place: Place) -> list[str]:
    given = declarator.child_by_field_name("parameters")
    return [place.source.words(each) for each in given.named_children] if given is not None else []


def _block(node: Node, place: Place) -> Met | None:
    for words in place.marked():
        title = TITLE.search(words)
        skipped = HIDDEN.search(words) is not None
        return _function(title[1] if title else "<test>", node, place, test=True, skipped=skipped)
    return None


def _function(name: str, node: Node, place: Place, *, test: bool, skipped: bool = False) -> Met:
    body = node.child_by_field_name("body") or (node if node.type == "compound_statement" else None)
    skips = any(SKIP.match(place.source.words(each)) for each in statements(body)) if test else False
    return Met(
        name=name, function=node, body=body, test=test, skipped=skipped or (test and "DISABLED_" in name) or skips
    )


def _bound(place: Place) -> str:
    parent = place.parent
    named = parent is not None and parent.type == "init_declarator"
    return place.source.field(parent, "declarator") if named and parent is not None else "<lambda>"
