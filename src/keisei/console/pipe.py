"""Pipes: runs newest first, one run drawn with what became of every step, and a place to plan and to run one."""

from typing import Final

import msgspec
from msgspec import Struct

from keisei.console.asking import Cursor, Key, Limit
from keisei.console.cursor import lost
from keisei.console.page import Order, Page, order, page
from keisei.console.pipe_drawing import PipeDrawing, drawing
from keisei.console.pipe_plan import STARTER, PipePlanned, found_plan, plan_pipe
from keisei.console.pipe_run import known_run, resume_pipe, run_form, run_pipe, started_page, stop_pipe
from keisei.console.pipe_session import Sessions, interrupted
from keisei.console.premises import Premises
from keisei.engine.pipe_order import error_words
from keisei.engine.pipe_report import Found, found
from keisei.library.pipe import pipe_of
from keisei.records.error import AuthorError, OperatorError
from keisei.records.form import Timestamp
from keisei.records.pipe_plan import PipePlan
from keisei.records.pipe_run import PipeMember, PipeRun, RunStatus
from keisei.wiring.runtime_verb import planned

MEMBERS: Final = 20
"""Calls of a step that are shown at once."""
OUTPUT: Final = 4000
"""Characters of an output that are shown."""
KILLED: Final = "whoever ran it was ended: resume goes on"


class PipeListAsk(Struct, frozen=True, kw_only=True):
    """Which runs."""

    after: Cursor | None = None
    """Go on behind this run."""
    limit: Limit = 50
    """At most so many."""


