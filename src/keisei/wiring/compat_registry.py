"""The registry of a runtime.json: its profiles and adapters, its words, and what its payloads declare."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.intake import Defaults, Origin, Registry, accept, read_intent
from keisei.engine.ports import Store
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.material import AuthoredMaterial
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError
from keisei.records.id import ProfileId, SkillId, TaskId, WorkflowId
from keisei.records.intent import TaskIntent
from keisei.records.problem import printable
from keisei.records.profile import SubagentProfile
from keisei.records.role import EscalationPolicy, RoleHead, RoleManifest
from keisei.records.task import TaskRecord
from keisei.records.task_type import SuccessPolicy, TaskTypeSpec
from keisei.records.workflow import WorkflowDefinition
from keisei.rules.role import ResolvedRole, resolve_role
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.account import actor
from keisei.wiring.compat import Runtime
from keisei.wiring.compat_goal import TEMPLATE, goal_intent, hears_original, is_goal
from keisei.wiring.compat_payload import declared, missing_inputs, substrate_fault
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import CatalogRegistry

ANY: Final = "agent-runtime/task.intent/v1"
"""Stands where a type has no schema of its own; nothing is checked by it."""
BY_EXIT_CODE: Final = "script"
"""The one word that means the same everywhere: it completes by exit code 0."""

"""Where an intent comes from that nothing else asked for."""


class Queued(NamedTuple):
    """A task at the door."""

    task: TaskRecord
    """As it is stored."""
    created: bool
    """False: it was known by its key."""


def queue_intent(
    store: Store, registry: Registry, defaults: Defaults, data: object, origin: Origin | None = None
) -> Queued:
    """Queue what is asked for, in either dialect. Raises ContractViolation or OperatorError; then nothing is queued."""
    intent, origin = read_intent(data), origin or Origin(ordered_by=actor())
    new = accept(intent, registry, defaults, origin=origin, task_id=TaskId(new_id()), now=store.now())
    (result,) = store.enqueue([new])
    store.ring()
    return Queued(store.task(result.task_id) or new.task, result.created)


def runtime_registry(settings: Settings, runtime: Runtime, store: Store) -> "RuntimeRegistry":
    """What the configuration and the authored files around it define, as they are now."""
    files = catalog(settings, start=runtime.home.root or Path.cwd())
    return RuntimeRegistry(runtime, files, lambda workflow_id: visits_of(store, workflow_id))


def visits_of(store: Store, workflow_id: WorkflowId) -> Mapping[str, int]:
    """How often a workflow was in which state; nothing for one that is just beginning."""
    found = store.workflow(workflow_id)
    return {} if found is None else found.record.visits


class RuntimeRegistry(CatalogRegistry):
    """Profiles and adapters of a runtime.json; every word is a task type, and roles and skills may be just words."""

    def __init__(
        self, runtime: Runtime, files: Catalog, visits: Callable[[WorkflowId], Mapping[str, int]] = lambda _id: {}
    ) -> None:
        """Task types, roles, skills, workflows and agents come from the authored files around the configuration."""
        super().__init__(files)
        self.config = runtime.config
        self.material: AuthoredMaterial = _RuntimeMaterial(files, runtime.artifacts)
        self._artifacts, self._visits = runtime.artifacts, visits

    def fitted(self, intent: TaskIntent) -> TaskIntent:
        """The intent with what the original declares elsewhere: goal-loop's payload, artifacts, the default profile.

        Raises OperatorError for a task of its shared job queue, and for a profile that an author asks for in vain.
        """
        fault = substrate_fault(intent.source, intent.payload)
        if fault is not None:
            raise OperatorError(
                f"this task is not taken: {fault}", "let the original finish what its queue has claimed"
            )
        ours = intent.requested_profile_id if intent.workflow_ref is not None else None
        ref = intent.workflow_ref
        if ref is not None and is_goal(intent) and not _is_registered(self.catalog, intent.task_type):
            intent = goal_intent(intent, self._visits(ref.workflow_id), self._artifacts)
        return declared(replace(intent, requested_profile_id=self._profile_id(intent, ours)))

    def _profile_id(self, intent: TaskIntent, ours: ProfileId | None) -> ProfileId | None:
        """The profile asked for. One that a shipped workflow names and the file does not have is the default one."""
        asked, default = intent.requested_profile_id, self.config.file.default_profile
        fallback = None if default is None else ProfileId(default)
        return fallback if asked is None or (asked == ours and asked not in self.config.profiles) else asked

    def workflow(self, name: str) -> WorkflowDefinition:
        """A definition of the files around the configuration; the shipped loop hears the original's signals too.

        Raises OperatorError, and says where to write it, for one that nobody has written.
        """
        file = self.catalog.found("workflow", name)
        if file is None:
            known = _listed(self.catalog.names("workflow"))
            hint = f"write it beside the configuration, as `.keisei/workflows/<name>.toml`; known here: {known}"
            raise OperatorError(f"no workflow is called `{printable(name)}`", hint)
        found = super().workflow(name)
        shipped = file.layer.name == "kit"
        return hears_original(found) if shipped and name == TEMPLATE else found

    def payload_keys(self, task_type: TaskTypeSpec) -> frozenset[str] | None:
        """The keys a payload of a registered type may have; None for any other word, which takes any."""
        return super().payload_keys(task_type) if _is_registered(self.catalog, task_type.task_type) else None

    def task_type(self, name: str) -> TaskTypeSpec:
        """The registered type; else one that takes any payload and completes by an answer alone."""
        if _is_registered(self.catalog, name):
            return super().task_type(name)
        policy = SuccessPolicy(complete_by_exit_code=True) if name == BY_EXIT_CODE else SuccessPolicy()
        return TaskTypeSpec(task_type=name, payload_schema_id=ANY, success_policy=policy)

    def profile(self, name: str) -> SubagentProfile:
        """A profile of the file. An adapter that is not configured is replaced by the default one."""
        found = self.config.profiles.get(name)
        if found is None:
            raise OperatorError(f"no profile is called `{name}`", f"known profiles: {_listed(self.config.profiles)}")
        default = self.config.file.default_adapter
        if found.default_adapter_id not in self.config.adapters and default is not None:
            found = replace(found, default_adapter_id=default)
        words = [each for each in found.skill_ids if not self.has_skill(each)]
        return _with_words(found, words) if words else found

    def adapter(self, name: str) -> AdapterConfig:
        """An adapter of the file."""
        found = self.config.adapters.get(name)
        if found is None:
            raise OperatorError(f"adapter `{name}` does not exist", f"known adapters: {_listed(self.config.adapters)}")
        return found

    def payload_complaints(self, task_type: TaskTypeSpec, payload: Mapping[str, Any]) -> list[str]:
        """Every way in which a payload differs from its type's schema; what it is to read may be written later."""
        return _RuntimeMaterial(self.catalog, None).payload_complaints(task_type, payload)

    def escalation(self, role: str) -> EscalationPolicy:
        """What a role says, where it is one."""
        return self.material.resolved_role(role).escalation.policy


