"""Reconciling: what the gate judged and what the harness says it did are the same, or it is told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.records.decision import GateDecision
from keisei.records.report import ToolUse
from keisei.rules.reconcile import SHOWN, complaints, reconcile

ONE, OTHER = "1" * 64, "2" * 64


def a_call(call_id="a", tool="Bash", digest=ONE, unasked=None):
    return ToolUse(id=call_id, tool=tool, input_digest=digest, unasked=unasked)


def a_decision(call_id="a", tool="Bash", digest=ONE, decision="allow"):
    return GateDecision(
        attempt_id=None,
        tool_use_id=call_id,
        tool=tool,
        input={},
        input_digest=digest,
        decision=decision,
        cause="rule",
        reason="no" if decision == "deny" else None,
        latency_ms=0,
        policy_digest="0" * 64,
        decided_at="2026-11-15T12:00:00Z",
        previous_hash=None,
        hash="0" * 64,
    )


@pytest.mark.parametrize("decision", ["allow", "deny"])
def test_a_call_that_was_judged_as_it_was_made_is_well(decision):
    audit = reconcile([a_call()], [a_decision(decision=decision)])

    assert audit.matched == (a_call(),)
    assert complaints(audit) == ()


def test_a_call_whose_input_the_transcript_does_not_tell_is_known_by_its_id_and_tool():
    assert complaints(reconcile([a_call(digest=None)], [a_decision()])) == ()
    assert complaints(reconcile([a_call(digest=None, tool="Write")], [a_decision()])) != ()


def test_a_call_that_nobody_judged_is_a_violation():
    audit = reconcile([a_call(), a_call("b", "Write")], [a_decision()])

    assert audit.ungated == (a_call("b", "Write"),)
    assert complaints(audit) == ("the gate was not asked about `Write` (b)",)


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        (a_decision(digest=OTHER), "the gate was asked about another input instead of `Bash` (a)"),
        (a_decision(tool="Read"), "the gate was asked about `Read` instead of `Bash` (a)"),
    ],
    ids=["input", "tool"],
)
def test_a_call_that_was_judged_as_something_else_is_a_violation(judged, words):
    audit = reconcile([a_call()], [judged])

    assert [(each.call, each.judged) for each in audit.differing] == [(a_call(), judged)]
    assert complaints(audit) == (words,)


def test_a_decision_without_a_call_is_told_and_no_violation():
    audit = reconcile([], [a_decision(), a_decision(None)])

    assert audit.unseen == (a_decision(), a_decision(None))
    assert complaints(audit) == ()


@pytest.mark.parametrize("call_id", ["canary-refused", "canary-allowed", "post:a"])
def test_what_the_gate_asks_itself_is_no_calls_decision(call_id):
    audit = reconcile([a_call(call_id)], [a_decision(call_id)])

    assert audit.ungated == (a_call(call_id),)
    assert audit.unseen == ()


def test_a_call_that_the_harness_asks_no_hook_about_is_told_and_no_violation():
    audit = reconcile([a_call(unasked="no such tool")], [])

    assert (audit.unasked, audit.ungated) == ((a_call(unasked="no such tool"),), ())
    assert complaints(audit) == ()


def test_one_decision_answers_for_one_call():
    audit = reconcile([a_call(), a_call()], [a_decision()])

    assert (audit.matched, audit.ungated) == ((a_call(),), (a_call(),))
    assert complaints(reconcile([a_call(), a_call()], [a_decision(), a_decision()])) == ()


def test_calls_under_one_id_find_their_decisions_in_any_order():
    calls = [a_call(digest=ONE), a_call(digest=OTHER)]

    assert complaints(reconcile(calls, [a_decision(digest=OTHER), a_decision(digest=ONE)])) == ()


def test_a_call_without_an_id_is_not_judged_by_a_decision_without_one():
    assert reconcile([a_call("?")], [a_decision(None)]).ungated == (a_call("?"),)


def test_a_patch_out_of_a_command_was_judged_as_the_command():
    patch = a_call(tool="apply_patch", digest=None)

    assert complaints(reconcile([patch], [a_decision()])) == ()
    assert complaints(reconcile([patch], [a_decision(tool="Read")])) != ()
    assert complaints(reconcile([a_call(tool="apply_patch")], [a_decision()])) != ()


def test_many_violations_are_counted_and_not_all_told():
    calls = [a_call(str(number)) for number in range(100)]

    assert complaints(reconcile(calls, []))[SHOWN:] == (f"and so for {100 - SHOWN} more calls",)


CALLS = st.lists(
    st.builds(
        a_call,
        st.sampled_from("abc"),
        st.sampled_from(["Bash", "apply_patch"]),
        st.sampled_from([None, ONE, OTHER]),
        st.sampled_from([None, "x"]),
    )
)
DECISIONS = st.lists(
    st.builds(
        a_decision,
        st.sampled_from(["a", "b", "canary-x", None]),
        st.sampled_from(["Bash", "Read"]),
        st.sampled_from([ONE, OTHER]),
    )
)


@given(CALLS, DECISIONS)
def test_every_call_and_every_decision_is_accounted_for_once(calls, decisions):
    audit = reconcile(calls, decisions)

    told = [*audit.matched, *audit.ungated, *audit.unasked, *(each.call for each in audit.differing)]
    assert sorted(map(repr, told)) == sorted(map(repr, calls))
    ours = [each for each in decisions if not (each.tool_use_id or "").startswith("canary-")]
    assert len(audit.matched) + len(audit.differing) + len(audit.unseen) == len(ours)
