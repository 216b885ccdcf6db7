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
    reached = _reached([definition.initial_state], _arrows(definition.states))
    ending = _reached([name for name, state in states.items() if _is_end(state)], _backward(definition.states))
    circling = _circling({name: state for name, state in states.items() if state.max_visits is None})
    for index, state in enumerate(definition.states):
        name, place = state.state_id, ("states", index, "state_id")
        if name not in reached:
            faults.append(("unreachable-state", place, f"state `{name}` is never reached"))
        elif name not in ending:
            faults.append(("endless", place, f"no end can be reached from state `{name}`"))
        elif name in circling:
            message = f"state `{name}` can come round forever: no state of the circle has `max_visits`"
            faults.append(("endless", place, message))
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


Arrows = Mapping[str, list[str]]


def _arrows(states: Iterable[WorkflowState]) -> Arrows:
    return {state.state_id: [each.next_state for each in state.transitions] for state in states}


def _backward(states: Iterable[WorkflowState]) -> Arrows:
    backward: dict[str, list[str]] = {}
    for state in states:
        for transition in state.transitions:
            backward.setdefault(transition.next_state, []).append(state.state_id)
    return backward


def _reached(names: list[str], arrows: Arrows) -> set[str]:
    reached: set[str] = set()
    while names:
        name = names.pop()
        if name not in reached:
            reached.add(name)
            names.extend(arrows.get(name, ()))
    return reached


def _circling(states: Mapping[str, WorkflowState]) -> set[str]:
    """States that come back to themselves, in linear time: the groups of Kosaraju's two walks with more than one."""
    forward, backward = _arrows(states.values()), _backward(states.values())
    circling: set[str] = set()
    seen: set[str] = set()
    for start in reversed(_finished(states, forward)):
        group, waiting = [], [start]
        while waiting:
            name = waiting.pop()
            if name in states and name not in seen:
                seen.add(name)
                group.append(name)
                waiting.extend(backward.get(name, ()))
        if len(group) > 1 or (group and start in forward[start]):
            circling.update(group)
    return circling


def _finished(states: Mapping[str, WorkflowState], forward: Arrows) -> list[str]:
    """States in the order in which a depth-first walk leaves them."""
    order: list[str] = []
    seen: set[str] = set()
    waiting = [(name, False) for name in states]
    while waiting:
        name, leaving = waiting.pop()
        if leaving:
            order.append(name)
        elif name in states and name not in seen:
            seen.add(name)
            waiting.append((name, True))
            waiting.extend((each, False) for each in forward[name])
    return order
