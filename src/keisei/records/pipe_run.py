"""Pipe runs: what a pipe has done so far, so that it can go on. Internal: `pipe show --json` prints it."""

from datetime import datetime
from typing import Any, Literal

from msgspec import Struct

from keisei.records.id import InvocationId
from keisei.records.invocation import InvocationError
from keisei.records.move import NewEntry

RunStatus = Literal["running", "undoing", "completed", "failed", "canceled", "blocked"]
"""`blocked`: a member may or may not have been done, and a person must say whether it is done again (`--force`)."""
MemberState = Literal["running", "done", "failed", "skipped", "unknown", "undone", "undo_failed"]
"""`unknown`: it was interrupted, cannot be asked again under its id, and doing it twice would do it twice.
`skipped`: it does not count now; what is known of an earlier call of it stays in the row, should it count again."""


class PipeRun(Struct, frozen=True, kw_only=True):
    """One run of a pipe."""

    run_id: str
    """Its id."""
    name: str
    """The pipe's."""
    source: str
    """The file it was read from, absolute."""
    definition: dict[str, Any]
    """The pipe as it was when the run began, or was last resumed from an edited file."""
    definition_sha: str
    """sha256 of it."""
    input: Any
    """What `$input` is; None where none was given, and where it may not be kept."""
    input_kept: bool
    """False where the input holds a secret: whoever resumes gives it again."""
    status: RunStatus
    """Where it has come to."""
    fence: int
    """Grows with every resume; whoever writes with an older one only tells of its calls."""
    actor: str
    """Who began it."""
    error: str | None = None
    """Why it ended without success, in one sentence."""
    created_at: datetime
    """When it began."""
    updated_at: datetime
    """When it last moved."""


class PipeMember(Struct, frozen=True, kw_only=True):
    """One call of a run: a plain step, or one item of a fan-out."""

    step: str
    """The step's name."""
    index: int
    """The item's place, from 0; 0 for a plain step, and for the stream itself."""
    state: MemberState
    """Where it has come to."""
    step_sha: str
    """The step's digest when it ran; another one now means it is unfinished."""
    input_sha: str | None = None
    """sha256 of its canonical input; another one now means it is unfinished. None where it was never called."""
    output: Any = None
    """What came out."""
    output_kept: bool = True
    """False where the output holds a secret and is not kept: a resume does it again, if it may."""
    error: InvocationError | None = None
    """Why it failed; of a skipped one, why it had failed before."""
    invocation_id: InvocationId | None = None
    """Its last call; a resume calls again under the same id."""
    source: Literal["ran", "cache"] = "ran"
    """Where the output comes from."""
    note: str | None = None
    """Why the cache missed, or why it was skipped, in words."""
    tries: int = 1
    """How often it was called."""
    finished: int | None = None
    """The place in which it finished among all members of the run; undo goes backwards along it."""


class PipeMove(Struct, frozen=True, kw_only=True):
    """What a run writes at once: done as a whole or not at all."""

    run_id: str
    """Which run."""
    fence: int
    """The writer's; with an older one only the ledger rows of calls are written."""
    members: tuple[PipeMember, ...] = ()
    """Members as they are now; they replace what is there."""
    status: RunStatus | None = None
    """The run's new status; None where it stays."""
    error: str | None = None
    """With a new status: why."""
    entries: tuple[NewEntry, ...] = ()
    """Ledger rows of the calls."""


class CacheKey(Struct, frozen=True, kw_only=True):
    """What a result of a transform depends on. One part that differs is another result."""

    atom: str
    """Its id."""
    version: str
    """Its version."""
    spec_sha: str
    """Page and schemas."""
    code_sha: str
    """The package's Python sources, or the program's bytes; and the interpreter."""
    input_sha: str
    """The canonical input."""


class CacheHit(Struct, frozen=True, kw_only=True):
    """The cache's answer."""

    found: bool
    """Whether it has one."""
    output: Any = None
    """The kept output."""
    why: str
    """In words: `kept from 2026-11-16 03:10`, `never called with this input`, `the code changed since`."""
