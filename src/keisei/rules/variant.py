"""Variants: which version of skills, agent and model an attempt runs with, and how exactly it could be run again."""

import hashlib
from collections.abc import Sequence
from typing import Literal
from urllib.parse import quote

from keisei.contracts.check import data_of
from keisei.records.adapter import AdapterConfig, OllamaGenerateAdapter, ScriptAdapter
from keisei.records.agent import AgentConstitution
from keisei.records.bundle import BundleWorkspace
from keisei.records.material import SkillMaterial
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.records.task_type import TaskTypeSpec
from keisei.rules.canonical import digest

ReplayGrade = Literal["inputs_frozen", "best_effort", "non_replayable_model"]
NO_SKILL = "-"
"""Stands for the skills of a variant that has none; no skill can be called so."""
SHORT = 12
"""Digits of a hash that stand for a version."""
LONGEST = 64


def variant_id(
    skills: Sequence[SkillMaterial], constitution: AgentConstitution | None, profile: SubagentProfile
) -> str:
    """`<skill>@<skill version>+<agent definition version>`; several skills are sorted and joined by commas.

    The agent's definition is its constitution's version, else the profile by hash. A version that could be taken for
    something else is percent-encoded.
    """
    known = ",".join(sorted(f"{each.skill_id}@{_version(each.version)}" for each in skills))
    definition = constitution.version if constitution is not None else digest(data_of(profile))[:SHORT]
    return f"{known or NO_SKILL}+{_version(definition)}"


def _version(text: str) -> str:
    quoted = quote(text, safe=":")
    return quoted if len(quoted) <= LONGEST else hashlib.sha256(text.encode()).hexdigest()[:SHORT]


def replay_grade(adapter: AdapterConfig, workspace: BundleWorkspace | None) -> ReplayGrade:
    """How exactly the attempt could be run again. Falls to `best_effort` where a program's surroundings are not pinned.

    A program reads the folder it runs in: only a clean checkout at a known commit pins that. A model behind Ollama
    reads nothing but the prompt.
    """
    pinned = isinstance(adapter, OllamaGenerateAdapter) or (workspace is not None and not workspace.dirty)
    if not pinned:
        return "best_effort"
    return "inputs_frozen" if isinstance(adapter, ScriptAdapter) else "non_replayable_model"


def chosen_model(
    task: TaskRecord, profile: SubagentProfile, task_type: TaskTypeSpec, adapter: AdapterConfig
) -> str | None:
    """The task's model, else the profile's, the task type's, the adapter's; a script has none."""
    if isinstance(adapter, ScriptAdapter):
        return None
    return task.requested_model or profile.default_model or task_type.default_model or adapter.model
