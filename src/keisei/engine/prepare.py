"""Prepare: everything a person or a harness needs to spawn one agent by hand."""

from keisei.engine.compose import compose_task, holding, spawnable_role
from keisei.engine.ports import Library
from keisei.records.form import Record
from keisei.records.id import SpawnId
from keisei.records.task_spec import TaskSpec
from keisei.rules.agent_id import automatic
from keisei.rules.dna import dna
from keisei.rules.role import ResolvedRole

EDITS = "scope::files-whitelist"
"""A role that carries this rule edits files."""


class Prepared(Record, frozen=True, kw_only=True):
    """One spawn, ready to be handed over; keys and order are the originals'."""

    agent_id: SpawnId
    role: str
    prompt: str
    subagent_type: str
    isolation: str
    description: str
    verify_command: str
    ledger_row: str
    dna: str


def prepare_task(library: Library, spec: TaskSpec, task_path: str, unix_ms: int, entropy: int) -> Prepared:
    """The spawn. `entropy` gives the id's suffix and the DNA's nonce, so that equal questions get equal answers."""
    role = spawnable_role(library, spec)
    prompt = compose_task(library, spec)
    agent_id = SpawnId(spec.task.agent_id) if spec.task.agent_id else automatic(role.name, unix_ms, entropy)
    return Prepared(
        agent_id=agent_id,
        role=role.name,
        prompt=prompt.decode("utf-8"),
        subagent_type=_subagent_type(role),
        isolation="worktree" if EDITS in role.capabilities else "none",
        description=f"{role.name} agent {'-'.join(agent_id.split('-')[:2])}",
        verify_command=f"kei-agent-runtime verify {task_path} <worktree-path>",
        ledger_row=f"running agent-id={agent_id} role={role.name} parent={spec.task.parent_agent or 'none'}",
        dna=dna(role.name, holding(library, spec), spec, entropy >> 16),
    )


def _subagent_type(role: ResolvedRole) -> str:
    """What the role says; else what the originals give a role of that name or kind."""
    by_kind = "code-implementer" if EDITS in role.capabilities else "critic"
    return role.manifest.role.claude_subagent_type or ("Explore" if role.name == "explorer" else by_kind)
