"""The decision about a candidate: every ground on its own, and a mutant of every line of the function that owns it."""

import ast
import itertools
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType

import pytest
from msgspec.structs import replace

from keisei.records.error import IllegalMove
from keisei.records.finding import FindingRecord
from keisei.records.landing import LandingRecord
from keisei.rules import landing
from keisei.rules.landing import MOVES, Grounds, decide, moved, rejecting

NOW = datetime(2026, 11, 1, tzinfo=UTC)
T, OTHER = "a" * 40, "b" * 40
ASKED = (("engine::merge", "merged"), ("quality::tests-green", "merged"), ("policy::no-git-ops", "worktree"))


def finding(capability, status="held", *, run_from="merged", tree=T, severity="block"):
    return FindingRecord(
        finding_id="f",
        attempt_id="at",
        capability=capability,
        status=status,
        severity=severity,
        reason=None if status == "held" else "it is not so",
        run_from=run_from,
        tree=tree,
        duration_ms=0.0,
        created_at=NOW,
    )


HELD = (
    finding("engine::merge"),
    finding("quality::tests-green"),
    finding("policy::no-git-ops", run_from="worktree", tree=None),
)
GOOD = Grounds(tree=T, asked=ASKED, findings=HELD, auto=True)


def without(*names):
    return tuple(each for each in HELD if each.capability not in names)


def but(*findings):
    return (*without(*(each.capability for each in findings)), *findings)


