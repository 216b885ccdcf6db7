"""Instructions: one task file, checked against the role it names, as the intent that asks for it."""

import secrets
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.contracts.check import data_of, violations
from keisei.library.catalog import Catalog
from keisei.library.document import Document
from keisei.library.load import Loaded
from keisei.library.source import Source
from keisei.library.spawn import ready_capabilities
from keisei.library.task_spec import check_task
from keisei.records.error import AuthorError, OperatorError
from keisei.records.task_spec import TaskSpec
from keisei.rules.agent_id import automatic

TASK_TYPE: Final = "agent-task"
"""What an instruction becomes."""
NO_SCOPE: Final = "empty-whitelist"
"""The problem of a task that may write nothing although its role writes."""


class Asked(NamedTuple):
    """An intent, and the id of the spawn it asks for."""

    agent_id: str
    intent: dict[str, Any]


def checked_spec(catalog: Catalog, spec: TaskSpec, scope_hint: str) -> TaskSpec:
    """The same spec. Raises OperatorError with the first reason why nobody could be spawned for it.

    `scope_hint` says how whoever asks names the files that may be written.
    """
    for each in violations("task.spec", data_of(spec)):
        raise OperatorError(f"{'.'.join(map(str, each.path))}: {each.message}", each.hint)
    nowhere = Document(Source(Path("task.toml"), "task.toml", b"", ""), "toml")
    for problem in check_task(catalog, Loaded(spec, nowhere, ())):
        if problem.severity == "error":
            raise OperatorError(problem.message, scope_hint if problem.code == NO_SCOPE else problem.hint)
    try:
        ready_capabilities(catalog, catalog.resolved_role(spec.task.role).capabilities)
    except AuthorError as error:
        hint = f"`keisei lint` tells more of role `{spec.task.role}`"
        raise OperatorError(error.problems[0].message, hint) from error
    return spec


def intent_of(spec: TaskSpec, source: str, budget: dict[str, Any] | None = None) -> Asked:
    """The intent of a task file: its names become the task's own, and a spawn without an id is given one."""
    own = spec.task
    made = own.agent_id or automatic(own.role, time.time_ns() // 1_000_000, secrets.randbits(48))
    words = spec.body.text.strip().splitlines()
    told = {
        "task_type": TASK_TYPE,
        "source": source,
        "subject": words[0][:200] if words else None,
        "payload": data_of(replace(spec, task=replace(own, agent_id=made))),
        "requested_profile_id": own.profile,
        "requested_adapter_id": own.adapter,
        "requested_model": own.model,
        "agent": own.agent,
        "budget": budget or None,
    }
    return Asked(made, {name: value for name, value in told.items() if value})
