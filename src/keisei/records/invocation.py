"""Invocations: one atom called once."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, Struct

from keisei.records.atom_spec import AtomSpec
from keisei.records.form import AtomId, Record, Sha256, Text, Timestamp, when
from keisei.records.id import AttemptId, InvocationId


class InvocationError(Record, frozen=True, kw_only=True):
    """Why it failed."""

    kind: Literal["usage", "schema-in", "schema-out", "atom", "timeout", "killed", "io", "refused"]
    """Whose fault it is; `refused` where a gate, a role or a token did not let the call happen."""
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
    """0 done, 1 usage, IO or killed, 2 atom error, schema or refused, 5 timeout, 127 no program, 130 canceled."""
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


class CallOrder(Struct, frozen=True, kw_only=True):
    """One call, as a worker is given it. Internal."""

    spec: AtomSpec
    """What is called."""
    input: Any
    """Validated."""
    invocation_id: InvocationId
    """The idempotency key the atom is given."""
    timeout_s: float
    """How long it may take."""
    env: Mapping[str, str]
    """The whole environment of the atom."""
    database: str | None
    """Its database, absolute; None where it has none."""
    cwd: str
    """Where it works, absolute."""


class Answer(Struct, frozen=True, kw_only=True):
    """What became of a call, before its output was looked at. Internal."""

    output: Any = None
    """What came out; of a stream how many items."""
    error: InvocationError | None = None
    """Why nothing came out; None where something did."""
    exit_code: int = 0
    """0 exactly where there is no error."""
    said: str = ""
    """What it wrote for people, the last part of it."""


class Invoked(Struct, frozen=True, kw_only=True):
    """A call with its row. Internal."""

    record: InvocationRecord
    """The row."""
    output: Any = None
    """What came out, validated; None where it failed."""
    said: str = ""
    """What it wrote for people."""