TESTS = "quality::tests-green"
RED, WARNED = finding(TESTS, "violated"), finding(TESTS, "violated", severity="warn")
CASES = {
    "every predicate holds, and the project merges": (GOOD, "merge"),
    "the project asks a person": (replace(GOOD, auto=False), "hold"),
    "a person has approved it": (replace(GOOD, auto=False, approved=True), "merge"),
    "somebody has to look at it": (replace(GOOD, waits="the agent asks"), "hold"),
    "somebody has looked at it": (replace(GOOD, waits="the agent asks", approved=True), "merge"),
    "conflict": (replace(GOOD, tree=None, conflicts=("a.py",)), "rollback"),
    "conflict, another try": (replace(GOOD, tree=None, again=True), "respawn"),
    "conflict, approved": (replace(GOOD, tree=None, approved=True), "rollback"),
    "red": (replace(GOOD, findings=but(RED)), "rollback"),
    "red, another try": (replace(GOOD, findings=but(RED), again=True), "respawn"),
    "red, approved": (replace(GOOD, findings=but(RED), approved=True), "rollback"),
    "red in the worktree": (
        replace(GOOD, findings=but(finding("policy::no-git-ops", "violated", run_from="worktree", tree=None))),
        "rollback",
    ),
    "red before, and no worse": (replace(GOOD, findings=but(WARNED)), "hold"),
    "red before, and no worse, approved by somebody who saw it": (
        replace(GOOD, findings=but(WARNED), approved=True, accepted=((TESTS, "merged"),)),
        "merge",
    ),
    "red before, and no worse, since it was approved": (replace(GOOD, findings=but(WARNED), approved=True), "hold"),
    "another doubt than the one that was seen": (
        replace(GOOD, findings=but(WARNED), approved=True, accepted=(("engine::merge", "merged"), (TESTS, "worktree"))),
        "hold",
    ),
    "a doubt that was seen, and nobody approved": (
        replace(GOOD, findings=but(WARNED), accepted=((TESTS, "merged"),)),
        "hold",
    ),
    "skipped, and only told": (replace(GOOD, findings=but(finding(TESTS, "skipped", severity="warn"))), "hold"),
    "advisory": (replace(GOOD, findings=but(finding(TESTS, "unknown", severity="advisory"))), "hold"),
    "not applicable": (replace(GOOD, findings=but(finding(TESTS, "not-applicable"))), "merge"),
    "not applicable, and only told": (
        replace(GOOD, findings=but(finding(TESTS, "not-applicable", severity="warn"))),
        "merge",
    ),
    **{
        f"{status} rejects": (replace(GOOD, findings=but(finding(TESTS, status))), "rollback")
        for status in ("violated", "error", "unknown", "skipped")
    },
    "no verdict": (replace(GOOD, findings=without(TESTS)), "hold"),
    "no verdict, approved": (replace(GOOD, findings=without(TESTS), approved=True), "hold"),
    "no verdict at all": (replace(GOOD, findings=()), "hold"),
    "no verdict at all, approved": (replace(GOOD, findings=(), approved=True), "hold"),
    "the verdict is about another tree": (replace(GOOD, findings=but(finding(TESTS, tree=OTHER))), "hold"),
    "approved on another tree": (replace(GOOD, findings=but(finding(TESTS, tree=OTHER)), approved=True), "hold"),
    "the verdict is about no tree": (replace(GOOD, findings=but(finding(TESTS, tree=None))), "hold"),
    "another place was asked": (
        replace(GOOD, findings=but(finding(TESTS, run_from="worktree", tree=None))),
        "hold",
    ),
    "red on another tree, green on this one": (
        replace(GOOD, findings=(*HELD, finding(TESTS, "violated", tree=OTHER))),
        "merge",
    ),
    "green on another tree, red on this one": (
        replace(GOOD, findings=(*but(RED), finding(TESTS, tree=OTHER))),
        "rollback",
    ),
    "green and red on this tree": (replace(GOOD, findings=(*HELD, RED)), "rollback"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_becomes_of_a_candidate(name):
    grounds, wanted = CASES[name]

    assert decide(grounds).decision == wanted


def test_the_reason_is_one_line_that_names_the_predicate():
    found = decide(replace(GOOD, findings=but(replace(RED, reason="x" * 200))))

    assert TESTS in found.reason
    assert len(found.reason) <= 200
    assert "\n" not in found.reason
    assert "a.py" in decide(replace(GOOD, tree=None, conflicts=("a.py",))).reason


@pytest.mark.parametrize(
    ("auto", "approved", "waits", "again"),
    list(itertools.product((False, True), (False, True), (None, "w"), (False, True))),
)
@pytest.mark.parametrize(
    "bad",
    [
        {"findings": but(RED)},
        {"findings": but(finding(TESTS, "error"))},
        {"findings": without(TESTS)},
        {"findings": but(finding(TESTS, tree=OTHER))},
        {"tree": None},
        {"tree": OTHER},
    ],
)
def test_nothing_merges_what_was_not_found_good(bad, auto, approved, waits, again):
    grounds = replace(GOOD, auto=auto, approved=approved, waits=waits, again=again, **bad)

    assert decide(grounds).decision != "merge"


def test_findings_that_reject_are_of_severity_block():
    found = [finding("a::b", "violated"), finding("a::c", "violated", severity="warn"), finding("a::d")]

    assert [each.capability for each in rejecting(found)] == ["a::b"]


# --- mutants ----------------------------------------------------------------------------------------------------------

SOURCE = Path(landing.__file__).read_text(encoding="utf-8")
OWNERS = ("decide", "rejecting", "spoken", "_rejected")
SWAPS = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
WORDS = {
    "merge": "hold",
    "hold": "merge",
    "respawn": "rollback",
    "rollback": "respawn",
    "worktree": "merged",
    "block": "warn",
}


def mutants():
    """Every way in which one thing of the deciding functions is turned round, each as a module's source."""
    count = sum(1 for _ in _spots(ast.parse(SOURCE)))
    for number in range(count):
        tree = ast.parse(SOURCE)
        spot = next(itertools.islice(_spots(tree), number, None))
        yield spot(), ast.unparse(ast.fix_missing_locations(tree))


def _spots(tree):
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in OWNERS:
            function.body = [each for each in function.body if not _is_docstring(each)]
            yield from _inside(function)


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _inside(function):
    for node in ast.walk(function):
        if isinstance(node, ast.Compare):
            yield lambda node=node: _swap(node, "ops", 0)
        elif isinstance(node, ast.BoolOp):
            yield lambda node=node: _set(node, "op", SWAPS[type(node.op)]())
        elif isinstance(node, ast.If):
            yield lambda node=node: _set(node, "test", ast.Constant(value=False))
            yield lambda node=node: _set(node, "test", ast.Constant(value=True))
            yield lambda node=node: _set(node, "test", ast.UnaryOp(op=ast.Not(), operand=node.test))
        elif isinstance(node, ast.Constant) and node.value in WORDS and isinstance(node.value, str):
            yield lambda node=node: _set(node, "value", WORDS[node.value])


def _swap(node, name, index):
    parts = getattr(node, name)
    parts[index] = SWAPS[type(parts[index])]()
    return f"line {node.lineno}: {ast.unparse(node)}"


def _set(node, name, value):
    setattr(node, name, value)
    return f"line {node.lineno}: {ast.unparse(node)[:100]}"


EQUIVALENT = ("a way nobody can tell",)
"""What only words a sentence."""


def survives(source):
    made = ModuleType("mutant")
    made.__dict__["__name__"] = "keisei.rules.landing_mutant"
    exec(compile(source, "mutant", "exec"), made.__dict__)  # noqa: S102 - our own source, turned round
    for grounds, wanted in CASES.values():
        try:
            if made.decide(grounds).decision != wanted:
                return False
        except Exception:  # noqa: BLE001 - a mutant that breaks is found too
            return False
    return [each.capability for each in made.rejecting([finding("a::b", "violated", severity="warn")])] == []


def test_every_mutant_of_the_decision_is_found():
    tried = list(mutants())
    left = [name for name, source in tried if survives(source) and not any(word in name for word in EQUIVALENT)]

    assert len(tried) > 40
    assert left == []


# --- moves ------------------------------------------------------------------------------------------------------------

RECORD = LandingRecord(
    landing_id="l1",
    task_id="t1",
    attempt_id="a1",
    branch="main",
    candidate_commit=T,
    tree=T,
    before_commit=T,
    after_commit=OTHER,
    status="held",
    created_at=NOW,
    updated_at=NOW,
)


@pytest.mark.parametrize(("before", "after"), [(one, other) for one in MOVES for other in MOVES])
def test_a_landing_moves_only_where_it_may(before, after):
    record = replace(RECORD, status=before)
    if after in MOVES[before]:
        assert moved(record, after, NOW, reason="x").status == after
    else:
        with pytest.raises(IllegalMove, match=f"is {before}"):
            moved(record, after, NOW)


def test_what_is_over_stays_so():
    assert MOVES["rejected"] == MOVES["reverted"] == frozenset()
    assert MOVES["landed"] == {"reverted"}
