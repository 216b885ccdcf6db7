"""Bundles: everything an attempt may see, hashed."""

from typing import Literal

from keisei.records.form import GitObject, Record, RelativePath, Sha256, Text, Timestamp
from keisei.records.id import AdapterId, AgentId, AttemptId, BundleId, ProfileId, SkillId, TaskId


class BundleSkill(Record, frozen=True, kw_only=True):
    """A skill as it was."""

    skill_id: SkillId
    """Which."""
    hash: Sha256
    """sha256 over its files."""


class BundleWorkspace(Record, frozen=True, kw_only=True):
    """The repository as it was."""

    commit: GitObject
    """The base commit."""
    dirty: bool
    """Whether anything uncommitted was there."""


class BundleConstitution(Record, frozen=True, kw_only=True):
    """The agent's two documents as they were."""

    soul_hash: Sha256
    """sha256 of SOUL.md."""
    purpose_hash: Sha256
    """sha256 of PURPOSE.md."""


class BundleRecord(Record, frozen=True, kw_only=True):
    """One compiled bundle."""

    bundle_id: BundleId
    """Its id."""
    task_id: TaskId
    """The task."""
    attempt_id: AttemptId
    """The attempt it was compiled for."""
    bundle_hash: Sha256
    """sha256 of the canonical JSON, the bundle's own id left out."""
    inputs_hash: Sha256
    """The same without task id and times: equal inputs, equal hash."""
    agent_id: AgentId | None
    """The durable identity."""
    constitution: BundleConstitution | None
    """Its documents, pinned for the run."""
    profile_id: ProfileId
    """The profile."""
    role: Text
    """The role."""
    adapter_id: AdapterId
    """The adapter."""
    model: str | None
    """The model."""
    policy_digest: Sha256
    """The compiled policy that feeds prompt, gate, sandbox and verify."""
    prompt_hash: Sha256
    """sha256 of the prompt."""
    skills: tuple[BundleSkill, ...] = ()
    """Skills, by hash."""
    workspace: BundleWorkspace | None = None
    """The repository."""
    variant_id: str | None = None
    """Which variant of (skill, version, definition) it is."""
    evaluator_version: str | None = None
    """Who judged it."""
    replay_grade: Literal["inputs_frozen", "best_effort", "non_replayable_model"]
    """How exactly it could be run again."""
    relative_path: RelativePath
    """bundle.json under evidence."""
    prompt_relative_path: RelativePath
    """prompt.md under evidence."""
    created_at: Timestamp
    """When it was compiled."""
