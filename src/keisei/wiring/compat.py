"""The original's runtime.json at work: its names, its folders and its shapes, on our engine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.library.catalog import Catalog
from keisei.library.material import AuthoredMaterial
from keisei.library.runtime import RuntimeConfig, load_runtime
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError
from keisei.records.intent import EvidenceRequirements, TaskIntent
from keisei.records.profile import SubagentProfile
from keisei.records.project import ProjectFile, ProjectRunner
from keisei.records.role import EscalationPolicy, RoleHead, RoleManifest
from keisei.records.task_type import SuccessPolicy, TaskTypeSpec
from keisei.rules.role import ResolvedRole, resolve_role
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.probe import Prober
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.runner import new_id
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home, open_home_store

DECLARED: Final = (
    "output_path",
    "checklist_path",
    "proposal_artifact",
    "implementation_artifact",
    "verification_artifact",
)
"""Payload keys by which the original declares one artifact each."""
FILES: Final = "keisei"
"""The folder for our files inside the original's state folder."""
ANY: Final = "agent-runtime/task.intent/v1"


class Runtime(NamedTuple):
    """A runtime.json, read."""

    config: RuntimeConfig
    home: Home
    artifacts: Path


def read_runtime(path: Path) -> Runtime:
    """The configuration and its folders. Raises AuthorError with every problem of every file it reads."""
    config = load_runtime(path)
    file, folder = config.file, path.absolute().parent
    state = Path(file.state_dir) if file.state_dir else folder / "state"
    runner = ProjectRunner(
        max_attempts=file.max_attempts or ProjectRunner().max_attempts,
        retry_first_s=float(file.retry_backoff_seconds or ProjectRunner().retry_first_s),
        policy=file.runtime_policy,
    )
    home = Home(file.runtime_name or "runtime", folder, ProjectFile(runner=runner), state / FILES)
    return Runtime(config, home, Path(file.artifact_dir) if file.artifact_dir else state / "artifacts")


def runtime_shop(settings: Settings, runtime: Runtime, store: Store) -> Shop:
    """What attempts of this configuration share."""
    config = runtime.config
    return Shop(
        home=runtime.home,
        store=store,
        registry=lambda: RuntimeRegistry(config, catalog(settings, start=runtime.home.root or Path.cwd())),
        evidence=FileEvidence(runtime.home.evidence),
        probe=Prober(),
        new_id=new_id,
        runner=runtime.home.file.runner or ProjectRunner(),
        artifact_folder=lambda _task_id: runtime.artifacts,
        name=runtime.home.name,
    )


def open_runtime_store(settings: Settings, runtime: Runtime) -> Store:
    """The store of this configuration: a database of its own, beside the original's."""
    return open_home_store(settings, runtime.home)


def declared(intent: TaskIntent, config: RuntimeConfig) -> TaskIntent:
    """The intent with what the original declares elsewhere: the default profile, and artifacts in the payload."""
    named = [intent.payload[key] for key in DECLARED if isinstance(intent.payload.get(key), str)]
    listed = intent.payload.get("required_artifacts")
    named += [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    needs = intent.evidence_requirements or EvidenceRequirements()
    artifacts = tuple(dict.fromkeys((*needs.required_artifacts, *named)))
    return replace(
        intent,
        requested_profile_id=intent.requested_profile_id or config.file.default_profile,
        evidence_requirements=replace(needs, required_artifacts=artifacts)
        if artifacts
        else intent.evidence_requirements,
    )


class RuntimeRegistry(CatalogRegistry):
    """Profiles and adapters of a runtime.json; every word is a task type, and a role may be just a word."""

    def __init__(self, config: RuntimeConfig, files: Catalog) -> None:
        """Skills and agents come from the authored files around the configuration."""
        super().__init__(files)
        self.config = config
        self.material: AuthoredMaterial = _RuntimeMaterial(files)

    def task_type(self, name: str) -> TaskTypeSpec:
        """The registered type; else one that takes any payload and completes by an answer alone."""
        if self.catalog.found("task-type", name) is not None:
            return super().task_type(name)
        return TaskTypeSpec(task_type=name, payload_schema_id=ANY, success_policy=SuccessPolicy())

    def profile(self, name: str) -> SubagentProfile:
        """A profile of the file; an adapter that is not configured is replaced by the default one."""
        found = self.config.profiles.get(name)
        if found is None:
            known = ", ".join(sorted(self.config.profiles)) or "none"
            raise OperatorError(f"no profile is called `{name}`", f"known profiles: {known}")
        default = self.config.file.default_adapter
        if found.default_adapter_id not in self.config.adapters and default is not None:
            return replace(found, default_adapter_id=default)
        return found

    def adapter(self, name: str) -> AdapterConfig:
        """An adapter of the file."""
        found = self.config.adapters.get(name)
        if found is None:
            known = ", ".join(sorted(self.config.adapters)) or "none"
            raise OperatorError(f"adapter `{name}` does not exist", f"known adapters: {known}")
        return found

    def escalation(self, role: str) -> EscalationPolicy:
        """What a role says, where it is one."""
        return self.material.resolved_role(role).escalation.policy

    def payload_complaints(self, task_type: TaskTypeSpec, payload: Mapping[str, Any]) -> list[str]:
        """A type nobody has registered takes any payload."""
        if self.catalog.found("task-type", task_type.task_type) is None:
            return []
        return super().payload_complaints(task_type, payload)


class _RuntimeMaterial(AuthoredMaterial):
    """Authored files, where a role may be just a word."""

    def resolved_role(self, name: str) -> ResolvedRole:
        """The role; a word that names none is one without rules."""
        if self.catalog.found("role", name) is not None:
            return super().resolved_role(name)
        return resolve_role(name, lambda word: RoleManifest(role=RoleHead(name=word)), self.canonical)
