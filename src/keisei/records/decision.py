"""Gate decisions: one tool call judged, allowed ones too."""

from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from keisei.records.form import JsonObject, Line, Record, Sha256, Text, Timestamp, when
from keisei.records.id import AttemptId, SpawnId


class GateDecision(Record, frozen=True, kw_only=True):
    """One line of gate.jsonl, chained to the one before."""

    INVARIANTS: ClassVar[tuple[dict[str, Any], ...]] = (
        when({"decision": {"const": "deny"}}, {"required": ["reason"]}),
    )

    attempt_id: AttemptId | None
    """The attempt; null in a user's own session."""
    agent_id: SpawnId | None = None
    """The spawn, or the harness's sub-agent."""
    tool_use_id: str | None
    """The harness's id of the call; the transcript must know it too."""
    tool: Text
    """The tool's name."""
    cwd: str | None = None
    """The folder the call started in."""
    input: JsonObject
    """Its input, redacted."""
    input_digest: Sha256
    """sha256 of the input as it came."""
    decision: Literal["allow", "deny"]
    """What was answered."""
    cause: Literal["rule", "error"]
    """A rule decided, or a gate broke; the two are never confused."""
    capability: str | None = None
    """The capability that refused, or `role::tools` and the like."""
    rule: str | None = None
    """The pattern or list entry that matched."""
    reason: Line | None = None
    """The one line the agent reads."""
    notes: tuple[str, ...] = ()
    """What rules that only warn or record had to say, and gates that broke and let the call through."""
    latency_ms: Annotated[float, Meta(ge=0)]
    """How long the judgement took."""
    policy_digest: Sha256
    """The policy it was judged by."""
    decided_at: Timestamp
    """When."""
    previous_hash: Sha256 | None
    """The line before; null for the first."""
    hash: Sha256
    """This line."""

    def __post_init__(self) -> None:
        """Refuse a refusal without a reason."""
        if self.decision == "deny" and self.reason is None:
            message = "a decision `deny` has a reason"
            raise ValueError(message)
