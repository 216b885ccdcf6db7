"""Outcomes: what a task became, computed from findings. What an agent says of itself is a quotation."""

from typing import Any, ClassVar, Literal

from keisei.records.form import JsonObject, Record, when
from keisei.records.intent import TaskIntent

OutcomeStatus = Literal["completed", "retryable_failure", "permanent_failure", "blocked", "operator_canceled"]
MachineStatus = Literal["ok", "needs_retry", "blocked", "failed", "canceled"]


class TaskOutcome(Record, frozen=True, kw_only=True):
    """The result after normalisation and verification. Side effects in it are asked for, not done."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"status": {"const": "completed"}}, {"properties": {"machine_status": {"const": "ok"}}}),
        when({"status": {"const": "operator_canceled"}}, {"properties": {"machine_status": {"const": "canceled"}}}),
        when({"machine_status": {"const": "canceled"}}, {"properties": {"status": {"const": "operator_canceled"}}}),
    )

    status: OutcomeStatus
    """What the task becomes. `operator_canceled` comes from operators, never from a model's words."""
    machine_status: MachineStatus
    """What the machine says. `completed` requires `ok`."""
    operator_summary: str
    """For people, short."""
    raw_output: str | None = None
    """The harness's last message, as it came."""
    file_changes: tuple[str, ...] = ()
    """Paths the agent claims to have changed; compared with the diff."""
    artifact_paths: tuple[str, ...] = ()
    """Artifacts; each must exist."""
    workflow_signal: str | None = None
    """Drives the workflow's next transition."""
    follow_up_tasks: tuple[TaskIntent, ...] = ()
    """Work it asks for; applied only after verification, through the outbox."""
    external_messages: tuple[JsonObject, ...] = ()
    """Messages it asks to send; likewise."""

    def __post_init__(self) -> None:
        """Refuse a status that the machine status contradicts."""
        if self.status == "completed" and self.machine_status != "ok":
            message = f"status `completed` requires machine_status `ok`, not `{self.machine_status}`"
            raise ValueError(message)
        if (self.status == "operator_canceled") != (self.machine_status == "canceled"):
            message = "status `operator_canceled` and machine_status `canceled` go together"
            raise ValueError(message)
