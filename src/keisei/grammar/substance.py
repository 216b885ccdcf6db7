"""Substance: whether the body of a test calls or checks anything at all.

Node types of all grammars stand in one table: where two grammars share a type, it means the same. An assertion about
constants, a line printed and a lone `t.Parallel()` are hollow: they hold whatever the code does.
"""

import re
from typing import Final

from tree_sitter import Node

from keisei.grammar.source import Source, statements

CALLS: Final = frozenset(
    {"call", "call_expression", "new_expression", "macro_invocation", "method_invocation", "object_creation_expression"}
)
CHECKS: Final = frozenset({"assert_statement", "raise_statement", "throw_statement", "await", "await_expression"})
RETURNS: Final = frozenset({"return", "return_statement", "return_expression"})
NESTED: Final = frozenset(
    {"function_definition", "function_declaration", "function_item", "method", "class_definition"}
)
"""Definitions inside a body: they do nothing until something calls them."""
NAMES: Final = frozenset(
    {"identifier", "type_identifier", "field_identifier", "property_identifier", "shorthand_property_identifier"}
    | {"constant", "instance_variable", "class_variable", "global_variable", "self", "this", "super", "yield"}
)
TAILS: Final = ("name", "method", "property", "attribute", "field", "macro")
HEADS: Final = ("function", "object", "receiver", "operand", "value", "argument", "path")
SPEAKERS: Final = frozenset(
    {"assert", "Assert", "Assertions", "assertThat", "expect", "chai", "console", "fmt", "log", "require", "t"}
)
"""Objects whose every method only asserts, prints or sets up."""
SETTLED: Final = frozenset({"t", "be_truthy", "be_falsey", "be_nil"})
"""Names that say nothing of the code under test, wherever they are handed over."""
HOLLOW: Final = re.compile(
    r"(debug_)?assert(_eq|_ne|_equal|_nil|_same|_true|_false)?|refute|expect|be|eq|eql|equal|be_(truthy|falsey|nil)"
    r"|assert(True|False|Equals?|NotEquals?|Is(Not)?(None)?|(Not)?Null|(Not)?Same|(Not)?In|That|Greater|Less)|ok_?|eq_"
    r"|(EXPECT|ASSERT|CHECK|REQUIRE|BOOST_CHECK|BOOST_REQUIRE|TEST_ASSERT)(_[A-Z]+)*|SUCCEED|SUCCESS|TEST_PASS"
    r"|e?print(ln)?|dbg|puts|p|pp|printf|cr_assert"
)
FAILS: Final = re.compile(r"(?i)fail|fatal|error|throw|raise|panic|reject|run|cleanup")
"""Methods that are no mere assertion about constants, whosever they are."""
DENIES: Final = re.compile(r"(?i)false|not|null|none|nil|falsy|refute|_ne")
FALSE: Final = frozenset({"false", "False", "0", "nil", "None", "null"})


def is_empty(body: Node, source: Source, *, bare_calls: bool) -> bool:
    """Whether a body checks nothing and calls nothing. `bare_calls`: a name alone may be a call, as in Ruby."""
    first = next(iter(statements(body)), None)
    if first is not None and _is_return(first) and not _has_substance(first, source, bare_calls=bare_calls):
        return True
    return not _has_substance(body, source, bare_calls=bare_calls)


def _is_return(statement: Node) -> bool:
    inner = statement.named_children
    return statement.type in RETURNS or (
        statement.type == "expression_statement" and len(inner) == 1 and inner[0].type in RETURNS
    )


def _has_substance(body: Node, source: Source, *, bare_calls: bool) -> bool:
    waiting = [body]
    while waiting:
        node = waiting.pop()
        if node.type in CALLS or node.type in CHECKS:
            if not _is_hollow(node, source):
                return True
        elif bare_calls and node.type == "identifier":
            return True
        elif node.type not in NESTED:
            waiting.extend(node.children)
    return False


def _is_hollow(node: Node, source: Source) -> bool:
    """Whether it is an assertion about constants alone, or only prints, and cannot fail."""
    if node.type in CHECKS:
        return node.type == "assert_statement" and _are_constant(node.children, source) and not _is_false(node, source)
    return _are_constant([node], source) and not _denies_itself(node, source)


def _are_constant(nodes: list[Node], source: Source) -> bool:
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.type in CALLS:
            names, given = _unfolded(node, source)
            if not _says_nothing(names):
                return False
            waiting.extend(given)
        elif node.type in CHECKS or (node.type in NAMES and source.words(node) not in SETTLED):
            return False
        else:
            waiting.extend(node.children)
    return True


def _says_nothing(names: list[str]) -> bool:
    """Whether a call by these names, the last part first, asserts or prints and no more."""
    if not names or FAILS.search(names[0]):
        return False
    own = HOLLOW.fullmatch(names[0]) is not None
    if len(names) == 1:
        return own
    return names[-1] in SPEAKERS or (own and names[0].lower().startswith(("assert", "expect")))


def _unfolded(call: Node, source: Source) -> tuple[list[str], list[Node]]:
    """The names of what is called, last part first, and everything that is handed over along the chain."""
    names: list[str] = []
    given: list[Node] = []
    node: Node | None = call
    while node is not None:
        given += [*node.children_by_field_name("arguments"), *node.children_by_field_name("block")]
        given += [each for each in node.children if each.type == "token_tree"]
        tail = next((part for part in map(node.child_by_field_name, TAILS) if part is not None), None)
        head = next((part for part in map(node.child_by_field_name, HEADS) if part is not None), None)
        if tail is not None:
            names.append(source.words(tail))
        elif head is None:
            if node.type in NAMES:
                names.append(source.words(node))
            else:
                given.append(node)
        node = head
    return names, given


def _is_false(check: Node, source: Source) -> bool:
    """Whether it is `assert False`: it fails wherever it is reached, which is a way to check."""
    told = [each for each in check.named_children if each.type != "string"]
    return len(told) == 1 and source.words(told[0]) in FALSE


def _denies_itself(call: Node, source: Source) -> bool:
    names, given = _unfolded(call, source)
    values = [each for part in given for each in part.named_children if "string" not in each.type]
    lone = len(values) == 1 and len(given) == 1 and source.words(values[0]) in FALSE
    return lone and not any(DENIES.search(name) for name in names)