def _with_words(profile: SubagentProfile, words: list[SkillId]) -> SubagentProfile:
    """Skills that nobody defines are named in the prompt, which is all that the original does with any skill."""
    known = tuple(each for each in profile.skill_ids if each not in words)
    parts = (*profile.prompt_parts, f"Skills: {', '.join(words)}")
    return replace(profile, skill_ids=known, prompt_parts=parts)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _is_registered(files: Catalog, name: str) -> bool:
    """Whether somebody has made a task type of this word. Ours, which ship, ask for payloads the original never had."""
    found = files.found("task-type", name)
    return found is not None and found.layer.name != "kit"


class _RuntimeMaterial(AuthoredMaterial):
    """Authored files, where a role may be just a word and a task type may be none; and what earlier phases wrote."""

    def __init__(self, files: Catalog, artifacts: Path | None) -> None:
        """`artifacts` is where phases read what earlier ones wrote; None where nothing is to be read yet."""
        super().__init__(files)
        self._artifacts = artifacts

    def payload_complaints(
        self, task_type: TaskTypeSpec, payload: Mapping[str, Any], skill_ids: Sequence[SkillId] = ()
    ) -> list[str]:
        """Every way in which a payload is unfit; one that names an input which is not there is, too."""
        found = super().payload_complaints(task_type, payload, skill_ids)
        return found if self._artifacts is None else [*found, *missing_inputs(self._artifacts, payload)]

    def resolved_role(self, name: str) -> ResolvedRole:
        """The role; a word that names none is one without rules."""
        if self.catalog.found("role", name) is not None:
            return super().resolved_role(name)
        return resolve_role(name, lambda word: RoleManifest(role=RoleHead(name=word)), self.canonical)

    def _schemas(self, task_type: TaskTypeSpec, skill_ids: Iterable[SkillId]) -> Iterator[tuple[str, Loaded]]:
        if _is_registered(self.catalog, task_type.task_type):
            yield from super()._schemas(task_type, skill_ids)
