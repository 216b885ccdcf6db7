"""The registry: what intake and bundles ask of the authored files, answered by a catalog."""

from collections.abc import Mapping
from typing import Any, Final

from keisei.contracts.registry import known
from keisei.contracts.schema import schema
from keisei.engine.intake import Defaults
from keisei.library.catalog import Catalog
from keisei.library.json_schema import read_schema
from keisei.library.material import AuthoredMaterial
from keisei.library.source import inside, is_file
from keisei.records.adapter import AdapterConfig, ScriptAdapter
from keisei.records.error import AuthorError, OperatorError
from keisei.records.id import AdapterId, AgentId
from keisei.records.intent import TaskIntent
from keisei.records.profile import SubagentProfile
from keisei.records.project import ProjectRunner
from keisei.records.role import EscalationPolicy, RoleManifest
from keisei.records.task_type import TaskTypeSpec
from keisei.records.workflow import WorkflowDefinition
from keisei.rules.workflow import workflow_faults
from keisei.wiring.store import Home

PUBLISHED: Final = "agent-runtime/"
"""How the names of our own schemas begin."""


def defaults_of(home: Home) -> Defaults:
    """What a project gives to tasks that say nothing."""
    project, runner = home.file.project, home.file.runner or ProjectRunner()
    agent = AgentId(project.agent) if project is not None and project.agent else None
    return Defaults(max_attempts=runner.max_attempts, agent=agent)


class CatalogRegistry:
    """A catalog as the engine asks it. Asking for what is not there raises OperatorError."""

    def __init__(self, catalog: Catalog) -> None:
        """Answers as the files are when they are first asked for; make a new one to see later edits."""
        self.catalog = catalog
        self.material = AuthoredMaterial(catalog)

    def task_type(self, name: str) -> TaskTypeSpec:
        """A task type."""
        found: TaskTypeSpec = self.catalog.loaded("task-type", name).record
        return found

    def profile(self, name: str) -> SubagentProfile:
        """A profile."""
        found: SubagentProfile = self.catalog.loaded("profile", name).record
        return found

    def adapter(self, name: str) -> AdapterConfig:
        """An adapter."""
        if name not in self.catalog.adapters:
            from keisei.library.project import unknown_adapter  # noqa: PLC0415 - only for the error

            raise OperatorError(*unknown_adapter(name, self.catalog.adapters))
        found: AdapterConfig = self.catalog.adapters[name].record
        return found

    def free_adapters(self) -> frozenset[AdapterId]:
        """Adapters that call no model."""
        return frozenset(
            AdapterId(name) for name, each in self.catalog.adapters.items() if isinstance(each.record, ScriptAdapter)
        )

    def has_skill(self, name: str) -> bool:
        """Whether a skill exists."""
        return self.catalog.found("skill", name) is not None

    def has_agent(self, name: str) -> bool:
        """Whether an agent exists."""
        return self.catalog.found("agent", name) is not None

    def workflow(self, name: str) -> WorkflowDefinition:
        """A workflow definition. Raises OperatorError for one that cannot be followed to its end."""
        found: WorkflowDefinition = self.catalog.loaded("workflow", name).record
        faults = workflow_faults(found)
        if faults:
            raise OperatorError(f"workflow `{name}` cannot be followed: {faults[0][2]}", "`keisei lint workflows`")
        return found

    def fitted(self, intent: TaskIntent) -> TaskIntent:
        """The same: this is our own form."""
        return intent

    def payload_keys(self, task_type: TaskTypeSpec) -> frozenset[str] | None:
        """The keys a payload may have; None where any may stand there. Raises AuthorError for a schema of no use."""
        found = self.payload_schema(task_type)
        if found.get("additionalProperties") is not False or "patternProperties" in found:
            return None
        return frozenset(found.get("properties") or ())

    def payload_schema(self, task_type: TaskTypeSpec) -> Mapping[str, Any]:
        """The schema of its payloads, as data. Raises AuthorError where it is missing or of no use."""
        named = task_type.payload_schema_id
        if named.startswith(PUBLISHED):
            return schema(known(named))
        declared = self.catalog.loaded("task-type", task_type.task_type).document
        path = inside(declared.source.path.parent, named)
        if path is None or not is_file(path):
            raise AuthorError([declared.problem("missing-file", (), f"schema `{named}` is missing")])
        return read_schema(path)

    def handoff(self, role: str) -> tuple[str, ...]:
        """Roles that may take over after this one."""
        manifest: RoleManifest = self.catalog.loaded("role", role).record
        return manifest.pipeline.handoff if manifest.pipeline is not None else ()

    def escalation(self, role: str) -> EscalationPolicy:
        """What a role says of violations and of tries used up."""
        return self.catalog.resolved_role(role).escalation.policy

    def payload_complaints(self, task_type: TaskTypeSpec, payload: Mapping[str, Any]) -> list[str]:
        """Every way in which a payload differs from its type's schema."""
        return self.material.payload_complaints(task_type, payload)
