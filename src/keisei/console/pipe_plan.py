"""Plans of pipes: a text thought through before anything runs. What is wrong with it is an answer, not an error."""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from keisei.console.asking import Fault, Unfit
from keisei.console.atom_effect import effect_words
from keisei.console.atom_field import parsed
from keisei.console.page import Missing
from keisei.console.pipe_drawing import PipeDrawing, drawing
from keisei.console.pipe_session import Sessions
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.library.pipe import LoadedPipe, pipe_in
from keisei.records.error import AuthorError
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.records.problem import Problem
from keisei.rules.atom_effect import only_reads
from keisei.wiring.fresh import new_id
from keisei.wiring.runtime_verb import planned

LONGEST: Final = 256 * 1024
"""Characters of a pipe."""
PipeText = Annotated[str, Meta(min_length=1, max_length=LONGEST)]
STARTER: Final = """\
[pipe]
name = "count-words"

[[steps]]
capture_as = "count"
atom = "kei-text::count"
input = { text = "$input.text" }
"""


class PipePlanStep(Struct, frozen=True, kw_only=True):
    """One step of a plan, with every decision about it."""

    name: str
    """As references call it."""
    atom: str
    """What it calls."""
    needs: tuple[str, ...]
    """Steps whose result it takes."""
    after: tuple[str, ...]
    """Steps it only waits for."""
    for_each: bool
    """It runs once for each item of a list."""
    cached: bool
    """A kept result may be taken."""
    why: tuple[str, ...]
    """The decisions, a sentence each."""
    touches: tuple[str, ...]
    """What its atom does, by its own word; nothing where it only reads."""


class PipeProblem(Struct, frozen=True, kw_only=True):
    """What is wrong with a pipe."""

    code: str
    """What sort of problem."""
    line: int | None
    """Where."""
    column: int | None
    """Where in that line."""
    message: str
    """What."""
    hint: str | None
    """What to do."""
    severity: str
    """Whether it may run all the same."""


class PipePlanned(Struct, frozen=True, kw_only=True):
    """A pipe, thought through."""

    plan_id: str
    """Under which it is shown for a while: /pipes/new?plan=..."""
    ok: bool
    """Whether it may run."""
    name: str | None
    """The pipe's name."""
    steps: tuple[PipePlanStep, ...] = ()
    """In the order in which they begin."""
    max_parallel: int | None = None
    """How many calls run side by side at most."""
    on_failure: str | None = None
    """Whether independent steps go on where one fails."""
    problems: tuple[PipeProblem, ...] = ()
    """What is wrong, and what a person should know."""
    only_reads: bool = False
    """Nothing is changed by it, so that it runs without a confirm."""
    drawing: PipeDrawing | None = None
    """The steps, drawn."""
    pipe: str
    """The text."""
    input: str = ""
    """What was given as its input, as JSON."""


class PipePlanOrder(Struct, frozen=True, kw_only=True):
    """A pipe to be thought through."""

    pipe: PipeText
    """The text, TOML."""
    input_text: Annotated[str, Meta(max_length=LONGEST)] = ""
    """The input as JSON text; it is only kept for the page."""


def plan_pipe(premises: Premises, body: PipePlanOrder, _visitor: Visitor) -> PipePlanned:
    """Check a pipe and say what would happen, and why; nothing runs."""
    return planned_text(premises, body.pipe, body.input_text)


def planned_text(premises: Premises, text: str, given: str) -> PipePlanned:
    """The plan of a text, remembered for its page; problems are part of it. Raises Unfit for what is no text."""
    pipe = text.replace("\r\n", "\n")
    try:
        made = told_plan(plan_of(premises, pipe), pipe, given)
    except AuthorError as error:
        problems = tuple(_problem(each) for each in error.problems)
        made = PipePlanned(plan_id=new_id(), ok=False, name=None, problems=problems, pipe=pipe, input=given)
    premises.keep(Sessions).plans.keep(made.plan_id, made, len(msgspec.json.encode(made)))
    return made


def plan_of(premises: Premises, pipe: str) -> PipePlan:
    """The plan of a text. Raises AuthorError with every problem, Unfit."""
    try:
        pipe.encode()
        loaded: LoadedPipe = pipe_in(pipe)
        return planned(premises.runtime.shelf, loaded)
    except (UnicodeError, RecursionError, ValueError):
        raise Unfit([Fault("pipe", "is not text that can be read: too deep, or half a character")]) from None


def found_plan(premises: Premises, plan_id: str) -> PipePlanned:
    """A plan that was made a while ago. Raises Missing."""
    found = premises.keep(Sessions).plans.find(plan_id)
    if found is None:
        raise Missing("the console does not remember this plan any more", "plan it again on /pipes/new")
    return found


def told_plan(plan: PipePlan, pipe: str, given: str) -> PipePlanned:
    """A plan for people."""
    return PipePlanned(
        plan_id=new_id(),
        ok=True,
        name=plan.name,
        steps=tuple(_step(plan, plan.steps[position]) for position in plan.order),
        max_parallel=plan.max_parallel,
        on_failure=plan.on_failure,
        problems=tuple(_problem(each) for each in plan.warnings),
        only_reads=reads_only(plan),
        drawing=drawing(plan),
        pipe=pipe,
        input=given,
    )


def reads_only(plan: PipePlan) -> bool:
    """Whether none of its atoms changes anything, those that undo included."""
    return all(only_reads(spec.manifest) for step in plan.steps for spec in (step.spec, step.undo) if spec is not None)


def json_input(text: str) -> Any:  # noqa: ANN401 - any JSON
    """The input that a form gives; None where it gives none. Raises Unfit."""
    return parsed(text, "input") if text.strip() else None


def _step(plan: PipePlan, step: PlannedStep) -> PipePlanStep:
    names = [each.name for each in plan.steps]
    return PipePlanStep(
        name=step.name,
        atom=step.spec.id,
        needs=tuple(names[each] for each in step.needs),
        after=tuple(names[each] for each in step.after),
        for_each=step.step.for_each is not None,
        cached=step.cached,
        why=step.words,
        touches=() if only_reads(step.spec.manifest) else effect_words(step.spec.manifest),
    )


def _problem(problem: Problem) -> PipeProblem:
    return PipeProblem(
        code=problem.code,
        line=problem.line,
        column=problem.column,
        message=problem.message,
        hint=problem.hint,
        severity=problem.severity,
    )
