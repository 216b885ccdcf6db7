"""The original runtime's configuration file, runtime.json, as it stands on disk."""

from typing import Annotated, Any

from msgspec import Meta

from keisei.records.form import Positive, Record, Text


class RuntimeFile(Record, frozen=True, kw_only=True, rename="camel"):
    """`runtime.json`. Paths are relative to the file that declares them."""

    extends: str | None = None
    """A file this one builds on."""
    runtime_name: Text | None = None
    """The agent's name."""
    runtime_policy: str | None = None
    """Words at the head of every prompt."""
    state_dir: str | None = None
    """Where state lives."""
    log_dir: str | None = None
    """Where logs are written."""
    artifact_dir: str | None = None
    """Where artifacts are written."""
    db_path: str | None = None
    """The database."""
    lock_path: str | None = None
    """The dispatch lock."""
    default_profile: str | None = None
    """For tasks that name none."""
    default_adapter: str | None = None
    """For profiles whose own adapter is not configured."""
    max_attempts: Annotated[int, Meta(ge=1, le=1000)] | None = None
    """For tasks that name none."""
    retry_backoff_seconds: Positive | None = None
    """The first wait before a retry."""
    profiles: dict[str, str] = {}
    """Profile id to file."""
    adapters: dict[str, dict[str, Any]] = {}
    """Adapter id to configuration."""
    substrate: dict[str, Any] | None = None
    """The original's shared job queue; read, and said to be without effect."""
