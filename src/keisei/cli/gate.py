"""`keisei gate`: judge tool calls, alone or by a service."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.output import emit_json, json_option, table
from keisei.cli.surroundings import kit_root_option, say, settings, warn
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.library.catalog import Catalog
    from keisei.rules.policy import Policy
    from keisei.wiring.policy import Setting

TASK = click.option("--task", type=click.Path(path_type=Path), required=True, help="The task file.")
WORKTREE = click.option("--worktree", type=click.Path(path_type=Path), help="Where the agent works.")
MAIN = click.option("--main", "main_repo", type=click.Path(path_type=Path), help="The main checkout.")
HARNESS = click.option(
    "--harness",
    type=click.Choice(["claude", "codex", "hermes"]),
    default="claude",
    show_default=True,
    help="Whose hook this is.",
)


def _policy(
    task: Path, worktree: Path | None, main_repo: Path | None, kit_root: Path | None
) -> tuple["Policy", "Catalog", "Setting"]:
    """The policy of a task, read from where the task file stands; its warnings are told."""
    from keisei.wiring import catalog
    from keisei.wiring.alone import rules_home, setting_of
    from keisei.wiring.policy import task_policy

    own = settings()
    place = setting_of(own, worktree, main_repo)
    library = catalog(own, kit_root=kit_root, start=rules_home(own, task, main_repo), warn=say)
    policy, warnings = task_policy(library, task, place)
    for problem in warnings:
        warn(problem)
    return policy, library, place


@click.group("gate", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """The gate: every tool call judged before it happens."""


@group.command("check")
@TASK
@WORKTREE
@MAIN
@HARNESS
@kit_root_option
def check(task: Path, worktree: Path | None, main_repo: Path | None, harness: str, kit_root: Path | None) -> int:
    """Judge one call (the harness's hook JSON on stdin) by a task's whole role. Exit 0 allows, 2 refuses."""
    from keisei.cli.check import by_task, judged

    return judged(by_task(task, worktree, main_repo, kit_root), harness)


@group.command("explain")
@TASK
@WORKTREE
@MAIN
@HARNESS
@kit_root_option
@json_option
@click.option("--command", help="Explain this shell command, instead of a call on stdin.")
def explain(  # noqa: PLR0913, PLR0917 - one argument an option
    task: Path,
    worktree: Path | None,
    main_repo: Path | None,
    harness: str,
    kit_root: Path | None,
    as_json: bool,
    command: str | None,
) -> int:
    """Say what a call would do, which rule has what against it, and what to do instead."""
    from keisei.cli.explanation import explained, shown
    from keisei.contracts.hook import read_call
    from keisei.records.effect import ToolCall

    policy, _, place = _policy(task, worktree, main_repo, kit_root)
    if command is not None:
        call = ToolCall(tool="Bash", input={"command": command}, cwd=place.worktree, harness=harness)
    else:
        told = sys.stdin.buffer.read()
        if not told.strip():
            raise OperatorError("there is no call on standard input", "give one, or a shell command with --command")
        call = read_call(told, harness)
    found = explained(call, policy)
    if as_json:
        emit_json(found)
    else:
        click.echo(shown(found))
    return 0 if found["decision"] == "allow" else 2


@group.command("start")
@TASK
@WORKTREE
@MAIN
@HARNESS
@click.option(
    "--client",
    type=click.Choice(["compiled", "python"]),
    default="compiled",
    show_default=True,
    help="The program the hook starts; the Python one is used anyway where there is no compiler.",
)
@click.option("--attempt", "attempt_id", help="The attempt it serves: allowances are then said aloud.")
@click.option(
    "--sub-agent",
    "sub_agents",
    multiple=True,
    metavar="NAME=TASK",
    help="A sub-agent's id or type with a task file of its own; may be given again.",
)
@kit_root_option
def start(  # noqa: PLR0913, PLR0917 - one argument an option
    task: Path,
    worktree: Path | None,
    main_repo: Path | None,
    harness: str,
    client: str,
    attempt_id: str | None,
    sub_agents: tuple[str, ...],
    kit_root: Path | None,
) -> int:
    """Start the gate service for a task; print one JSON line that says how to reach it."""
    from keisei.wiring.policy import task_policy
    from keisei.wiring.start import Order
    from keisei.wiring.start import start as start_service

    policy, library, place = _policy(task, worktree, main_repo, kit_root)
    agents = {name: task_policy(library, Path(path), place)[0] for name, path in map(_named, sub_agents)}
    order = Order(policy=policy, agents=agents, harness=harness, attempt_id=attempt_id, compiled=client == "compiled")
    started = start_service(settings(), order)
    click.echo(json.dumps({**started._asdict(), "hook": list(started.hook)}))
    return 0


def _named(text: str) -> tuple[str, str]:
    name, equals, path = text.partition("=")
    if not name or not equals or not path:
        raise OperatorError(f"`--sub-agent {text}` does not say which task", "write `--sub-agent NAME=TASK.toml`")
    return name, path


@group.command("stop")
@click.argument("which", required=False)
@click.option("--all", "every", is_flag=True, help="Stop every gate service of this user.")
def stop(which: str | None, every: bool) -> int:
    """Stop a gate service: the one at this socket or with this pid; the only one, where nothing is named."""
    from keisei.wiring.start import running
    from keisei.wiring.start import stop as stop_service

    services = list(running(settings()))
    chosen = services if every else [each for each in services if which in (None, each.socket, str(each.pid))]
    if not services:
        raise OperatorError("no gate service of this user runs", "`keisei gate start` starts one")
    if not every and len(chosen) != 1:
        known = ", ".join(f"{each.pid} ({each.socket})" for each in services) or "none"
        what = f"no gate service is `{which}`" if which else f"{len(services)} gate services run"
        raise OperatorError(what, f"name one by its socket or pid, or all with --all; running: {known}")
    for service in chosen:
        stop_service(service)
        click.echo(f"stopped {service.pid}")
    return 0


@group.command("list")
@json_option
def list_(as_json: bool) -> int:
    """Gate services of this user that run."""
    from keisei.wiring.start import running

    rows = [(each.pid, each.socket) for each in running(settings())]
    if as_json:
        emit_json([{"pid": pid, "socket": socket} for pid, socket in rows])
    else:
        table(("pid", "socket"), rows)
    return 0


@group.command("serve", hidden=True)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--ready", type=int)
@click.option("--parent", type=int)
def serve(folder: Path, ready: int | None, parent: int | None) -> int:
    """Be the service. `keisei gate start` and the runner start this."""
    import os

    from keisei.gate.service import Service
    from keisei.gate.service import serve as run_service
    from keisei.wiring.gate import Bench
    from keisei.wiring.start import clear_folder

    def tell() -> None:
        if ready is not None:
            os.write(ready, b"1")
            os.close(ready)

    bench = Bench()
    service = Service(folder / "gate.sock", folder / "plans", bench.judge, bench.prepare, parent_fd=parent)
    run_service(service, tell)
    if parent is not None:  # whoever started it may be gone, and then nobody else clears up
        clear_folder(folder)
    return 0


@group.command("replay")
@click.argument("file", type=click.Path(path_type=Path))
@TASK
@WORKTREE
@MAIN
@kit_root_option
@json_option
def replay(  # noqa: PLR0913, PLR0917 - one argument an option
    file: Path, task: Path, worktree: Path | None, main_repo: Path | None, kit_root: Path | None, as_json: bool
) -> int:
    """Judge a recorded gate.jsonl again, with today's policy. Exit 0 where nothing changes, 2 where it does."""
    from keisei.wiring.replay_gate import replayed

    policy, _, _ = _policy(task, worktree, main_repo, kit_root)
    found = replayed(file, policy)
    rows: list[dict[str, Any]] = found["calls"]
    changed = [row for row in rows if row["changed"]]
    if as_json:
        emit_json(found)
    else:
        for row in changed:
            click.echo(f"line {row['line']}: {row['tool']} was {row['was']}, is {row['now']}: {row['reason'] or '-'}")
        click.echo(f"{len(rows)} calls, {len(changed)} judged otherwise; chain {found['chain']}")
    return 0 if not changed and found["chain"] == "whole" else 2
