"""Compose: a task spec becomes the prompt its agent reads."""

from keisei.engine.ports import Library
from keisei.records.error import Refused
from keisei.records.task_spec import TaskSpec
from keisei.rules.bundle import compose
from keisei.rules.role import ResolvedRole


def compose_task(library: Library, spec: TaskSpec) -> bytes:
    """The prompt. Raises Refused for a role that cannot be spawned; a missing fragment is an error, never left out."""
    return compose((library.fragment(name) for name in holding(library, spec)), spec)


def holding(library: Library, spec: TaskSpec) -> tuple[str, ...]:
    """The rules that hold for this task: a rule the task elevates is neither told nor judged."""
    elevated = {library.canonical(name) for name in (spec.elevate.capabilities if spec.elevate else ())}
    return tuple(name for name in spawnable_role(library, spec).capabilities if name not in elevated)


def spawnable_role(library: Library, spec: TaskSpec) -> ResolvedRole:
    """The task's role. Falls closed: a role that is only documented is refused here, whoever asks."""
    role = library.resolved_role(spec.task.role)
    if not role.spawnable:
        message = f"role `{role.name}` cannot be spawned; by RULE 0.13 the orchestrator holds git"
        raise Refused(message, "use `edit-local`")
    return role
