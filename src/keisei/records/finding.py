"""Findings: one predicate's answer. Unknown, skipped and not applicable are shown, never silent."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.capability import Severity
from keisei.records.form import GitObject, Line, Record, Text, Timestamp, when
from keisei.records.id import AttemptId, FindingId

FindingStatus = Literal["held", "violated", "error", "unknown", "skipped", "not-applicable"]


class FindingRecord(Record, frozen=True, kw_only=True):
    """One answer."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"status": {"not": {"const": "held"}}}, {"required": ["reason"]}),
    )

    finding_id: FindingId
    """Its id."""
    attempt_id: AttemptId
    """The attempt it judges."""
    capability: Text
    """The capability that asked."""
    status: FindingStatus
    """The answer."""
    severity: Severity
    """Whether it rejects the candidate."""
    reason: Line | None = None
    """One line, at most 200 characters; there unless the predicate held."""
    detail: str | None = None
    """As much as helps."""
    run_from: Literal["merged", "worktree"]
    """Where it was asked."""
    tree: GitObject | None = None
    """The tree it was asked of."""
    duration_ms: Annotated[float, Meta(ge=0)]
    """How long it took."""
    created_at: Timestamp
    """When."""

    def __post_init__(self) -> None:
        """Refuse a bad answer without a reason."""
        if self.status != "held" and self.reason is None:
            message = f"a finding that is `{self.status}` has a reason"
            raise ValueError(message)
