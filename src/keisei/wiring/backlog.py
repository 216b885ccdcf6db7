"""Backlogs of the original: files of workflows and tasks, seeded entry by entry, each of them once."""

from collections import Counter
from typing import Any, Final

import msgspec

from keisei.contracts.check import data_of
from keisei.engine.intake import Defaults, read_intent
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.workflow import create
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.sensor import ProposedWorkflow
from keisei.rules.canonical import digest
from keisei.wiring.compat_registry import RuntimeRegistry, queue_intent
from keisei.wiring.fresh import new_id

SECTIONS: Final = ("workflows", "tasks")
NAMES: Final = ("instance_key", "subject", "source", "kind", "task_type", "template")
"""What an entry is known by to its author."""


def seed(store: Store, registry: RuntimeRegistry, defaults: Defaults, data: object, actor: str) -> dict[str, Any]:
    """What became of each entry: created or queued now, there already, or refused and why.

    Raises OperatorError for a file that is no backlog at all; then nothing was seeded.
    """
    if not isinstance(data, dict):
        raise OperatorError("a backlog is one object", '{"workflows": [...], "tasks": [...]}')
    seeding = Seeding(store, registry, defaults, actor)
    for name in data:
        if name not in SECTIONS:
            seeding.refuse(str(name), {}, "a backlog has `workflows` and `tasks`, and nothing else")
    for number, each in enumerate(seeding.listed(data, "workflows")):
        seeding.workflow(f"workflows[{number}]", each)
    for number, each in enumerate(seeding.listed(data, "tasks")):
        seeding.task(f"tasks[{number}]", each)
    return seeding.told


class Seeding:
    """One file on its way into the queue."""

    def __init__(self, store: Store, registry: RuntimeRegistry, defaults: Defaults, actor: str) -> None:
        """Nothing is seeded yet."""
        self._store, self._registry, self._defaults, self._actor = store, registry, defaults, actor
        self._equals: Counter[str] = Counter()
        self.told: dict[str, Any] = {"createdWorkflows": [], "queuedTasks": [], "knownTasks": [], "refused": []}

    def listed(self, data: dict[str, Any], section: str) -> list[Any]:
        """The entries of a section; none where it is not there."""
        found = data.get(section)
        if found is None or isinstance(found, list):
            return found or []
        self.refuse(section, {}, "must be a list")
        return []

    def workflow(self, entry: str, data: object) -> None:
        """Begin one workflow. One whose key is known stays as it is."""
        try:
            asked = _proposed(data)
            workflow, is_new = create(
                Office(self._store, lambda: self._registry, self._defaults, new_id),
                workflow_type=asked.template,
                instance_key=asked.instance_key,
                state=asked.state,
                context=asked.context,
                actor=self._actor,
            )
        except KeiseiError as error:
            self.refuse(entry, data, _why(error))
        else:
            told = {"created": is_new, "workflow_id": workflow.record.workflow_id, "workflow": data}
            self.told["createdWorkflows"].append(told)

    def task(self, entry: str, data: object) -> None:
        """Queue one task, under a key made of what it says and of how many before it say the same."""
        try:
            intent = data_of(read_intent(data))
            if "idempotency_key" not in intent:
                intent["idempotency_key"] = self._key(intent)
            queued = queue_intent(self._store, self._registry, self._defaults, intent)
        except KeiseiError as error:
            self.refuse(entry, data, _why(error))
        else:
            task = queued.task
            told = {"task_id": task.task_id, "kind": task.task_type, "source": task.source}
            self.told["queuedTasks" if queued.created else "knownTasks"].append(told)

    def refuse(self, entry: str, data: object, reason: str) -> None:
        """Say that an entry is not seeded, and why."""
        known = {name: data[name] for name in NAMES if name in data} if isinstance(data, dict) else {}
        self.told["refused"].append({"entry": entry, **known, "reason": reason})

    def _key(self, intent: dict[str, Any]) -> str:
        try:
            content = digest(intent)
        except ValueError as error:
            raise OperatorError(f"the task cannot be kept: {error}", "use numbers that JSON can hold") from error
        self._equals[content] += 1
        return f"backlog:{content}:{self._equals[content]}"


def _proposed(data: object) -> ProposedWorkflow:
    try:
        return msgspec.convert(data, ProposedWorkflow)
    except msgspec.ValidationError as error:
        message = f"this is no workflow: {error}"
        raise OperatorError(message, "it has `template` and `instance_key`, perhaps `state` and `context`") from error


def _why(error: KeiseiError) -> str:
    return error.message if error.hint is None else f"{error.message}; {error.hint}"
