"""Workflows: which definitions can be followed to an end."""

from collections import Counter
from collections.abc import Iterable, Mapping

from keisei.records.workflow import WorkflowDefinition, WorkflowState

Fault = tuple[str, tuple[str | int, ...], str]
"""A problem code, the place in the definition, a sentence."""


def workflow_faults(definition: WorkflowDefinition) -> list[Fault]:
    """Everything that would leave an instance stuck, lost or running forever; empty means it can be followed."""
    states = {state.state_id: state for state in definition.states}
    faults = [*_names(definition), *_targets(definition, states)]
    if faults:
        return faults
    reached = _reached([definition.initial_state], states)
    for index, state in enumerate(definition.states):
        place = ("states", index)
        if state.state_id not in reached:
            faults.append(("unreachable-state", (*place, "state_id"), f"state `{state.state_id}` is never reached"))
        elif not any(_is_end(states[name]) for name in _reached([state.state_id], states)):
            faults.append(("endless", (*place, "state_id"), f"no end can be reached from state `{state.state_id}`"))
        elif _circles_freely(state, states):
            message = f"state `{state.state_id}` can come round forever: no state of the circle has `max_visits`"
            faults.append(("endless", (*place, "state_id"), message))
    return faults


def _names(definition: WorkflowDefinition) -> Iterable[Fault]:
    for name, count in Counter(state.state_id for state in definition.states).items():
        if count > 1:
            index = max(i for i, state in enumerate(definition.states) if state.state_id == name)
            yield "duplicate-name", ("states", index, "state_id"), f"state `{name}` is defined {count} times"


def _targets(definition: WorkflowDefinition, states: Mapping[str, WorkflowState]) -> Iterable[Fault]:
    if definition.initial_state not in states:
        yield "dangling", ("initial_state",), f"initial state `{definition.initial_state}` does not exist"
    for index, state in enumerate(definition.states):
        signals = Counter([each.signal for each in state.transitions] + list(state.completion_signals))
        for number, transition in enumerate(state.transitions):
            place = ("states", index, "transitions", number)
            if transition.next_state not in states:
                message = f"signal `{transition.signal}` leads to state `{transition.next_state}`, which does not exist"
                yield "dangling", (*place, "next_state"), message
            if signals[transition.signal] > 1:
                message = f"signal `{transition.signal}` is used twice in state `{state.state_id}`"
                yield "contradiction", (*place, "signal"), message


def _is_end(state: WorkflowState) -> bool:
    return not state.transitions or bool(state.completion_signals)


def _reached(names: list[str], states: Mapping[str, WorkflowState]) -> set[str]:
    reached: set[str] = set()
    while names:
        name = names.pop()
        if name not in reached:
            reached.add(name)
            names.extend(each.next_state for each in states[name].transitions)
    return reached


def _circles_freely(state: WorkflowState, states: Mapping[str, WorkflowState]) -> bool:
    """Whether the state comes back to itself through states without a cap."""
    free = {name: each for name, each in states.items() if each.max_visits is None}
    if state.state_id not in free:
        return False
    waiting = [each.next_state for each in state.transitions]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name == state.state_id:
            return True
        if name in free and name not in seen:
            seen.add(name)
            waiting.extend(each.next_state for each in free[name].transitions)
    return False
