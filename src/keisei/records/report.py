"""Reports: what an adapter reads out of a harness's end. A quotation, never a verdict. Internal: no schema."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from keisei.records.attempt import Usage
from keisei.records.form import JsonObject

ErrorKind = Literal["rate_limit", "auth", "overloaded", "network", "timeout", "crash", "limit", "refused", "invalid"]
"""Why a harness failed.

rate_limit  the account has to wait; the task has not used up an attempt
auth        the credentials do not work; the adapter stops and a person is told
overloaded  the model's server is busy or broken (529, 5xx)
network     the model's server was not reached
timeout     the wall clock or the silence limit
crash       the program ended badly, or was killed
limit       the harness stopped by itself: turns, money, context
refused     the request was refused and would be again (4xx)
invalid     the output has another shape than this harness writes
"""


class HarnessError(Struct, frozen=True, kw_only=True):
    """The harness itself says that it failed, or its end does."""

    kind: ErrorKind
    """Which kind; the retry rule goes by it."""
    message: str
    """What it said, shortened to one line of at most 400 characters."""
    retry_after_s: float | None = None
    """How long to wait, where it said so."""
    resets_at: datetime | None = None
    """When the limit ends, where it said so; aware UTC."""


class ToolUse(Struct, frozen=True, kw_only=True):
    """A tool call as the transcript has it."""

    id: str
    """The harness's id of the call."""
    tool: str
    """The tool, by the name its hook has."""
    input_digest: str | None = None
    """sha256 of the input as the hook has it (`rules/chain.input_digest`); None where the transcript tells none."""
    unasked: str | None = None
    """Why the harness asks no hook about it although all is well: it was turned away, or does nothing by itself."""


class AgentReport(Struct, frozen=True, kw_only=True):
    """What came out, the same for every adapter kind."""

    text: str | None
    """The last message, as it came; None where there was none."""
    envelope: JsonObject | None = None
    """The answer object, where the harness has a place of its own for one; the text is searched only without it."""
    error: HarnessError | None = None
    """Why it failed; None where the harness says it did not."""
    usage: Usage | None = None
    """Tokens and cost; None where the harness tells nothing."""
    model: str | None = None
    """The model that answered."""
    session_ref: str | None = None
    """The session, to resume."""
    tool_calls: tuple[ToolUse, ...] = ()
    """Tool calls of the transcript, sub-agents included."""
    turns: int | None = None
    """How many turns it took."""
