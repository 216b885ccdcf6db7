"""Gather: everything that goes into one bundle, read once, text and hash together, or the reason why not.

What it needs of the world is `Material`: authored files. Whatever the rows know (memory, earlier attempts, the
workflow's state) is handed in as values.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from keisei.contracts.check import build
from keisei.engine.compose import holding, spawnable_role
from keisei.engine.intake import TASK_FILE
from keisei.engine.ports import Library
from keisei.records.adapter import AdapterConfig
from keisei.records.approval import ApprovalRecord
from keisei.records.bundle import BundleWorkspace
from keisei.records.error import Refused
from keisei.records.id import AgentId, AttemptId, BundleId, SkillId
from keisei.records.intent import Budget
from keisei.records.material import ConstitutionMaterial, FileHash, SkillMaterial
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.records.task_spec import SpecTask, TaskSpec
from keisei.records.task_type import TaskTypeSpec
from keisei.records.workflow import WorkflowState
from keisei.rules.answer_contract import AcceptedSignal, accepted_signals
from keisei.rules.bundle import compose
from keisei.rules.bundle_hash import files_hash, role_digest
from keisei.rules.evidence import Keys
from keisei.rules.policy import Policy, policy_digest
from keisei.rules.role import ResolvedRole
from keisei.rules.section import Earlier, Files
from keisei.rules.variant import chosen_model


class Material(Library, Protocol):
    """Authored files, each with its hash. AuthorError: one needs an edit. WorldFault: one changed while it was read."""

    def skill(self, skill_id: SkillId) -> SkillMaterial:
        """A skill with every file of its folder. Raises Refused for an id nobody defines."""

    def constitution(self, agent: AgentId) -> ConstitutionMaterial | None:
        """An agent's two documents; None where it has none. Raises Refused for an agent nobody defines."""

    def capability_files(self, name: str) -> tuple[FileHash, ...]:
        """Every file of a capability's folder, sorted by path."""

    def settings_files(self, adapter: AdapterConfig) -> dict[str, str]:
        """The text of every settings file that the adapter's autonomy requires, by the path the adapter names."""

    def payload_complaints(
        self, task_type: TaskTypeSpec, payload: Mapping[str, Any], skill_ids: Sequence[SkillId] = ()
    ) -> list[str]:
        """Every way in which a payload differs from the schemas of its type and of these skills."""


class BundleOrder(Struct, frozen=True, kw_only=True):
    """What is compiled, for whom, and what the rows know of it."""

    bundle_id: BundleId
    """Its id."""
    attempt_id: AttemptId
    """The attempt it is for."""
    now: datetime
    """When it is compiled."""
    task: TaskRecord
    """The task, as it was claimed."""
    task_type: TaskTypeSpec
    """Its type."""
    profile: SubagentProfile
    """The profile it runs under."""
    adapter: AdapterConfig
    """The adapter that was chosen, a fallback included."""
    keys: Keys
    """Where the attempt's evidence stands."""
    files: Files
    """Where files of the task stand."""
    runtime_policy: str | None = None
    """Words at the head of every prompt."""
    policy: Policy | None = None
    """The compiled policy, where the attempt is gated by one."""
    state: WorkflowState | None = None
    """The workflow's state that asked, where a workflow did."""
    memory: tuple[TaskRecord, ...] = ()
    """Finished tasks of the same agent and profile, newest first; shown only where the profile asks for them."""
    earlier: tuple[Earlier, ...] = ()
    """Attempts at the same task that are over, oldest first."""
    answers: tuple[ApprovalRecord, ...] = ()
    """What earlier attempts at the same task asked and a person answered, oldest first."""
    budget: Budget | None = None
    """What this attempt may spend: the task's own limit, else the project's, less what earlier attempts cost."""
    workspace: BundleWorkspace | None = None
    """The repository the attempt begins with."""
    secret_names: tuple[str, ...] = ()
    """Names of the variables that the adapter's env_file sets. Their values are no business of a bundle."""


class Gathered(Struct, frozen=True, kw_only=True):
    """Everything that goes in."""

    order: BundleOrder
    """What was asked for."""
    spec: TaskSpec | None
    """The task file, where the payload is one."""
    role: ResolvedRole
    """The role with everything it inherits."""
    fragments: Mapping[str, bytes]
    """The text of every capability that holds for this task, in the order of the role."""
    capabilities: Mapping[str, str]
    """The same capabilities, by the hash of their files."""
    rules: bytes
    """What compose writes."""
    policy_digest: str
    """Of the compiled policy, else of the role."""
    skills: tuple[SkillMaterial, ...]
    """The profile's, then the task's."""
    constitution: ConstitutionMaterial | None
    """The agent's two documents."""
    settings: Mapping[str, str]
    """Settings files of the adapter, by path."""
    signals: tuple[AcceptedSignal, ...]
    """The signals an answer may carry."""
    model: str | None
    """The model that will be asked for."""


def gather(library: Material, order: BundleOrder) -> Gathered:
    """Read everything. Raises KeiseiError for what is missing, forbidden, broken or unfit: nothing is left out."""
    spec = task_file(order.task_type, order.task)
    told = spec or TaskSpec(task=SpecTask(role=order.profile.role))
    role = spawnable_role(library, told)
    fragments = {name: library.fragment(name) for name in holding(library, told)}
    capabilities = {name: files_hash(library.capability_files(name)) for name in fragments}
    skill_ids = _skill_ids(order)
    skills = tuple(library.skill(each) for each in skill_ids)
    _check_payload(library, order, skill_ids)
    return Gathered(
        order=order,
        spec=spec,
        role=role,
        fragments=fragments,
        capabilities=capabilities,
        rules=compose(fragments.values(), told),
        policy_digest=policy_digest(order.policy) if order.policy is not None else role_digest(role, capabilities),
        skills=skills,
        constitution=library.constitution(order.task.agent) if order.task.agent else None,
        settings=library.settings_files(order.adapter),
        signals=accepted_signals(order.task.payload, order.state),
        model=chosen_model(order.task, order.profile, order.task_type, order.adapter),
    )


def task_file(task_type: TaskTypeSpec, task: TaskRecord) -> TaskSpec | None:
    """The task file that a payload is; None for a task of another type. Raises ContractViolation for a broken one."""
    if task_type.payload_schema_id != TASK_FILE:
        return None
    spec: TaskSpec = build("task.spec", task.payload)
    return spec


def _skill_ids(order: BundleOrder) -> list[SkillId]:
    """The profile's skills, then the task's. Raises Refused for one the task may not ask for."""
    allowed = order.task_type.allowed_skill_ids
    for each in order.task.skill_ids:
        if allowed is not None and each not in allowed:
            raise Refused(
                f"task type `{order.task_type.task_type}` does not allow the skill `{each}`",
                f"it allows {', '.join(allowed) or 'none'}",
            )
    return list(dict.fromkeys((*order.profile.skill_ids, *order.task.skill_ids)))


def _check_payload(library: Material, order: BundleOrder, skill_ids: Sequence[SkillId]) -> None:
    complaints = library.payload_complaints(order.task_type, order.task.payload, skill_ids)
    if complaints:
        raise Refused(f"the payload does not fit: {'; '.join(complaints)}", "queue the task again with another payload")
