"""Workflows: a definition without faults can be followed to an end, whatever the agents say."""

from collections import Counter
from itertools import cycle

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from keisei.records.workflow import Transition, WorkflowDefinition, WorkflowState
from keisei.rules.workflow import workflow_faults

QUICK = settings(max_examples=200, deadline=None, database=None)


def state(name, moves=None, done=(), cap=None):
    transitions = tuple(Transition(signal=signal, next_state=target) for signal, target in (moves or {}).items())
    return WorkflowState(state_id=name, transitions=transitions, completion_signals=tuple(done), max_visits=cap)


def workflow(*states, begin=None):
    return WorkflowDefinition(workflow_type="w", initial_state=begin or states[0].state_id, states=states)


@pytest.mark.parametrize(
    "definition",
    [
        pytest.param(workflow(state("only")), id="one-state"),
        pytest.param(workflow(state("a", {"go": "b"}), state("b")), id="a-line"),
        pytest.param(workflow(state("a", {"yes": "b", "no": "b"}), state("b")), id="two-ways-to-one-place"),
        pytest.param(workflow(state("a", {"again": "a"}, done=["stop"], cap=3)), id="a-capped-loop"),
        pytest.param(
            workflow(state("plan", {"go": "work"}), state("work", {"back": "plan"}, done=["done"], cap=2)),
            id="one-cap-in-a-circle-is-enough",
        ),
    ],
)
def test_a_definition_that_can_be_followed_has_no_faults(definition):
    assert workflow_faults(definition) == []


@pytest.mark.parametrize(
    ("definition", "faults"),
    [
        pytest.param(
            workflow(state("a"), begin="z"),
            [("dangling", ("initial_state",), "initial state `z` does not exist")],
            id="no-beginning",
        ),
        pytest.param(
            workflow(state("a", {"go": "z"})),
            [
                (
                    "dangling",
                    ("states", 0, "transitions", 0, "next_state"),
                    "signal `go` leads to state `z`, which does not exist",
                )
            ],
            id="leads-nowhere",
        ),
        pytest.param(
            workflow(state("a", {"go": "b"}), state("b"), state("b")),
            [("duplicate-name", ("states", 2, "state_id"), "state `b` is defined 2 times")],
            id="two-of-one-name",
        ),
        pytest.param(
            workflow(state("a", {"go": "b"}, done=["go"]), state("b")),
            [("contradiction", ("states", 0, "transitions", 0, "signal"), "signal `go` is used twice in state `a`")],
            id="a-signal-that-goes-on-and-completes",
        ),
        pytest.param(
            workflow(state("a"), state("b")),
            [("unreachable-state", ("states", 1, "state_id"), "state `b` is never reached")],
            id="never-reached",
        ),
        pytest.param(
            workflow(state("a", {"go": "b", "stop": "c"}), state("b", {"again": "b"}, cap=2), state("c")),
            [("endless", ("states", 1, "state_id"), "no end can be reached from state `b`")],
            id="a-state-without-a-way-out",
        ),
        pytest.param(
            workflow(state("a", {"again": "a"}, done=["stop"])),
            [
                (
                    "endless",
                    ("states", 0, "state_id"),
                    "state `a` can come round forever: no state of the circle has `max_visits`",
                )
            ],
            id="a-loop-without-a-cap",
        ),
    ],
)
def test_a_fault_is_told_with_its_place(definition, faults):
    assert workflow_faults(definition) == faults


def test_a_signal_that_leads_two_ways_is_told_at_both():
    twice = WorkflowState(
        state_id="a",
        transitions=(Transition(signal="go", next_state="b"), Transition(signal="go", next_state="c")),
    )

    faults = workflow_faults(workflow(twice, state("b"), state("c")))

    assert [(code, place) for code, place, _ in faults] == [
        ("contradiction", ("states", 0, "transitions", 0, "signal")),
        ("contradiction", ("states", 0, "transitions", 1, "signal")),
    ]


def test_every_state_of_a_free_circle_is_told_and_no_other():
    definition = workflow(
        state("a", {"go": "b"}), state("b", {"go": "c"}), state("c", {"back": "b", "out": "d"}), state("d")
    )

    assert [(code, place) for code, place, _ in workflow_faults(definition)] == [
        ("endless", ("states", 1, "state_id")),
        ("endless", ("states", 2, "state_id")),
    ]


def test_a_cap_on_one_of_two_circles_does_not_free_the_other():
    definition = workflow(
        state("a", {"x": "b", "y": "c", "z": "end"}),
        state("b", {"back": "a"}, cap=1),
        state("c", {"back": "a"}),
        state("end"),
    )

    assert {definition.states[place[1]].state_id for _, place, _ in workflow_faults(definition)} == {"a", "c"}


NAMES = ["a", "b", "c", "d", "e"]
SIGNALS = ["go", "back", "again"]


def decoded(raw):
    """A small definition, right or wrong, from bytes: drawing it piece by piece would take most of the time."""
    take = iter(raw).__next__
    names = NAMES[: 1 + take() % len(NAMES)]
    return workflow(
        *(
            state(
                name,
                {signal: names[take() % len(names)] for signal in SIGNALS if take() % 2},
                ["done"] if take() % 4 == 0 else [],
                [None, 1, 2, 3][take() % 4],
            )
            for name in names
        )
    )


DEFINITIONS = st.binary(min_size=48, max_size=48).map(decoded)


def follow(definition, choose):
    """How one instance ends: completed, ended, or blocked by a cap; None where it goes on and on."""
    states = {each.state_id: each for each in definition.states}
    visits = Counter()
    current = definition.initial_state
    longest = (1 + sum(each.max_visits or 0 for each in definition.states)) * (1 + len(states))
    for _ in range(longest + 1):
        here = states[current]
        visits[current] += 1
        if here.max_visits is not None and visits[current] > here.max_visits:
            return "blocked"
        signals = [each.signal for each in here.transitions] + list(here.completion_signals)
        if not here.transitions:
            return "ended"
        signal = choose(signals)
        if signal in here.completion_signals:
            return "completed"
        current = next(each.next_state for each in here.transitions if each.signal == signal)
    return None


@QUICK
@given(DEFINITIONS, st.binary(min_size=1, max_size=16))
def test_an_instance_of_a_faultless_definition_always_ends_or_blocks(definition, said):
    if workflow_faults(definition):
        event("faulty")
        return
    choices = cycle(said)

    end = follow(definition, lambda signals: signals[next(choices) % len(signals)])

    event(str(end))
    assert end is not None


@QUICK
@given(DEFINITIONS)
def test_a_definition_that_can_run_forever_is_never_faultless(definition):
    # Always the way back where there is one: the walk that a free circle would catch.
    end = follow(definition, lambda signals: signals[0])

    assert end is not None or any(code == "endless" for code, _, _ in workflow_faults(definition))
