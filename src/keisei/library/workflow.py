"""Workflows checked: every state can be reached and left, and everything they name exists."""

from collections.abc import Iterator

from keisei.contracts.words import nearest
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.profile import skill_problems
from keisei.library.shelf import Found
from keisei.records.problem import Problem
from keisei.records.workflow import WorkflowDefinition
from keisei.rules.workflow import workflow_faults


def check_workflow(catalog: Catalog, found: Found, loaded: Loaded) -> Iterator[Problem]:
    """Everything that would leave an instance stuck, lost or running forever."""
    definition: WorkflowDefinition = loaded.record
    document = loaded.document
    if definition.workflow_type != found.name:
        message = f"workflow_type `{definition.workflow_type}` differs from the file `{found.path.name}`"
        yield document.problem("bad-name", ("workflow_type",), message)
    for code, place, message in workflow_faults(definition):
        yield document.problem(code, place, message)
    for index, state in enumerate(definition.states):
        if state.task_type is None and (state.transitions or state.emits_task_intent):
            message = f"state `{state.state_id}` asks for no task: only `keisei workflow signal` moves it on"
            place = ("states", index, "state_id")
            yield document.problem(
                "endless", place, message, "set `task_type`, unless that is meant", severity="warning"
            )
        for kind, key in (("task-type", "task_type"), ("profile", "default_profile_id")):
            name = getattr(state, key)
            if name is not None and catalog.found(kind, name) is None:
                hint = nearest(name, list(catalog.names(kind)))
                yield document.problem("dangling", ("states", index, key), f"{kind} `{name}` does not exist", hint)
        yield from skill_problems(catalog, state.default_skill_ids, ("states", index, "default_skill_ids"), document)
