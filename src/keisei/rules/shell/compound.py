"""Compound commands: lists, branches, loops, functions and the rest of the grammar, each walked as bash runs it."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from keisei.records.effect import UNKNOWN
from keisei.rules.shell.assign import names_in
from keisei.rules.shell.ground import Node, Trace
from keisei.rules.shell.state import Input

if TYPE_CHECKING:
    from keisei.rules.shell.walk import Walk

NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Visit = Callable[["Walk", Node, Trace], None]


def _binary(walk: "Walk", node: Node, trace: Trace) -> None:
    op, left, right = node.get("Op"), node.get("X") or {}, node.get("Y") or {}
    if op in ("|", "|&"):
        text = walk.prints(left)
        with walk.state.apart():
            walk.statement(left, trace)
        with walk.state.apart(), walk.state.fed(Input(UNKNOWN if text is None else text)):
            walk.statement(right, trace)
        return
    walk.statement(left, trace)
    if op == "&&":
        strays, walk.state.strays = (*walk.state.strays, *walk.state.cwds), ()
        walk.statement(right, trace)
        walk.state.strays = tuple(dict.fromkeys((*walk.state.strays, *strays)))
    else:
        walk.state.settle()
        before = walk.state.cwds
        walk.statement(right, trace)
        walk.state.settle()
        walk.state.either(before)


def _block(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.statements(node.get("Stmts") or (), trace)


def _subshell(walk: "Walk", node: Node, trace: Trace) -> None:
    with walk.state.apart():
        walk.statements(node.get("Stmts") or (), trace)


def _branch(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.statements(node.get("Cond") or (), trace)
    before = walk.state.cwds
    walk.statements(node.get("Then") or (), trace)
    after = walk.state.cwds
    walk.state.either(before)
    if node.get("Else"):
        _branch(walk, node["Else"], trace)
    walk.state.either(after)


def _while_loop(walk: "Walk", node: Node, trace: Trace) -> None:
    _loop(walk, (*(node.get("Cond") or ()), *(node.get("Do") or ())), trace)


def _loop(walk: "Walk", body: Iterable[Node], trace: Trace) -> None:
    statements = tuple(body)
    before = walk.state.cwds
    walk.looping += 1
    walk.statements(statements, trace)
    if walk.state.cwds != before and not walk.again:
        walk.again = True  # once more from where the first round ends; loops inside need no third
        walk.state.either(before)
        walk.statements(statements, trace)
        walk.again = False
    walk.state.either(before)
    walk.looping -= 1


def _for_loop(walk: "Walk", node: Node, trace: Trace) -> None:
    loop = node.get("Loop") or {}
    if loop.get("Type") == "WordIter":
        name = (loop.get("Name") or {}).get("Value", "")
        rows = walk.argvs(loop["Items"]) if loop.get("Items") else walk.state.variables.rows("@")
        for value in dict.fromkeys(value for row in rows for value in row):
            walk.state.variables.assign(name, value)
    else:
        walk.evaluated(loop, trace)
        for name in names_in(loop):
            if NAME.fullmatch(name):
                walk.state.variables.assign(name, "0")
    walk.nested(loop, trace)
    _loop(walk, node.get("Do") or (), trace)


def _case(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.nested(node.get("Word") or {}, trace)
    before = walk.state.cwds
    for item in node.get("Items") or ():
        for pattern in item.get("Patterns") or ():
            walk.nested(pattern, trace)
        walk.statements(item.get("Stmts") or (), trace)
        walk.state.either(before)


def _function(walk: "Walk", node: Node, trace: Trace) -> None:
    names = [node.get("Name") or {}, *(node.get("Names") or ())]
    body = node.get("Body") or {}
    for name in names:
        bodies = walk.state.functions.setdefault(name.get("Value", ""), [])
        if body not in bodies:
            bodies.append(body)
    if trace.certain and not walk.rehearsing and not walk.called & {name.get("Value", "") for name in names}:
        with walk.state.apart():  # nobody calls it in sight: what it plainly runs counts, what it would be given not
            walk.statement(body, trace.inside(f"{names[0].get('Value', '')}()", certain=False))


def _arithmetic(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.nested(node.get("X") or {}, trace)
    walk.evaluated(node, trace)


def _let(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.nested(node, trace)
    walk.evaluated(node, trace)


def _test(walk: "Walk", node: Node, trace: Trace) -> None:
    walk.nested(node.get("X") or {}, trace)
    walk.evaluated(node, trace)


def _declaration(walk: "Walk", node: Node, trace: Trace) -> None:
    variant = (node.get("Variant") or {}).get("Value", "declare")
    words = [variant]
    for assignment in node.get("Args") or ():
        if assignment.get("Name") and not assignment.get("Naked"):
            walk.assigner.assign(assignment, trace)
            if any(re.fullmatch(r"-[a-zA-Z]*[in][a-zA-Z]*", word) for word in words[1:]):
                walk.evaluated(assignment, trace)
            words.append(f"{assignment['Name'].get('Value', '')}=")
        elif assignment.get("Value"):
            walk.nested(assignment["Value"], trace)
            texts = walk.expander.text(assignment["Value"])
            for text in texts:
                walk.prompted(text, trace.inside(variant))
            words.extend(texts[:1])
    walk.integers = walk.integers or any(re.fullmatch(r"-[a-zA-Z]*i[a-zA-Z]*", word) for word in words[1:])
    if any(word.startswith("-") and "n" in word for word in words[1:]):  # a name for another variable
        for assignment in node.get("Args") or ():
            walk.state.variables.assign((assignment.get("Name") or {}).get("Value", ""), UNKNOWN)
    walk.found.command(tuple(words), trace, listed=False)


def _timed(walk: "Walk", node: Node, trace: Trace) -> None:
    if node.get("Stmt"):
        walk.statement(node["Stmt"], trace.inside("time"))


def _coprocess(walk: "Walk", node: Node, trace: Trace) -> None:
    with walk.state.apart(), walk.state.fed(Input()):
        walk.statement(node.get("Stmt") or {}, trace.inside("coproc"))


VISITS: Final[Mapping[str, Visit]] = {
    "BinaryCmd": _binary,
    "Block": _block,
    "Subshell": _subshell,
    "IfClause": _branch,
    "WhileClause": _while_loop,
    "ForClause": _for_loop,
    "CaseClause": _case,
    "FuncDecl": _function,
    "ArithmCmd": _arithmetic,
    "LetClause": _let,
    "TestClause": _test,
    "DeclClause": _declaration,
    "TimeClause": _timed,
    "CoprocClause": _coprocess,
}
"""What is done at each kind of node."""
