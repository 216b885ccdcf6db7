"""Plans: a pipe, thought through before anything runs. Internal: `pipe plan --json` prints it."""

from typing import Any, Literal

from msgspec import Struct

from keisei.records.atom_spec import AtomSpec
from keisei.records.pipe import PipeStep
from keisei.records.problem import Problem


class RetryRule(Struct, frozen=True, kw_only=True):
    """How often a step is tried again by itself."""

    max: int
    """How often again; 0 is never."""
    backoff_ms: int
    """The first wait; it doubles."""
    on: tuple[str, ...] = ()
    """Only these error codes; empty means every error that may be retried."""
    why: str
    """In words."""


class PlannedStep(Struct, frozen=True, kw_only=True):
    """One step, with every decision."""

    name: str
    """As references call it; `step-3` where the author gave none."""
    position: int
    """Its place in the file, from 0."""
    step: PipeStep
    """As it was written."""
    step_sha: str
    """sha256 over the step and its atom's spec: what was kept of an earlier run counts only where it is equal."""
    spec: AtomSpec
    """What it calls."""
    undo: AtomSpec | None
    """What takes it back."""
    needs: tuple[int, ...]
    """Steps whose value or success it needs, by position. It is skipped where one failed or was skipped."""
    after: tuple[int, ...]
    """Steps it only waits for: their effects conflict with its own. Of a stream also what its consumer waits for."""
    serial: bool
    """Its members conflict with each other: one at a time, in order."""
    consumes: int | None
    """The stream step whose items it takes one by one, as they come; None where it takes values."""
    streamed: bool
    """A stream whose one consumer takes its items as they come."""
    retry: RetryRule
    """How often it is tried again."""
    cached: bool
    """A validated result may be taken from the cache."""
    words: tuple[str, ...]
    """The decisions, a sentence each: beside what it may run, why it is retried, why it is cached, what was checked."""


class PipePlan(Struct, frozen=True, kw_only=True):
    """A pipe that may run."""

    name: str
    """For people: the pipe's own name, or its file's."""
    steps: tuple[PlannedStep, ...]
    """In the order of the file."""
    order: tuple[int, ...]
    """Positions, so that what a step waits for stands before it; ties as in the file."""
    max_parallel: int
    """How many calls run side by side at most."""
    on_failure: Literal["stop", "continue"]
    """Whether independent steps go on."""
    definition: dict[str, Any]
    """The pipe as data, in our own dialect."""
    definition_sha: str
    """sha256 of it."""
    warnings: tuple[Problem, ...] = ()
    """What a person should know: conflicts ordered by the file, references that are only checked at run time."""
