"""JavaScript and TypeScript: functions in all their spellings; tests of jest, vitest, mocha, node:test and Deno."""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.met import Met, Place
from keisei.grammar.source import Source, statements

SCOPES: Final = frozenset({"class", "class_declaration", "abstract_class_declaration", "internal_module", "module"})
LITERALS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})
FUNCTIONS: Final = frozenset({"function_declaration", "generator_function_declaration", "method_definition"}) | LITERALS
KINDS: Final = SCOPES | FUNCTIONS | {"call_expression"}
BINDINGS: Final = {
    "variable_declarator": "name",
    "pair": "key",
    "field_definition": "property",
    "public_field_definition": "name",
    "assignment_expression": "left",
    "assignment_pattern": "left",
}
CALLEE: Final = re.compile(
    r"(?P<of>(Deno|QUnit|tap|t|ctx|context)\.)?"
    r"((?P<test>[xf]?it|x?test|x?specify)|(?P<group>[xf]?describe|x?context|suite|module))(?P<marks>(\.\w+)*)"
)
SKIPPING: Final = re.compile(r"\.(skip|todo|skipIf|fails|failing|fail|fixme|ignore)\b")
OPTION: Final = re.compile(r"[{,]\s*(skip|todo|ignore)\s*(:(?!\s*false\b)|[,}])")
SKIP: Final = re.compile(r"(await\s+)?(\w+\.(skip|todo)|pending)\s*\(")


def is_mark(node: Node, _source: Source) -> bool:
    """Decorators."""
    return node.type == "decorator"


def meet(node: Node, place: Place) -> Met | None:
    """Classes lend their names, `describe` its text; a function that is called at once is no function."""
    if node.type == "call_expression":
        return _call(node, place)
    if node.type in SCOPES:
        name = place.source.field(node, "name")
        return Met(name=name) if name else None
    if node.type in LITERALS:
        return None if _is_called_at_once(node, place) else Met(name=_bound(node, place), function=node)
    return Met(name=place.source.field(node, "name"), function=node)


def _call(node: Node, place: Place) -> Met | None:
    callee, given = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if callee is not None and callee.type == "call_expression":
        callee = callee.child_by_field_name("function")
    said = CALLEE.fullmatch(place.source.words(callee))
    if said is None or given is None or given.type != "arguments":
        return None
    values = [each for each in given.named_children if each.type != "comment"]
    function = next((each for each in values if each.type in LITERALS), None)
    skipped = said[0].startswith("x") or SKIPPING.search(said["marks"]) is not None or _opts_out(values, place)
    if said["group"]:
        return _group(values, function, place, skipped=skipped)
    if function is None and (said["of"] or not _stands_alone(values, said["marks"], place)):
        return None
    return _test(node, values, function, place, skipped=skipped)


def _group(values: list[Node], function: Node | None, place: Place, *, skipped: bool) -> Met | None:
    if function is None:
        return None
    return Met(name=_title(values, place), covers=function, titled=True, suite=True, skipped=skipped)


def _test(node: Node, values: list[Node], function: Node | None, place: Place, *, skipped: bool) -> Met:
    body = function.child_by_field_name("body") if function is not None else None
    gives_up = body is not None and any(SKIP.match(place.source.words(each)) for each in statements(body))
    only_named = len(values) == 1 and function is None
    return Met(
        name=_title(values, place),
        function=function or node,
        covers=function,
        body=body,
        titled=True,
        test=True,
        skipped=skipped or gives_up or only_named,
    )


def _stands_alone(values: list[Node], marks: str, place: Place) -> bool:
    """Whether a call without a function in it is a test: one that is only named, or whose function stands elsewhere."""
    named = bool(values) and values[0].type in {"string", "template_string"}
    return named and (len(values) > 1 or ".todo" in marks or place.source.is_test_file)


def _title(values: list[Node], place: Place) -> str:
    first = values[0]
    if first.type in LITERALS:
        return place.source.field(first, "name") or "<function>"
    words = place.source.words(first)
    return words[1:-1] if first.type in {"string", "template_string"} else words


def _opts_out(values: list[Node], place: Place) -> bool:
    return any(each.type == "object" and OPTION.search(place.source.words(each)) for each in values)


def _is_called_at_once(node: Node, place: Place) -> bool:
    called = place.parents[-1:] if place.parent and place.parent.type == "call_expression" else place.parents[-2:-1]
    for call in called:
        callee = call.child_by_field_name("function") if call.type == "call_expression" else None
        if callee is not None and (callee == node or (callee == place.parent and "parenthesized" in callee.type)):
            return True
    return False


def _bound(node: Node, place: Place) -> str:
    """Its own name, else that of what it is assigned to, maybe through one call: `const List = memo(() => ...)`."""
    own = place.source.field(node, "name")
    if own:
        return own
    for parent in place.parents[:-4:-1]:
        if parent.type in BINDINGS:
            return place.source.field(parent, BINDINGS[parent.type])
        if parent.type == "export_statement":
            return "default"
        if parent.type not in {"arguments", "call_expression", "parenthesized_expression"}:
            break
    return "<function>"
