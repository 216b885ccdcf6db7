"""Attempts: one run of a task, with its evidence. Every adapter kind leaves this shape."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.form import JsonObject, Natural, Positive, Record, Text, Timestamp, when
from keisei.records.id import AdapterId, AttemptId, BundleId, RunnerId, TaskId

ExitStatus = Literal["ok", "error", "timeout", "canceled", "lost"]
OPEN = {"type": "null"}
CLOSED = {"type": "string"}


class Usage(Record, frozen=True, kw_only=True):
    """Four disjoint counters and the cost. Unknown is null and never 0."""

    input_tokens: Natural | None
    """Fresh input."""
    output_tokens: Natural | None
    """What the model wrote."""
    cache_read_tokens: Natural | None
    """Input read from the provider's cache."""
    cache_write_tokens: Natural | None
    """Input written to the provider's cache."""
    cost_usd: Annotated[float, Meta(ge=0)] | None
    """Money, in US dollars."""


class GateSummary(Record, frozen=True, kw_only=True):
    """The gate's decisions in this attempt, counted."""

    allowed: Natural
    """Calls that went through."""
    denied: Natural
    """Calls refused by a rule."""
    errors: Natural
    """Calls refused because a gate broke."""
    allowed_by_error: Natural
    """Calls let through because a gate broke and its author said so; one is enough to fail verification."""


class TaskAttempt(Record, frozen=True, kw_only=True):
    """One run."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"exit_status": OPEN}, {"properties": {"ended_at": OPEN}}),
        when({"exit_status": CLOSED}, {"properties": {"ended_at": CLOSED}}),
    )

    attempt_id: AttemptId
    """Its id."""
    task_id: TaskId
    """The task it runs."""
    adapter_id: AdapterId
    """The adapter that was used."""
    adapter_kind: Text
    """The adapter's kind."""
    model: str | None
    """The model that answered, where there is one."""
    runner_id: RunnerId
    """Who ran it."""
    started_at: Timestamp
    """When it was claimed."""
    ended_at: Timestamp | None
    """When its tree was gone."""
    exit_status: ExitStatus | None
    """How it ended; null while open."""
    retry_class: Literal["none", "retryable", "permanent"]
    """Whether trying again could help."""
    prompt_path: str | None = None
    """Evidence: the prompt."""
    stdout_path: str | None = None
    """Evidence: standard output, byte for byte."""
    stderr_path: str | None = None
    """Evidence: standard error, byte for byte."""
    result_path: str | None = None
    """Evidence: what the adapter read out of it."""
    last_message_path: str | None = None
    """Evidence: the agent's last words."""
    diagnostics: JsonObject | None = None
    """Whatever helps a person."""
    bundle_id: BundleId | None = None
    """Everything it was allowed to see."""
    fence: Positive | None = None
    """The claim it belongs to."""
    pid: Positive | None = None
    """The process."""
    pgid: Positive | None = None
    """Its group."""
    exit_signal: Positive | None = None
    """The signal that ended it."""
    usage: Usage | None = None
    """Tokens and cost, where the adapter knows them."""
    session_ref: str | None = None
    """The harness's session, to resume."""
    isolation: tuple[str, ...] = ()
    """The layers that held, for example hooks, landlock, namespace."""
    gate_summary: GateSummary | None = None
    """The gate's decisions, counted."""

    def __post_init__(self) -> None:
        """Refuse an attempt that is open and ended, or closed without an end."""
        if (self.exit_status is None) != (self.ended_at is None):
            message = "exit_status and ended_at are null together: an open attempt has neither"
            raise ValueError(message)
