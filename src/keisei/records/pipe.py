"""Pipes: atoms in order, as data. Parallel, retry and cache follow from the atoms' effects."""

from typing import Annotated, Any, Literal

from msgspec import Meta, field

from keisei.records.form import AtomId, Positive, Record, default

StepName = Annotated[str, Meta(pattern="^[a-z][a-z0-9_-]{0,63}$")]


class PipeRetry(Record, frozen=True, kw_only=True):
    """May only narrow what the effects allow."""

    max: Annotated[int, Meta(ge=0, le=100)]
    """How often again."""
    backoff_ms: Annotated[int, Meta(ge=0, le=3_600_000)] = default(200)
    """The first wait; it doubles."""
    on: tuple[str, ...] = ()
    """Error codes; empty means every code that may be retried."""


class PipeStep(Record, frozen=True, kw_only=True):
    """One call."""

    capture_as: StepName | None = None
    """The name its result is referred to by."""
    atom: AtomId
    """Which atom."""
    input: dict[str, Any] = {}
    """Its input; `$task.id` and `${task.id}` refer to earlier results, `$$` is a dollar."""
    for_each: str | None = None
    """A reference to a list; the step runs once for each `$item`."""
    condition: str | None = field(default=None, name="if")
    """The step runs only where this holds."""
    retry: PipeRetry | None = None
    """Narrows retry."""
    undo: AtomId | None = None
    """Called in reverse order when a later step fails."""
    needs: tuple[StepName, ...] = ()
    """More dependencies than the references show."""


class PipeHead(Record, frozen=True, kw_only=True):
    """For the whole pipe."""

    name: str | None = None
    """For people."""
    max_parallel: Positive = default(4)
    """How many steps run side by side at most."""
    on_failure: Literal["stop", "continue"] = default("stop")
    """Whether independent steps go on."""


class PipeDefinition(Record, frozen=True, kw_only=True):
    """`dag.toml`."""

    pipe: PipeHead | None = None
    """For the whole pipe."""
    steps: Annotated[tuple[PipeStep, ...], Meta(min_length=1)]
    """The calls."""
