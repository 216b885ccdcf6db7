"""The registry: what intake and bundles ask of the authored files, answered by a catalog."""

from collections.abc import Mapping
from typing import Any

from keisei.engine.intake import Defaults
from keisei.library.catalog import Catalog
from keisei.library.material import AuthoredMaterial
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError
from keisei.records.id import AgentId
from keisei.records.profile import SubagentProfile
from keisei.records.project import ProjectRunner
from keisei.records.role import EscalationPolicy
from keisei.records.task_type import TaskTypeSpec
from keisei.wiring.store import Home


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

    def has_skill(self, name: str) -> bool:
        """Whether a skill exists."""
        return self.catalog.found("skill", name) is not None

    def has_agent(self, name: str) -> bool:
        """Whether an agent exists."""
        return self.catalog.found("agent", name) is not None

    def escalation(self, role: str) -> EscalationPolicy:
        """What a role says of violations and of tries used up."""
        return self.catalog.resolved_role(role).escalation.policy

    def payload_complaints(self, task_type: TaskTypeSpec, payload: Mapping[str, Any]) -> list[str]:
        """Every way in which a payload differs from its type's schema."""
        return self.material.payload_complaints(task_type, payload)