class PipeRunTold(Struct, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    """Its id."""
    name: str
    """The pipe's."""
    source: str
    """The file it was read from."""
    status: RunStatus
    """Where it has come to."""
    interrupted: bool
    """It says that it runs, and nobody of this machine does it any more."""
    why: str | None
    """Why it is not complete."""
    actor: str
    """Who began it."""
    created_at: Timestamp
    """When it began."""
    updated_at: Timestamp
    """When it last moved."""


class PipeListPage(Struct, frozen=True, kw_only=True):
    """Runs of pipes."""

    items: tuple[PipeRunTold, ...]
    """Newest first."""
    next: str | None
    """Where the list goes on."""


def list_pipes(premises: Premises, asks: PipeListAsk) -> PipeListPage:
    """Runs of pipes, newest first."""
    store = premises.store
    runs = store.pipe_runs(asks.limit + 1, before=asks.after)
    if asks.after is not None and not runs and store.pipe_run(asks.after) is None:
        raise lost()
    shown = runs[: asks.limit]
    following = shown[-1].run_id if len(runs) > len(shown) else None
    return PipeListPage(items=tuple(_run(premises, each) for each in shown), next=following)


def _run(premises: Premises, run: PipeRun) -> PipeRunTold:
    killed = interrupted(premises, run.run_id, run.status)
    return PipeRunTold(
        run_id=run.run_id,
        name=run.name,
        source=run.source,
        status=run.status,
        interrupted=killed,
        why=KILLED if killed else run.error,
        actor=run.actor,
        created_at=run.created_at,
        updated_at=run.updated_at,
    )


class PipeAsk(Struct, frozen=True, kw_only=True):
    """One run."""

    run_id: Key
    """Its id."""
    step: Key | None = None
    """The step whose calls are shown; otherwise the first of all."""
    after: int = -1
    """Behind this call of the step."""


class PipeStepTold(Struct, frozen=True, kw_only=True):
    """What became of a step."""

    name: str
    """As references call it."""
    atom: str
    """What it calls."""
    state: str
    """Where it has come to."""
    cached: bool
    """Its result was taken from the cache."""
    counts: dict[str, int] | None
    """Of one that runs for each item: how many calls are in each state."""
    duration_ms: float | None
    """How long it took; None where nothing was called, or another process ran it."""
    why: str | None
    """Why it failed, was skipped, or was not taken from the cache."""
    plan: tuple[str, ...]
    """What was decided about it, a sentence each."""


class PipeCallTold(Struct, frozen=True, kw_only=True):
    """One call of a run."""

    step: str
    """Its step."""
    index: int
    """Which item, from 0."""
    state: str
    """Where it has come to."""
    cached: bool
    """Its result was taken from the cache."""
    tries: int
    """How often it was called."""
    invocation_id: str | None
    """Its id in the ledger."""
    error: str | None
    """Why it failed."""
    note: str | None
    """Why it was skipped, or why the cache had nothing."""
    output: str | None
    """What came out, as JSON text, cut where it is long; None where nothing did, or it holds a secret."""
    output_size: int
    """Characters of the whole output."""


class PipePage(Struct, frozen=True, kw_only=True):
    """One run in full."""

    run: PipeRunTold
    """The run."""
    runs_here: bool
    """This console runs it just now, and can stop it."""
    resumable: bool
    """A resume would go on."""
    input_kept: bool
    """False where the input holds a secret and must be given again."""
    steps: tuple[PipeStepTold, ...]
    """In the order of the file."""
    calls: tuple[PipeCallTold, ...]
    """The first calls, or those of the step that was asked for."""
    next: int | None
    """Where the calls of the step go on."""
    drawing: PipeDrawing | None
    """The steps, drawn; None where the pipe does not fit the atoms there are now."""
    trouble: str | None
    """Why nothing is drawn."""


def show_pipe(premises: Premises, asks: PipeAsk) -> PipePage:
    """What became of a run, step by step."""
    run = known_run(premises, asks.run_id)
    plan, trouble = _plan(premises, run)
    steps = found(premises.store, run)
    members = premises.store.members(run.run_id, asks.step, max(asks.after, -1), MEMBERS + 1)
    told = _run(premises, run)
    states = {each.told.name: each.state for each in steps}
    sessions = premises.keep(Sessions)
    here, spans = sessions.runs(run.run_id), sessions.spans.find(run.run_id) or {}
    is_more = len(members) > MEMBERS and asks.step is not None
    return PipePage(
        run=told,
        runs_here=here,
        resumable=told.interrupted or (run.status in ("failed", "canceled", "blocked", "undoing") and not here),
        input_kept=run.input_kept,
        steps=tuple(_step(each, plan, spans) for each in steps),
        calls=tuple(_call(each) for each in members[:MEMBERS]),
        next=members[MEMBERS - 1].index if is_more else None,
        drawing=None if plan is None else drawing(plan, states),
        trouble=trouble,
    )


def _plan(premises: Premises, run: PipeRun) -> tuple[PipePlan | None, str | None]:
    """The plan of the pipe as it was kept; or why the atoms of today do not fit it."""
    try:
        return planned(premises.runtime.shelf, pipe_of(run.definition, run.name), run.name), None
    except AuthorError as error:
        return None, error.problems[0].message
    except OperatorError as error:
        return None, error.message


def _step(step: Found, plan: PipePlan | None, spans: dict[str, float]) -> PipeStepTold:
    words = next((each.words for each in plan.steps if each.name == step.told.name), ()) if plan is not None else ()
    return PipeStepTold(
        name=step.told.name,
        atom=step.told.atom,
        state=step.state,
        cached=step.source == "cache",
        counts=step.counts,
        duration_ms=spans.get(step.told.name),
        why=error_words(step.error) if step.error is not None else _note(step.state, step.source, step.note),
        plan=words,
    )


def _note(state: str, source: str | None, note: str | None) -> str | None:
    """A note for people: of what was done, it says why the cache had nothing."""
    return f"not from the cache: {note}" if note is not None and state == "done" and source == "ran" else note


def _call(member: PipeMember) -> PipeCallTold:
    text = "" if member.state != "done" or not member.output_kept else msgspec.json.encode(member.output).decode()
    return PipeCallTold(
        step=member.step,
        index=member.index,
        state=member.state,
        cached=member.source == "cache",
        tries=member.tries,
        invocation_id=member.invocation_id,
        error=None if member.error is None else error_words(member.error),
        note=_note(member.state, member.source, member.note),
        output=text[:OUTPUT] or None,
        output_size=len(text),
    )


class PipeNewAsk(Struct, frozen=True, kw_only=True):
    """A new pipe."""

    plan: Key | None = None
    """A plan that was made a while ago."""


class PipeNewPage(Struct, frozen=True, kw_only=True):
    """A place to write a pipe."""

    pipe: str
    """The text that stands there."""
    input: str
    """The input that stands there, as JSON."""
    planned: PipePlanned | None
    """Its plan, where one was made."""


def new_pipe(premises: Premises, asks: PipeNewAsk) -> PipeNewPage:
    """Write a pipe, see what would happen, and run it."""
    if asks.plan is None:
        return PipeNewPage(pipe=STARTER, input='{"text": "one two three"}', planned=None)
    made = found_plan(premises, asks.plan)
    return PipeNewPage(pipe=made.pipe, input=made.input, planned=made)


PAGES: Final[tuple[Page, ...]] = (
    page("/pipes", "pipe_list.html", list_pipes),
    page("/pipes/new", "pipe_new.html", new_pipe),
    page("/pipes/{run_id}", "pipe.html", show_pipe),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/pipes/plan", plan_pipe, lambda made: f"/pipes/new?plan={made.plan_id}", needs="viewer"),
    order("/pipes/run", run_pipe, started_page, status=202, form=run_form),
    order("/pipes/{run_id}/resume", resume_pipe, started_page, status=202),
    order("/pipes/{run_id}/stop", stop_pipe, lambda stopped: f"/pipes/{stopped.run_id}", status=202),
)
