"""Landings: a candidate merged into main. A landing that fails never edits its task."""

from typing import Any, ClassVar, Literal

from keisei.records.form import GitObject, Line, Record, Sha256, Text, Timestamp, default, when
from keisei.records.id import AttemptId, LandingId, TaskId

LandingStatus = Literal["held", "queued", "landing", "landed", "rejected", "reverted"]
"""Held waits for a person, queued for its turn; landing is being merged; the others are over, but for a revert."""


class LandingRecord(Record, frozen=True, kw_only=True):
    """One landing."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"status": {"enum": ["landed", "reverted"]}}, {"properties": {"after_commit": {"type": "string"}}}),
    )

    landing_id: LandingId
    """Its id."""
    task_id: TaskId
    """The task."""
    attempt_id: AttemptId
    """The attempt that made the candidate."""
    branch: Text
    """Where it lands."""
    candidate_commit: GitObject
    """The candidate, kept under a private ref."""
    tree: GitObject | None
    """The tree that was tested is the tree that lands."""
    before_commit: GitObject | None
    """The branch before."""
    after_commit: GitObject | None
    """The branch after."""
    status: LandingStatus
    """Where it stands."""
    reason: Line | None = None
    """Why it is held or rejected."""
    approved: bool = default(False)
    """A person has said that it may land."""
    approved_tree: GitObject | None = None
    """The tree whose findings that person could see."""
    plan: Sha256 | None = None
    """What was asked of the tree: a digest of every predicate with its parameters, commands and scripts."""
    decided_by: str | None = None
    """Who approved, rejected or reverted it."""
    revert_commit: GitObject | None = None
    """The commit that took it back."""
    created_at: Timestamp
    """When it was made."""
    updated_at: Timestamp
    """When it last moved."""

    def __post_init__(self) -> None:
        """Refuse a landing that is done without saying which commit."""
        if self.status in ("landed", "reverted") and self.after_commit is None:
            message = f"a landing that is `{self.status}` has an after_commit"
            raise ValueError(message)
