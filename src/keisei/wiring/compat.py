"""The original's runtime.json at work: its names, its folders and its words, on our engine."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.library.catalog import Catalog
from keisei.library.load import Loaded
from keisei.library.material import AuthoredMaterial
from keisei.library.runtime import RuntimeConfig, load_runtime
from keisei.records.adapter import AdapterConfig
from keisei.records.error import OperatorError
from keisei.records.id import SkillId
from keisei.records.intent import EvidenceRequirements, TaskIntent
from keisei.records.profile import SubagentProfile
from keisei.records.project import ProjectFile, ProjectRunner
from keisei.records.role import EscalationPolicy, RoleHead, RoleManifest
from keisei.records.task_type import SuccessPolicy, TaskTypeSpec
from keisei.rules.role import ResolvedRole, resolve_role
from keisei.settings import Settings
from keisei.wiring import catalog
from keisei.wiring.fresh import new_id
from keisei.wiring.probe import Prober
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.shop import Shop
from keisei.wiring.store import Home, open_home_store

DECLARED: Final = ("output_path", "checklist_path")
"""Payload keys by which the original declares an artifact."""
PHASES: Final = {
    "plan": "proposal_artifact",
    "execute": "implementation_artifact",
    "verify": "verification_artifact",
}
"""Payload keys of artifacts, by the phase that writes them: what an earlier phase wrote is an input."""
FILES: Final = "keisei"
"""The folder for our files inside the original's state folder."""
PAUSE: Final = "dispatch.paused.json"
"""The file in the original's state folder by which its operators pause it."""
ANY: Final = "agent-runtime/task.intent/v1"
"""Stands where a type has no schema of its own; nothing is checked by it."""
BY_EXIT_CODE: Final = "script"
"""The one word that means the same everywhere: it completes by exit code 0."""


class Runtime(NamedTuple):
    """A runtime.json, read."""

    config: RuntimeConfig
    home: Home
    state: Path
    """The original's state folder; ours is inside it."""
    artifacts: Path


class Paused(NamedTuple):
    """Why nothing is run."""

    reason: str | None


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
    return Runtime(config, home, state, Path(file.artifact_dir) if file.artifact_dir else state / "artifacts")


def runtime_registry(settings: Settings, runtime: Runtime) -> "RuntimeRegistry":
    """What the configuration and the authored files around it define, as they are now."""
    return RuntimeRegistry(runtime.config, catalog(settings, start=runtime.home.root or Path.cwd()))


def runtime_shop(settings: Settings, runtime: Runtime, store: Store) -> Shop:
    """What attempts of this configuration share."""
    return Shop(
        home=runtime.home,
        store=store,
        registry=lambda: runtime_registry(settings, runtime),
        evidence=FileEvidence(runtime.home.evidence),
        probe=Prober(),
        new_id=new_id,
        runner=runtime.home.file.runner or ProjectRunner(),
        artifact_folder=lambda _task_id: runtime.artifacts,
        name=runtime.home.name,
        state=runtime.state,
    )


def open_runtime_store(settings: Settings, runtime: Runtime) -> Store:
    """The store of this configuration: a database of its own, beside the original's."""
    return open_home_store(settings, runtime.home)


def paused(runtime: Runtime) -> Paused | None:
    """Whether the original's operators have paused it. Falls closed: a file that cannot be read pauses too."""
    try:
        found = json.loads((runtime.state / PAUSE).read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return Paused("pause file unreadable")
    if not isinstance(found, dict) or found.get("paused") is not True:
        return None
    reason = found.get("reason")
    return Paused(reason if isinstance(reason, str) and reason.strip() else None)


def declared(intent: TaskIntent, config: RuntimeConfig) -> TaskIntent:
    """The intent with what the original declares elsewhere: the default profile, and artifacts in the payload."""
    needs = intent.evidence_requirements or EvidenceRequirements()
    artifacts = tuple(dict.fromkeys((*needs.required_artifacts, *_artifacts(intent.payload))))
    return replace(
        intent,
        requested_profile_id=intent.requested_profile_id or config.file.default_profile,
        evidence_requirements=replace(needs, required_artifacts=artifacts)
        if artifacts
        else intent.evidence_requirements,
    )


def _artifacts(payload: dict[str, Any]) -> Iterator[str]:
    """Files the payload asks for; a payload without a phase may ask for the artifact of any."""
    phase = payload.get("phase")
    own = [key for name, key in PHASES.items() if phase not in PHASES or phase == name]
    listed = payload.get("required_artifacts")
    named = (*(payload.get(key) for key in (*DECLARED, *own)), *(listed if isinstance(listed, list) else ()))
    return (each for each in named if isinstance(each, str) and each.strip())


class RuntimeRegistry(CatalogRegistry):
    """Profiles and adapters of a runtime.json; every word is a task type, and roles and skills may be just words."""

    def __init__(self, config: RuntimeConfig, files: Catalog) -> None:
        """Task types, roles, skills and agents come from the authored files around the configuration."""
        super().__init__(files)
        self.config = config
        self.material: AuthoredMaterial = _RuntimeMaterial(files)

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
    """Authored files, where a role may be just a word and a task type may be none."""

    def resolved_role(self, name: str) -> ResolvedRole:
        """The role; a word that names none is one without rules."""
        if self.catalog.found("role", name) is not None:
            return super().resolved_role(name)
        return resolve_role(name, lambda word: RoleManifest(role=RoleHead(name=word)), self.canonical)

    def _schemas(self, task_type: TaskTypeSpec, skill_ids: Iterable[SkillId]) -> Iterator[tuple[str, Loaded]]:
        if _is_registered(self.catalog, task_type.task_type):
            yield from super()._schemas(task_type, skill_ids)
