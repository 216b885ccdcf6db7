"""Mermaid: a workflow drawn as text. No name can say anything but its name."""

import re
from collections.abc import Iterator, Mapping

from keisei.records.workflow import WorkflowDefinition, WorkflowState

PLAIN = re.compile(r"[A-Za-z0-9_ .()/-]")
"""What stands in a label as it is; all else is written by its number."""
LONGEST = 80
"""Characters of a name that are drawn."""
CURRENT = "classDef current font-weight:bold,stroke-width:3px"


def workflow_diagram(
    definition: WorkflowDefinition, current: str | None = None, visits: Mapping[str, int] | None = None
) -> str:
    """A `stateDiagram-v2`, ending with a line's end; the state it stands in is marked, and visits are counted.

    A transition into a state that the definition does not have is not drawn.
    """
    lines = ["stateDiagram-v2", *(f"    {line}" for line in _lines(definition, current, visits))]
    return "\n".join(lines) + "\n"


def _lines(definition: WorkflowDefinition, current: str | None, visits: Mapping[str, int] | None) -> Iterator[str]:
    ids = {state.state_id: f"s{number}" for number, state in enumerate(definition.states)}
    for name, state in {each.state_id: each for each in definition.states}.items():
        yield f'state "{label(_words(state, visits))}" as {ids[name]}'
    if definition.initial_state in ids:
        yield f"[*] --> {ids[definition.initial_state]}"
    for state in definition.states:
        yield from _arrows(state, ids)
    if current in ids:
        yield CURRENT
        yield f"class {ids[current]} current"


def _words(state: WorkflowState, visits: Mapping[str, int] | None) -> str:
    if visits is None:
        return state.state_id
    most = f" of {state.max_visits}" if state.max_visits is not None else ""
    return f"{state.state_id} ({visits.get(state.state_id, 0)}{most})"


def _arrows(state: WorkflowState, ids: Mapping[str, str]) -> Iterator[str]:
    here = ids[state.state_id]
    for each in state.transitions:
        if each.next_state in ids:
            yield f"{here} --> {ids[each.next_state]}: {label(each.signal)}"
    for signal in state.completion_signals:
        yield f"{here} --> [*]: {label(signal)}"
    if not state.transitions and not state.completion_signals:
        yield f"{here} --> [*]"


def label(text: str) -> str:
    """A text that is shown and never read as Mermaid. Never empty."""
    shown = " ".join(text[:LONGEST].split()) or "-"
    return "".join(each if PLAIN.fullmatch(each) else f"#{ord(each)};" for each in shown)
