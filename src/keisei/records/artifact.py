"""Artifacts: files a task was asked for, tracked and not guessed."""

from typing import Literal

from keisei.records.form import Natural, Record, RelativePath, Sha256, Timestamp
from keisei.records.id import ArtifactId, TaskId

ArtifactRole = Literal["plan", "execute-report", "verify-report", "output", "snapshot", "adapter-audit"]


class ArtifactRecord(Record, frozen=True, kw_only=True):
    """One file."""

    artifact_id: ArtifactId
    """Its id."""
    task_id: TaskId
    """The task it belongs to."""
    role: ArtifactRole
    """What it is for. `adapter-audit` is the reconciliation of transcript and gate."""
    relative_path: RelativePath
    """Where it stands under the artifact folder."""
    content_type: str | None = None
    """Its media type."""
    created_at: Timestamp
    """When it was written."""
    verified_at: Timestamp | None = None
    """When verification saw it."""
    sha256: Sha256 | None = None
    """The digest of what verification saw."""
    size: Natural | None = None
    """How many bytes verification saw."""
