"""`keisei pipe` and `kei-runtime pipe`: atoms in order. A bare file means `run`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.cli.desk import actor, desk, first_line, grid, limit_option, refusing, stamp
from keisei.cli.invoke import UNKNOWN, input_of
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, root_option, settings, warn
from keisei.records.error import AuthorError, OperatorError

if TYPE_CHECKING:
    from keisei.engine.pipe_order import PipeEnd, PipeOrder
    from keisei.engine.ports import Store
    from keisei.library.pipe import LoadedPipe
    from keisei.records.pipe_plan import PipePlan
    from keisei.records.pipe_run import PipeRun
    from keisei.wiring.atom_runtime import AtomRuntime

F = TypeVar("F", bound=Callable[..., Any])
FORMS = click.Choice(["mermaid", "dot", "json"])
FILE = click.Path(path_type=Path)
PATIENCE_S = 0.1
"""How long whoever resumes waits for one who is just leaving."""


class PipeGroup(click.Group):
    """A group in which what is no command is a file to run."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """`pipe dag.toml` is `pipe run dag.toml`."""
        asks = not args or args[0] in self.commands or args[0] in ctx.help_option_names
        return super().parse_args(ctx, args if asks else ["run", *args])


@click.group(cls=PipeGroup)
def group() -> None:
    """Compose atoms: plan, run, resume, show, list, graph. A bare FILE is run."""


def run_options(command: F) -> F:
    """What run and resume both take."""
    options = (
        click.option("--input", "given", metavar="JSON|@FILE|-", help="What `$input` is."),
        click.option("--keep-going", is_flag=True, help="Independent steps go on where one fails; nothing is undone."),
        click.option("--no-cache", is_flag=True, help="Take nothing from the cache, and keep nothing there."),
        click.option("--max-parallel", type=click.IntRange(1, 256), help="At most so many calls side by side."),
        click.option("--explain", is_flag=True, help="Say every decision, and why the cache had nothing."),
        json_option,
        root_option,
        kit_root_option,
    )
    for option in reversed(options):
        command = option(command)
    return command


@group.command("run")
@click.argument("file", type=FILE)
@run_options
@click.option("--dry-run", is_flag=True, help="Only plan.")
@click.option("--graph", "form", type=FORMS, help="Only draw it.")
def run(  # noqa: PLR0913 - a command has its options
    *,
    file: Path,
    given: str | None,
    keep_going: bool,
    no_cache: bool,
    max_parallel: int | None,
    explain: bool,
    as_json: bool,
    roots: tuple[Path, ...],
    kit_root: Path | None,
    dry_run: bool,
    form: str | None,
) -> int:
    """Run a pipe: everything is checked first, and what does not depend on each other runs side by side.

    Prints one JSON object: the run, its status, every step with its result, and the result of the last one. Exit 0
    done, 2 a step failed or an atom is unknown, 1 usage or IO, 3 a person must decide, 5 timeout, 127 program missing,
    130 interrupted.
    """
    from keisei.engine.pipe_order import PipeOrder, new_run
    from keisei.library.pipe import load_pipe

    value = None if given is None else input_of(given)
    with _runtime(roots, kit_root) as runtime:
        planned = _planned(runtime, load_pipe(file))
        plan = _adjusted(runtime, planned, keep_going=keep_going, max_parallel=max_parallel)
        if form is not None:
            return _draw(plan, form)
        if dry_run:
            return _tell_plan(plan, as_json=as_json)
        begun = new_run(plan, str(file.absolute()), value, runtime.actor, runtime.tools)
        with alone(runtime, begun.run_id):
            runtime.store.begin_run(begun)
            order = PipeOrder(plan=plan, run=begun, input=value, actor=runtime.actor, attempt_id=runtime.attempt_id)
            return _run(runtime, order, explain=explain, as_json=as_json, no_cache=no_cache)


@group.command("plan")
@click.argument("file", type=FILE)
@json_option
@root_option
@kit_root_option
def plan_command(file: Path, *, as_json: bool, roots: tuple[Path, ...], kit_root: Path | None) -> int:
    """Check a pipe and say what would happen, and why: nothing runs."""
    from keisei.library.pipe import load_pipe

    with _runtime(roots, kit_root) as runtime:
        return _tell_plan(_planned(runtime, load_pipe(file)), as_json=as_json)


@group.command("graph")
@click.argument("file", type=FILE)
@click.option("--graph", "form", type=FORMS, default="mermaid", show_default=True, help="As what.")
@root_option
@kit_root_option
def graph_command(file: Path, form: str, roots: tuple[Path, ...], kit_root: Path | None) -> int:
    """Draw a pipe."""
    from keisei.library.pipe import load_pipe

    with _runtime(roots, kit_root) as runtime:
        return _draw(_planned(runtime, load_pipe(file)), form)


@group.command("resume")
@click.argument("run_id", metavar="RUN")
@click.option("--from", "start", metavar="STEP", help="Do this step again, and everything that depends on it.")
@click.option("--only", metavar="STEP", help="Do only this step.")
@click.option("--restart", is_flag=True, help="Do everything again, under new ids.")
@click.option("--force", is_flag=True, help="Do again what may have been done already.")
@click.option("--file", type=FILE, help="Go on with this file instead of the pipe as it was.")
@run_options
def resume(  # noqa: PLR0913 - a command has its options
    *,
    run_id: str,
    start: str | None,
    only: str | None,
    restart: bool,
    force: bool,
    file: Path | None,
    given: str | None,
    keep_going: bool,
    no_cache: bool,
    max_parallel: int | None,
    explain: bool,
    as_json: bool,
    roots: tuple[Path, ...],
    kit_root: Path | None,
) -> int:
    """Go on with a run: what is finished is not done again, each item of a fan-out for itself.

    RUN is its id, or a beginning of it that no other run has.
    """
    from keisei.engine.pipe_order import PipeOrder, check_steps, followers, taken_run
    from keisei.library.pipe import load_pipe, pipe_of

    if sum((start is not None, only is not None, restart)) > 1:
        raise OperatorError("--from, --only and --restart say different things", "give one of them")
    with _runtime(roots, kit_root) as runtime:
        kept = known_run(runtime.store, run_id)
        loaded = pipe_of(kept.definition, kept.name) if file is None else load_pipe(file)
        planned = _planned(runtime, loaded, kept.name if file is None else None)
        plan = _adjusted(runtime, planned, keep_going=keep_going, max_parallel=max_parallel)
        value = _kept_input(kept) if given is None else input_of(given)
        source = kept.source if file is None else str(file.absolute())
        again = frozenset(step.name for step in plan.steps) if restart else frozenset()
        again = followers(plan, start) if start is not None else again | frozenset({only} if only else ())
        check_steps(plan, again)
        with alone(runtime, kept.run_id):
            taken = runtime.store.take_run(taken_run(kept, plan, source, value, runtime.tools))
            order = PipeOrder(
                plan=plan,
                run=taken,
                input=value,
                actor=runtime.actor,
                attempt_id=runtime.attempt_id,
                force=force,
                again=again,
                only=only,
            )
            return _run(runtime, order, explain=explain, as_json=as_json, no_cache=no_cache)


@group.command("show")
@click.argument("run_id", metavar="RUN")
@json_option
def show(run_id: str, *, as_json: bool) -> None:
    """What became of a run, step by step; with --json every result too."""
    from keisei.engine.pipe_order import error_words
    from keisei.engine.pipe_report import found, report

    with desk() as opened:
        kept = known_run(opened.store, run_id)
        if as_json:
            _print(report(opened.store, kept))
            return
        click.echo(f"run: {kept.run_id}\npipe: {first_line(kept.name)}\nfile: {first_line(kept.source)}")
        why = _why(kept, opened.home.run)
        click.echo(f"status: {kept.status}" + (f" ({first_line(why)})" if why else ""))
        click.echo(f"begun: {stamp(kept.created_at)} by {first_line(kept.actor)}\nmoved: {stamp(kept.updated_at)}\n")
        rows = []
        for step in found(opened.store, kept):
            counts = ", ".join(f"{count} {state}" for state, count in sorted((step.counts or {}).items()))
            why = error_words(step.error) if step.error else step.note
            rows.append((step.told.name, step.told.atom, step.state, counts or "-", first_line(why)))
        grid(("STEP", "ATOM", "STATE", "MEMBERS", "WHY"), rows)


@group.command("list")
@limit_option
@json_option
def list_command(limit: int, *, as_json: bool) -> None:
    """Runs, newest first."""
    with desk() as opened:
        runs = opened.store.pipe_runs(limit)
        if as_json:
            emit_json([_run_data(each) for each in runs])
            return
        rows = [
            (
                each.run_id,
                each.status,
                first_line(each.name),
                stamp(each.created_at),
                first_line(_why(each, opened.home.run)),
            )
            for each in runs
        ]
        grid(("RUN", "STATUS", "PIPE", "BEGUN", "WHY"), rows)


def _why(run: "PipeRun", folder: Path) -> str | None:
    """Why a run is where it is. One whose lock lies there and is free was killed here: it says `running` for ever."""
    from keisei.workspace.lock import KeyLocks

    key = f"pipe-{run.run_id}"
    is_over = run.status not in ("running", "undoing")
    if is_over or not (folder / f"{key}.lock").exists() or KeyLocks(folder).is_held(key):
        return run.error
    return "it was interrupted: `keisei pipe resume` goes on"


def known_run(store: "Store", given: str) -> "PipeRun":
    """The run with that id, or with the only id that begins so. Raises OperatorError."""
    kept = store.pipe_run(given)
    if kept is not None:
        return kept
    matching = store.pipe_runs(2, given) if given else []
    if len(matching) == 1:
        return matching[0]
    what = f"no run has the id `{given}`" if not matching else f"the ids of several runs begin with `{given}`"
    raise OperatorError(what, "`keisei pipe list` shows them")


@contextmanager
def alone(runtime: "AtomRuntime", run_id: str) -> Iterator[None]:
    """Nobody else of this machine runs it meanwhile. Raises OperatorError; other machines are kept out by the fence."""
    from contextlib import ExitStack

    from keisei.workspace.lock import BusyError, KeyLocks

    locks, key = KeyLocks(runtime.home.run), f"pipe-{run_id}"
    with ExitStack() as held:
        try:
            held.enter_context(locks.own(key, PATIENCE_S))
        except BusyError as error:
            hint = "wait for it, or end that process"
            raise OperatorError(f"another process runs {run_id} just now", hint) from error
        held.callback(locks.forget, key)
        yield


@contextmanager
def _runtime(roots: tuple[Path, ...], kit_root: Path | None) -> Iterator["AtomRuntime"]:
    """The runtime. Where an atom is unknown, that is told and exits 2."""
    from keisei.cli.door import say_error
    from keisei.wiring.atom_runtime import open_runtime

    with refusing(), open_runtime(settings(), actor=actor(), roots=roots, kit_root=kit_root) as runtime:
        try:
            yield runtime
        except AuthorError as error:
            if not any(problem.code == "missing-atom" for problem in error.problems):
                raise
            say_error(error)
            raise click.exceptions.Exit(UNKNOWN) from error


def _planned(runtime: "AtomRuntime", loaded: "LoadedPipe", name: str | None = None) -> "PipePlan":
    """The plan; what a person should know of it stands in its warnings."""
    from keisei.wiring.runtime_verb import planned

    return planned(runtime.shelf, loaded, name)


def _adjusted(runtime: "AtomRuntime", plan: "PipePlan", *, keep_going: bool, max_parallel: int | None) -> "PipePlan":
    """The plan as the options want it, and as many processes as it may have calls side by side."""
    from msgspec.structs import replace

    found = replace(plan, on_failure="continue") if keep_going else plan
    found = found if max_parallel is None else replace(found, max_parallel=max_parallel)
    runtime.most = max(runtime.most, found.max_parallel)
    return found


def _run(runtime: "AtomRuntime", order: "PipeOrder", *, explain: bool, as_json: bool, no_cache: bool) -> int:
    from keisei.cli.pipe_progress import teller
    from keisei.engine.pipe import Pipe
    from keisei.engine.pipe_order import PipeTools
    from keisei.engine.pipe_report import report

    told = teller(explain=explain)
    told.begin(order.plan)
    cache = None if no_cache else runtime.cache
    pipe = Pipe(PipeTools(runtime.store, runtime.tools, cache, runtime.code_sha, tell=told.tell), order)
    try:
        with _canceling(pipe.cancel):
            end: PipeEnd = pipe.run()
    finally:
        told.close()
    kept = runtime.store.pipe_run(order.run.run_id) or order.run
    try:
        _print(report(runtime.store, kept, end), pretty=not as_json)
    finally:
        if end.exit_code:
            _complain(end, kept.run_id)
    return end.exit_code


def _complain(end: "PipeEnd", run_id: str) -> None:
    from keisei.cli.door import complain

    said = {"failed": "the pipe failed", "blocked": "the pipe needs you", "canceled": "the pipe was stopped"}
    force = " --force" if end.status == "blocked" else ""
    complain(
        f"{said.get(end.status, 'the pipe is not undone yet')}: {end.error}",
        f"`keisei pipe resume {run_id}{force}` goes on",
    )


@contextmanager
def _canceling(cancel: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and an order to end cancel the run, as often as they come; it writes its rows all the same."""
    import signal
    import threading

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    wanted = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]  # `nohup` says: go on
    before = {number: signal.signal(number, lambda *_: cancel()) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _kept_input(kept: "PipeRun") -> Any:  # noqa: ANN401 - any JSON
    if not kept.input_kept:
        raise OperatorError("the input of this run holds a secret and was not kept", "give it again with --input")
    return kept.input


def _print(pieces: Iterator[str], *, pretty: bool = True) -> None:
    """One JSON line; on a terminal, where nobody asked for the line, one that people can read."""
    import json

    from keisei.cli.progress import write

    if pretty and sys.stdout.isatty():
        write(sys.stdout, f"{json.dumps(json.loads(''.join(pieces)), indent=2, ensure_ascii=False)}\n")
        return
    try:
        for piece in pieces:
            sys.stdout.write(piece)
        sys.stdout.write("\n")
        sys.stdout.flush()
    except BrokenPipeError:  # `head` has seen enough; how the run ended is told all the same
        write(sys.stdout, "")


def _draw(plan: "PipePlan", form: str) -> int:
    from keisei.rules.pipe_graph import graph

    for problem in plan.warnings:
        warn(problem)
    click.echo(graph(plan, form).rstrip("\n"))  # type: ignore[arg-type]  # click has checked the choice
    return 0


def _tell_plan(plan: "PipePlan", *, as_json: bool) -> int:
    from keisei.cli.pipe_progress import plan_lines
    from keisei.rules.pipe_telling import plan_data

    for problem in plan.warnings:
        warn(problem)
    if as_json:
        emit_json(plan_data(plan))
    else:
        click.echo("\n".join(plan_lines(plan)))
    return 0


def _run_data(run: "PipeRun") -> dict[str, Any]:
    import msgspec

    data: dict[str, Any] = msgspec.to_builtins(run)
    return {name: value for name, value in data.items() if name not in ("definition", "input")}
