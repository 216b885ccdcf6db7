"""Task types: the registry that replaces branches on a task's kind."""

from typing import Annotated

from msgspec import Meta

from keisei.records.artifact import ArtifactRole
from keisei.records.form import Record, Text
from keisei.records.id import AdapterId, ProfileId, SkillId


class SuccessPolicy(Record, frozen=True, kw_only=True):
    """What success needs."""

    require_artifacts: bool | None = None
    """Every artifact role must be there."""
    require_adapter_audit: bool | None = None
    """Transcript and gate decisions must agree."""
    verify_claimed_file_changes: bool | None = None
    """Claimed file changes must equal the real diff."""
    complete_by_exit_code: bool | None = None
    """A script may complete by exiting 0. Without this, no result is never `completed`."""


class TaskTypeSpec(Record, frozen=True, kw_only=True):
    """A kind of task."""

    task_type: Annotated[str, Meta(min_length=1, max_length=64, pattern="^[a-z][a-z0-9_.-]*$")]
    """Its name; equals the file's."""
    description: str | None = None
    """What it is for."""
    payload_schema_id: Text
    """Validates the payload at the door: a published record, or a file beside the type."""
    default_profile_id: ProfileId | None = None
    """Unless the intent names one."""
    default_adapter_id: AdapterId | None = None
    """Unless the intent or the profile names one."""
    default_model: str | None = None
    """Unless the intent or the profile names one."""
    allowed_skill_ids: tuple[SkillId, ...] | None = None
    """The only skills an intent of this type may ask for; absent means any."""
    artifact_roles: tuple[ArtifactRole, ...] = ()
    """Artifacts it is asked for."""
    success_policy: SuccessPolicy | None = None
    """What success needs."""
