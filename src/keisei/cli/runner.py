"""`keisei runner`: run tasks, and steer the runners that do."""

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, actor, desk, first_line, grid, reason_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.cli.rehearsal import accept_weaker_option, rehearsal
from keisei.cli.surroundings import kit_root_option, settings
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.id import RunnerId
    from keisei.wiring.runner import Line, Runner

STOPPING = b"stopping: what runs is finished first; once more ends it\n"


@click.group("runner", invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--jobs", type=click.IntRange(1, 256), help="Attempts at once; by default `[runner] jobs`.")
@click.option("--once", is_flag=True, help="Run one task, if there is one, and stop.")
@click.option("--until-idle", is_flag=True, help="Stop when nothing runs and nothing can be claimed.")
@accept_weaker_option
@kit_root_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def group(  # noqa: PLR0913, PLR0917 - one argument an option
    context: click.Context,
    jobs: int | None,
    once: bool,
    until_idle: bool,
    accept_weaker: bool,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Run tasks until stopped. SIGTERM or Ctrl-C takes nothing new and finishes; a second one ends what runs.

    The verbs below steer the runners of this project.
    """
    if context.invoked_subcommand is not None:
        if any((jobs, once, until_idle, accept_weaker, kit_root, as_json)):
            raise click.UsageError(f"options go behind `{context.invoked_subcommand}`, and these are not its own.")
        return 0
    from keisei.wiring.hall import project_shop, runner_options, shop_runner

    tell, own = _json_line if as_json else _plain_line, settings()
    with desk() as opened:
        shop = project_shop(own, opened.home, opened.store, kit_root, accept_weaker=accept_weaker, rehearsal=rehearsal)
        options = runner_options(shop.runner, jobs=jobs, once=once, until_idle=until_idle)
        tell("ready", project=opened.home.name, jobs=options.jobs)
        runner = shop_runner(shop, options, lambda line: _tell_line(tell, line), senses=True)
        with obeying(runner, b"" if as_json else STOPPING):
            taken = runner.run()
    tell("done", attempts=taken)
    return 0


@contextmanager
def obeying(runner: "Runner", said: bytes = b"") -> Iterator[None]:
    """SIGTERM, SIGINT and SIGHUP stop a runner, unless whoever started it has them ignored, as nohup does."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        runner.stop()
        with suppress(OSError):
            os.write(2, said)  # a signal may come in the middle of a line that is being written

    heard = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in heard}
    for number in heard:
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell_line(tell: Callable[..., None], line: "Line") -> None:
    told = {name: value for name, value in line._asdict().items() if value}
    tell(told.pop("event"), **told)


def _plain_line(event: str, **told: Any) -> None:  # noqa: ANN401 - whatever there is to tell
    if event == "ready":
        _say(f"ready for tasks of project {told['project']}, {told['jobs']} at once")
    elif event == "done":
        _say(f"{told['attempts']} {'attempt' if told['attempts'] == 1 else 'attempts'} taken")
    else:
        where = f" {told['task_id']}" if "task_id" in told else ""
        detail = f": {first_line(told['detail'])}" if "detail" in told else ""
        _say(printable(f"{event}{where}{detail}"))


def _json_line(event: str, **told: Any) -> None:  # noqa: ANN401 - whatever there is to tell
    _say(json.dumps({"event": event, **told}, ensure_ascii=False))


def _say(text: str) -> None:
    """One line; a reader that went away does not end a runner."""
    with suppress(OSError, ValueError):
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


@group.command("list")
@click.option("--all", "gone", is_flag=True, help="Also the ones that are gone.")
@json_option
def list_runners(gone: bool, as_json: bool) -> int:
    """Runners that are there, and where claiming is paused."""
    import msgspec

    from keisei.rules.loop import SCOPE

    with desk() as opened:
        found = opened.store.runners(gone=gone)
        pauses = [each for each in opened.store.pauses() if not each.scope.startswith(SCOPE)]
    if as_json:
        emit_json({"runners": msgspec.to_builtins(found), "pauses": msgspec.to_builtins(pauses)})
        return 0
    rows = [
        (each.runner_id, each.state, each.pid, each.slots, stamp(each.heartbeat_at), each.host, each.version)
        for each in found
    ]
    grid(("runner", "state", "pid", "jobs", "heartbeat", "host", "version"), rows)
    for pause in pauses:
        scope = "all runners" if pause.scope == "all" else pause.scope
        click.echo(f"paused: {scope}, since {stamp(pause.since)}: {first_line(pause.reason)}")
    return 0


RUNNER = click.option("--runner", type=WORDS, help="Only this runner; by default all of them.")


@group.command("pause")
@RUNNER
@reason_option
@json_option
def pause(runner: str | None, reason: str, as_json: bool) -> int:
    """Take nothing new; what runs goes on."""
    from keisei.engine.control import pause as stop_claiming

    return _order(stop_claiming, runner, reason or "paused by an operator", "paused", as_json)


@group.command("resume")
@RUNNER
@reason_option
@json_option
def resume(runner: str | None, reason: str, as_json: bool) -> int:
    """Take work again."""
    from keisei.engine.control import resume as start_claiming

    return _order(start_claiming, runner, reason or "resumed by an operator", "resumed", as_json)


def _order(
    order: "Callable[[Any, str, str, RunnerId | None], None]", runner: str | None, reason: str, word: str, as_json: bool
) -> int:
    from keisei.records.id import RunnerId

    with desk() as opened:
        order(opened.store, reason, actor(), None if runner is None else RunnerId(runner))
    return _ordered({"scope": runner or "all", word: True}, f"{runner or 'all runners'} {word}", as_json)


@group.command("drain")
@click.argument("runner_id", type=WORDS)
@json_option
def drain(runner_id: str, as_json: bool) -> int:
    """Let a runner finish what it has, and leave."""
    from keisei.engine.control import drain as drain_runner
    from keisei.records.id import RunnerId

    with desk() as opened:
        drain_runner(opened.store, RunnerId(runner_id), actor())
    return _ordered({"scope": runner_id, "draining": True}, f"{runner_id} draining", as_json)


@group.command("estop")
@reason_option
@json_option
def estop(reason: str, as_json: bool) -> int:
    """Emergency stop: take nothing new, and end everything that runs. `resume` takes work again."""
    from keisei.engine.control import stop_everything

    with desk() as opened:
        asked = stop_everything(opened.store, reason or "emergency stop", actor())
    tasks = f"{len(asked)} running {'task' if len(asked) == 1 else 'tasks'}"
    told = {"scope": "all", "paused": True, "asked_to_end": list(asked)}
    return _ordered(told, f"all runners paused; {tasks} asked to end", as_json)


def _ordered(told: dict[str, Any], sentence: str, as_json: bool) -> int:
    if as_json:
        emit_json(told)
    else:
        click.echo(printable(sentence))
    return 0
