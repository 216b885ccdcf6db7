"""Rust: functions wherever they stand, and closures; tests by their attributes."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source

SCOPES: Final = {"mod_item": "name", "trait_item": "name", "impl_item": "type"}
KINDS: Final = frozenset({*SCOPES, "function_item", "closure_expression"})
TEST: Final = re.compile(r"#\[\s*(\w+\s*::\s*)*(test|rstest|test_case|wasm_bindgen_test|quickcheck)\b")
IGNORE: Final = re.compile(r"#\[\s*(ignore\b|cfg_attr\s*\(.*\bignore\b)", re.DOTALL)
PANIC: Final = re.compile(r"#\[\s*should_panic\b")


def is_mark(node: Node, _source: Source) -> bool:
    """Attributes of what comes next."""
    return node.type == "attribute_item"


def meet(node: Node, place: Place) -> Met | None:
    """Modules, traits and implementations lend their names; a function with a test's attribute is a test."""
    if node.type in SCOPES:
        return Met(name=place.source.field(node, SCOPES[node.type]).partition("<")[0])
    if node.type == "closure_expression":
        return Met(name=_name(place), function=node)
    marks = place.marked()
    return Met(
        name=place.source.field(node, "name"),
        function=node,
        body=node.child_by_field_name("body"),
        test=any(TEST.match(mark) for mark in marks),
        skipped=any(IGNORE.match(mark) for mark in marks),
        checked=any(PANIC.match(mark) for mark in marks),
    )


def _name(place: Place) -> str:
    parent = place.parent
    bound = parent is not None and parent.type == "let_declaration"
    return place.source.field(parent, "pattern") if bound and parent is not None else "<closure>"
