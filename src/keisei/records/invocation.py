"""Invocations: one atom called once."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.form import AtomId, Record, Sha256, Text, Timestamp, when
from keisei.records.id import AttemptId, InvocationId


class InvocationError(Record, frozen=True, kw_only=True):
    """Why it failed."""

    kind: Literal["usage", "schema-in", "schema-out", "atom", "timeout", "killed", "io"]
    """Whose fault it is."""
    code: str | None = None
    """The atom's own error code."""
    message: Text
    """What happened."""


class InvocationRecord(Record, frozen=True, kw_only=True):
    """One call."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"exit_code": {"const": 0}}, {"properties": {"error": {"type": "null"}}}),
        when({"exit_code": {"not": {"const": 0}}}, {"properties": {"error": {"type": "object"}}}),
    )

    invocation_id: InvocationId
    """Its id, and the idempotency key the atom is given."""
    atom: AtomId
    """Which atom."""
    version: Text
    """Which version."""
    spec_sha: Sha256
    """sha256 over page and schemas."""
    input_sha: Sha256
    """sha256 of the canonical input."""
    output_sha: Sha256 | None
    """sha256 of the canonical output; null where there is none."""
    exit_code: Annotated[int, Meta(ge=0, le=255)]
    """0 done, 2 atom error or schema violation, 1 usage or IO."""
    error: InvocationError | None
    """Why it failed; null exactly when it did not."""
    duration_ms: Annotated[float, Meta(ge=0)]
    """How long it took."""
    attempt_id: AttemptId | None = None
    """The attempt that called, where there is one."""
    started_at: Timestamp
    """When."""

    def __post_init__(self) -> None:
        """Refuse a success with an error, and a failure without one."""
        if (self.exit_code == 0) != (self.error is None):
            message = "error is null exactly when exit_code is 0"
            raise ValueError(message)
