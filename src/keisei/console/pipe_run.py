"""Running pipes from the console: begin, resume, stop. A run goes on in the background; its page shows how far."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from keisei.console.asking import Key
from keisei.console.page import Missing
from keisei.console.pipe_plan import LONGEST, PipeText, json_input, plan_of, planned_text, reads_only
from keisei.console.pipe_session import PARALLEL, Ready, Sessions
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine.pipe_order import PipeOrder, check_steps, followers, new_run, taken_run
from keisei.library.pipe import pipe_of
from keisei.records.error import AuthorError, OperatorError, Refused
from keisei.records.pipe_plan import PipePlan
from keisei.records.pipe_run import PipeRun
from keisei.wiring.atom_runtime import AtomRuntime
from keisei.wiring.runtime_verb import planned

SOURCE = "console"
"""Where the pipe of a run comes from that no file has."""


class PipeRunOrder(Struct, frozen=True, kw_only=True):
    """A pipe to be run."""

    pipe: PipeText
    """The text, TOML."""
    input: Any = None
    """What `$input` is."""
    input_text: Annotated[str, Meta(max_length=LONGEST)] = ""
    """The same as JSON text, as a form has it."""
    confirm: bool = False
    """Needed where a step does not only read."""
    ask: bool = False
    """Where a confirm is missing, or the pipe is wrong, answer with its plan instead of refusing."""
    keep_going: bool = False
    """Independent steps go on where one fails; nothing is undone."""
    no_cache: bool = False
    """Take nothing from the cache, and keep nothing there."""
    max_parallel: Annotated[int, Meta(ge=1, le=256)] | None = None
    """At most so many calls side by side."""


class PipeStarted(Struct, frozen=True, kw_only=True):
    """What came of an order to run."""

    run_id: str | None
    """The run, which goes on in the background; None where it did not begin."""
    plan_id: str | None = None
    """The plan that is asked about, where it did not begin."""


def run_pipe(premises: Premises, body: PipeRunOrder, visitor: Visitor) -> PipeStarted:
    """Begin to run a pipe; it goes on in the background."""
    pipe = body.pipe.replace("\r\n", "\n")
    given = json_input(body.input_text) if body.input is None else body.input
    if msgspec.json.encode(given).__len__() > LONGEST:
        raise OperatorError(f"the input has more than {LONGEST} bytes", "put it into a file that the pipe reads")
    try:
        plan = plan_of(premises, pipe)
    except AuthorError:
        if not body.ask:
            raise
        return PipeStarted(run_id=None, plan_id=planned_text(premises, pipe, body.input_text).plan_id)
    if not body.confirm and not reads_only(plan):
        if body.ask:
            return PipeStarted(run_id=None, plan_id=planned_text(premises, pipe, body.input_text).plan_id)
        raise Refused("the pipe does not only read. Nothing was done", "say `confirm: true` where that is meant")
    wanted = replace(plan, max_parallel=min(body.max_parallel or plan.max_parallel, PARALLEL))
    wanted = replace(wanted, on_failure="continue") if body.keep_going else wanted

    def begin(runtime: AtomRuntime) -> Ready:
        run = new_run(wanted, SOURCE, given, visitor.actor, runtime.tools)

        def write() -> PipeOrder:
            runtime.store.begin_run(run)
            return PipeOrder(plan=wanted, run=run, input=given, actor=visitor.actor, attempt_id=runtime.attempt_id)

        return Ready(run.run_id, write)

    sessions = premises.keep(Sessions)
    return PipeStarted(run_id=sessions.start(begin, parallel=wanted.max_parallel, cache=not body.no_cache))


class PipeResumeOrder(Struct, frozen=True, kw_only=True):
    """A run to go on with."""

    run_id: Key
    """Which run."""
    start: Key | None = None
    """Do this step again, and everything that depends on it."""
    restart: bool = False
    """Do everything again, under new ids."""
    force: bool = False
    """Do again what may have been done already."""
    input: Any = None
    """The input, where it holds a secret and was not kept."""


def resume_pipe(premises: Premises, body: PipeResumeOrder, visitor: Visitor) -> PipeStarted:
    """Go on with a run in the background: what is finished is not done again."""
    kept = known_run(premises, body.run_id)
    if body.start is not None and body.restart:
        raise OperatorError("`start` and `restart` say different things", "give one of them")
    if not kept.input_kept and body.input is None:
        raise OperatorError("the input of this run holds a secret and was not kept", "give it again as `input`")
    given = kept.input if body.input is None else body.input
    found = planned(premises.runtime.shelf, pipe_of(kept.definition, kept.name), kept.name)
    plan = replace(found, max_parallel=min(found.max_parallel, PARALLEL))
    again = _again(plan, body)
    check_steps(plan, again)

    def begin(runtime: AtomRuntime) -> Ready:
        def write() -> PipeOrder:
            taken = runtime.store.take_run(taken_run(kept, plan, kept.source, given, runtime.tools))
            return PipeOrder(
                plan=plan,
                run=taken,
                input=given,
                actor=visitor.actor,
                attempt_id=runtime.attempt_id,
                force=body.force,
                again=again,
            )

        return Ready(kept.run_id, write)

    return PipeStarted(run_id=premises.keep(Sessions).start(begin, parallel=plan.max_parallel))


def _again(plan: PipePlan, body: PipeResumeOrder) -> frozenset[str]:
    if body.start is not None:
        return followers(plan, body.start)
    return frozenset(step.name for step in plan.steps) if body.restart else frozenset()


class PipeStopOrder(Struct, frozen=True, kw_only=True):
    """A run to be stopped."""

    run_id: Key
    """Which run."""


class PipeStopped(Struct, frozen=True, kw_only=True):
    """A run that was told to stop."""

    run_id: str
    """Which run; it ends as soon as its calls have."""


def stop_pipe(premises: Premises, body: PipeStopOrder, _visitor: Visitor) -> PipeStopped:
    """End the calls of a run of this console, and the run."""
    kept = known_run(premises, body.run_id)
    if not premises.keep(Sessions).stop(kept.run_id):
        raise Refused(f"{kept.run_id} does not run in this console", "whoever runs it can stop it")
    return PipeStopped(run_id=kept.run_id)


def known_run(premises: Premises, run_id: str) -> PipeRun:
    """The run. Raises Missing."""
    kept = premises.store.pipe_run(run_id) if run_id.isprintable() else None
    if kept is None:
        raise Missing(f"no run has the id `{run_id[:60]}`", "/pipes lists the runs")
    return kept


def started_page(started: PipeStarted) -> str:
    """Where a browser goes on."""
    return f"/pipes/{started.run_id}" if started.run_id is not None else f"/pipes/new?plan={started.plan_id}"


def run_form(words: list[tuple[str, str]]) -> dict[str, Any]:
    """What the form says; a page asks instead of refusing."""
    names = ("pipe", "input_text", "confirm", "keep_going", "no_cache", "max_parallel")
    return {"ask": True, **{name: word for name, word in words if name in names and word}}
