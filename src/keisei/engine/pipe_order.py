"""Orders for pipes: a run to begin or to take over, what it needs of the world, and how a session ended."""

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.invoke import Tools
from keisei.engine.pipe_secret import environment_secrets, is_kept, secret_roots
from keisei.engine.ports import PipeRuns, TransformCache
from keisei.records.atom_spec import AtomSpec
from keisei.records.error import OperatorError
from keisei.records.id import AttemptId
from keisei.records.invocation import InvocationError
from keisei.records.pipe_plan import PipePlan
from keisei.records.pipe_run import PipeRun, RunStatus

Happening = dict[str, Any]
"""One thing that happened; `event` says what: run, step, member, try, said, undo."""


class PipeTools(NamedTuple):
    """What a run needs of the world."""

    runs: PipeRuns
    """Where its rows go."""
    invoke: Tools
    """How atoms are called."""
    cache: TransformCache | None
    """Results of transforms; None where nothing is taken from there and nothing kept."""
    code_sha: Callable[[AtomSpec], str]
    """The digest of an atom's code, for the cache."""
    tell: Callable[[Happening], None] = lambda _: None
    """Whoever looks on. Never raises."""
    chance: Callable[[], float] = random.random
    """From 0 to 1, for the waits before another try."""


class PipeOrder(Struct, frozen=True, kw_only=True):
    """One session of a run: from its beginning, or from where an earlier one left it."""

    plan: PipePlan
    """What is run."""
    run: PipeRun
    """The run, begun or taken over: its fence is ours."""
    input: Any
    """What `$input` is."""
    actor: str
    """Who runs it."""
    attempt_id: AttemptId | None = None
    """The attempt it runs in, where there is one."""
    force: bool = False
    """Members that may have been done are done again."""
    again: frozenset[str] = frozenset()
    """Steps of which nothing counts that was done before."""
    only: str | None = None
    """The one step that is run; None for all."""


class StepEnd(Struct, frozen=True, kw_only=True):
    """What became of a step in this session."""

    state: str
    """done, failed, skipped, unknown, or unfinished."""
    error: InvocationError | None = None
    """Why it failed."""
    note: str | None = None
    """Why it was skipped."""
    duration_ms: float | None = None
    """How long it took; None where nothing was called."""


class PipeEnd(Struct, frozen=True, kw_only=True):
    """How a session ended."""

    status: RunStatus
    """The run's status."""
    exit_code: int
    """0, 1, 2, 3, 5, 127 or 130."""
    error: str | None
    """Why it is not complete, in one sentence."""
    steps: dict[str, StepEnd]
    """Every step that came up."""


class Failure(NamedTuple):
    """The first failure of a session."""

    step: str
    error: InvocationError
    code: int
    """The exit code."""

    @property
    def words(self) -> str:
        """In one sentence."""
        return f"`{self.step}` failed: {error_words(self.error)}"


def error_words(error: InvocationError) -> str:
    """Why a call failed, for people."""
    return f"{error.code}: {error.message}" if error.code else error.message


def new_run(plan: PipePlan, source: str, given: Any, actor: str, tools: Tools) -> PipeRun:  # noqa: ANN401 - any JSON
    """A run to begin with. Raises OperatorError for a secret that stands in the file."""
    now = tools.now()
    kept = is_kept(secret_roots(plan), given, (*tools.secrets, *environment_secrets(tools, plan)))
    return PipeRun(
        run_id=tools.new_id(),
        name=plan.name,
        source=source,
        definition=plan.definition,
        definition_sha=plan.definition_sha,
        input=given if kept else None,
        input_kept=kept,
        status="running",
        fence=1,
        actor=actor,
        created_at=now,
        updated_at=now,
    )


def taken_run(run: PipeRun, plan: PipePlan, source: str, given: Any, tools: Tools) -> PipeRun:  # noqa: ANN401 - any JSON
    """A run to take over, with the pipe and the input as they are now. Raises OperatorError as `new_run` does."""
    kept = is_kept(secret_roots(plan), given, (*tools.secrets, *environment_secrets(tools, plan)))
    return replace(
        run,
        name=plan.name,
        source=source,
        definition=plan.definition,
        definition_sha=plan.definition_sha,
        input=given if kept else None,
        input_kept=kept,
    )


def followers(plan: PipePlan, start: str) -> frozenset[str]:
    """A step and everything that depends on it; a stream and its consumer go together. Unknown names stay alone."""
    found = {step.position for step in plan.steps if step.name == start}
    for position in plan.order:
        step = plan.steps[position]
        if found & {*step.needs, *(() if step.consumes is None else (step.consumes,))}:
            found.add(position)
    return frozenset({start, *(plan.steps[position].name for position in found)})


def check_steps(plan: PipePlan, names: Iterable[str]) -> None:
    """Raises OperatorError for a name that no step has."""
    known = {step.name for step in plan.steps}
    if unknown := sorted({*names} - known):
        raise OperatorError(f"there is no step `{unknown[0]}`", f"steps: {', '.join(sorted(known))}")
