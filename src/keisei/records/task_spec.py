"""Task specs: task.toml, written for one spawn."""

from typing import Annotated, Any

from msgspec import Meta

from keisei.records.capability import TimeoutS
from keisei.records.form import CapabilityName, Natural, Record, Slug, Text, default


class SpecTask(Record, frozen=True, kw_only=True, rename="kebab"):
    """Who does it."""

    role: Slug
    """The role."""
    agent_id: str | None = None
    """The id of this spawn; made up when absent or empty."""
    parent_agent: str | None = None
    """The spawn that asked; absent or empty for none."""
    profile: str | None = None
    """The profile."""
    adapter: str | None = None
    """The adapter, unless the profile's default is meant."""
    model: str | None = None
    """The model, unless the profile's default is meant."""
    agent: str | None = None
    """The durable identity; by default the project's."""


class SpecScope(Record, frozen=True, kw_only=True, rename="kebab"):
    """Where it may write."""

    files_whitelist: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Globs, relative to the repository."""
    files_denylist: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    """Globs that are refused even where the whitelist allows them."""


class SpecVerification(Record, frozen=True, kw_only=True, rename="kebab"):
    """What must hold afterwards."""

    cargo_check_crates: tuple[str, ...] = ()
    """Crates that must compile."""
    cargo_test_crates: tuple[str, ...] = ()
    """Crates whose tests must pass."""
    check: str | None = None
    """A command that must exit 0; in any language."""
    test: str | None = None
    """A test command that must exit 0."""
    test_count_min: Natural = default(0)
    """How many tests must have run."""
    timeout_s: TimeoutS | None = None
    """Limit of each command."""


class SpecOutput(Record, frozen=True, kw_only=True, rename="kebab"):
    """What the report must say."""

    report_fields_required: tuple[Annotated[str, Meta(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$")], ...] = ()
    """Fields that must be there and not be empty."""


class SpecBody(Record, frozen=True, kw_only=True, rename="kebab"):
    """The task in words."""

    text: str = default("")
    """Comes after the rules."""


class Elevation(Record, frozen=True, kw_only=True, rename="kebab"):
    """Rules that do not hold for this one task: shown in the verdict, a ledger row, never by environment."""

    capabilities: Annotated[tuple[CapabilityName, ...], Meta(min_length=1)]
    """Which rules."""
    reason: Text
    """Why."""


class TaskSpec(Record, frozen=True, kw_only=True):
    """`task.toml`."""

    task: SpecTask
    """Who does it."""
    scope: SpecScope = default(SpecScope())
    """Where it may write."""
    verification: SpecVerification = default(SpecVerification())
    """What must hold afterwards."""
    output: SpecOutput = default(SpecOutput())
    """What the report must say."""
    body: SpecBody = default(SpecBody())
    """The task in words."""
    parameters: dict[CapabilityName, dict[str, Any]] = {}
    """Parameters of capabilities, by name: `[parameters."cat::slug"]`."""
    elevate: Elevation | None = None
    """Rules that do not hold here."""
