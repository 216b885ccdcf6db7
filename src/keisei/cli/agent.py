"""`keisei agent` and `kei-agent-runtime`: compose, prepare, spawn, run and verify an agent; the durable agents."""

import secrets
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from keisei import __version__
from keisei.cli.desk import actor
from keisei.cli.noun import noun_group
from keisei.cli.output import emit_json, json_option, write_whole
from keisei.cli.role import docs as role_docs
from keisei.cli.run import Way, carry, carry_options
from keisei.cli.surroundings import kit_root_option, open_catalog, say, settings, warn
from keisei.contracts.check import data_of
from keisei.engine.compose import compose_task
from keisei.engine.prepare import Prepared, prepare_task
from keisei.library.agent import constitution_of
from keisei.library.load import Loaded
from keisei.library.spawn import ready_task
from keisei.records.agent import AgentFile
from keisei.records.error import OperatorError
from keisei.records.problem import printable
from keisei.records.task_spec import TaskSpec
from keisei.records.wallet import joined
from keisei.wiring.instruction import intent_of

if TYPE_CHECKING:
    from keisei.records.finding import FindingRecord
    from keisei.records.verification import RunFrom

TASK = click.argument("task", type=click.Path(path_type=Path))
MODES: "dict[str, tuple[RunFrom, ...]]" = {
    "merged": ("merged",),
    "worktree": ("worktree",),
    "both": ("merged", "worktree"),
    "simulated-merge": ("merged",),
    "main-worktree": ("merged",),
    "agent-worktree": ("worktree",),
}
"""How work is verified, by today's names and the originals'."""


@click.command("compose")
@TASK
@kit_root_option
def compose(task: Path, kit_root: Path | None) -> int:
    """Write prompt.md beside the task file, and print exactly those bytes."""
    catalog = open_catalog(kit_root)
    spec, warnings = ready_task(catalog, task)
    for problem in warnings:
        warn(problem)
    prompt = compose_task(catalog, spec)
    write_whole(task.parent / "prompt.md", prompt)
    sys.stdout.buffer.write(prompt)
    return 0


@click.command("prepare")
@TASK
@click.option("--format", "form", type=click.Choice(["human", "json", "toml"]), default="human", show_default=True)
@kit_root_option
def prepare(task: Path, form: str, kit_root: Path | None) -> int:
    """Print everything needed to spawn one agent by hand."""
    catalog = open_catalog(kit_root)
    spec, warnings = ready_task(catalog, task)
    for problem in warnings:
        warn(problem)
    prepared = prepare_task(catalog, spec, shlex.quote(str(task)), time.time_ns() // 1_000_000, secrets.randbits(48))
    click.echo(FORMS[form](prepared))
    return 0


@click.command("spawn")
@TASK
@kit_root_option
@json_option
def spawn(task: Path, kit_root: Path | None, as_json: bool) -> int:
    """Queue a task file for the next runner, print the agent-id and return. `keisei task wait ID` waits."""
    from keisei.cli.desk import desk
    from keisei.cli.intent import accepted

    asked = intent_of(_ready(task, kit_root), actor())
    with desk() as opened:
        queued = opened.store.enqueue(accepted(opened, [asked.intent], kit_root))[0]
        opened.store.ring()
    if as_json:
        emit_json({"agent_id": asked.agent_id, "task_id": queued.task_id})
    else:
        click.echo(asked.agent_id)
    return 0


@click.command("run")
@TASK
@carry_options
def run(task: Path, timeout_s: float | None, accept_weaker: bool, kit_root: Path | None, as_json: bool) -> int:
    """Run one task file in the foreground.

    Exit 0 verified, 2 failed or rejected, 3 needs you, 4 over budget, 5 time-out.
    Ctrl-C ends the agent with everything it started and keeps its work (exit 130); a second one leaves at once.
    """
    return carry(intent_of(_ready(task, kit_root), actor()), Way(timeout_s, accept_weaker, kit_root, as_json))


@click.command("verify")
@TASK
@click.argument("worktree", type=click.Path(path_type=Path), required=False)
@click.option("--worktree", "named", type=click.Path(path_type=Path), help="The worktree, as the originals name it.")
@click.option("--main-repo", type=click.Path(path_type=Path), help="The main checkout; by default the worktree's own.")
@click.option(
    "--mode",
    type=click.Choice(list(MODES)),
    default="merged",
    show_default=True,
    help="Judge what would be on main, or the worktree as it is.",
)
@click.option("--report", type=click.Path(path_type=Path), help="A file with what the agent said at its end.")
@kit_root_option
@json_option
def verify(  # noqa: PLR0913, PLR0917 - one argument an option
    task: Path,
    worktree: Path | None,
    named: Path | None,
    main_repo: Path | None,
    mode: str,
    report: Path | None,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Ask every predicate of a task's role of the work in WORKTREE.

    Exit 0 all hold, 2 one is violated, 3 nobody can say, 5 time-out.
    """
    from keisei.cli.desk import refusing
    from keisei.cli.verdict import exit_code, line, newest, verdict
    from keisei.cli.verdict import report as report_of

    if (worktree is None) == (named is None):
        raise OperatorError("name the worktree once: after the task file, or with --worktree", "`--help` shows both")
    with refusing():
        found = verified(task, named or worktree or Path(), main_repo, MODES[mode], report=report, kit_root=kit_root)
    if as_json:
        emit_json(report_of(found))
        return exit_code(found)
    for each in newest(found):
        click.echo(line(each))
    said = verdict(found)
    click.echo(f"{said['held']} of {said['asked']} held")
    return exit_code(found)


def verified(  # noqa: PLR0913 - most calls say the first four
    task: Path,
    worktree: Path,
    main_repo: Path | None,
    modes: "tuple[RunFrom, ...]",
    *,
    report: Path | None = None,
    names: tuple[str, ...] | None = None,
    kit_root: Path | None = None,
) -> "list[FindingRecord]":
    """What the predicates say, in each mode. The rules are those of the project around the task, never the agent's."""
    from keisei.wiring import catalog
    from keisei.wiring.verify_alone import Alone, is_inside, rules_of, verify_task

    own = settings()
    home, main = rules_of(own, task, worktree, main_repo)
    if is_inside(task, worktree) and not is_inside(main or worktree, worktree):
        say(f"{printable(str(task))} is in the worktree that it judges: whoever worked there could have written it")
    library = catalog(own, kit_root=kit_root, start=home, warn=say)
    found: list[FindingRecord] = []
    for mode in modes:
        asked = Alone(task=task, worktree=worktree, main_repo=main, mode=mode, report=report, names=names)
        found += verify_task(own, library, asked)
    return found


def _ready(task: Path, kit_root: Path | None) -> TaskSpec:
    """The task file; its warnings are told. Raises AuthorError with every reason why nobody can be spawned for it."""
    spec, warnings = ready_task(open_catalog(kit_root), task)
    for problem in warnings:
        warn(problem)
    return spec


def _human(prepared: Prepared) -> str:
    return f"""=== AGENT SUBSTRATE v1 — PREPARED SPAWN ===
agent-id: {prepared.agent_id}
dna: {prepared.dna}
subagent_type: {prepared.subagent_type}
isolation: {prepared.isolation}
description: {prepared.description}

--- PROMPT (copy into Agent tool `prompt` param) ---
{prepared.prompt}
--- END PROMPT ---

on return: {prepared.verify_command}
ledger: {prepared.ledger_row}"""


def _json(prepared: Prepared) -> str:
    return msgspec.json.format(msgspec.json.encode(prepared), indent=2).decode()


def _toml(prepared: Prepared) -> str:
    """TOML's basic strings are JSON strings, but for one character."""
    data = msgspec.to_builtins(prepared)
    return "\n".join(f"{key} = {msgspec.json.encode(value).decode()}" for key, value in data.items()).replace(
        "\x7f", "\\u007F"
    )


FORMS: dict[str, Callable[[Prepared], str]] = {"human": _human, "json": _json, "toml": _toml}


def _records(loaded: Loaded) -> dict[str, Any]:
    """The records that agent.toml stands for: the constitution with its hashes, the wallets joined to the agent."""
    file: AgentFile = loaded.record
    constitution = constitution_of(loaded)
    return {
        "constitution": None if constitution is None else data_of(constitution),
        "wallets": [data_of(joined(wallet, file.identity.agent_id)) for wallet in file.wallets],
    }


group = noun_group(
    "agent",
    "Agents: spawns to compose, prepare and run, and durable identities.",
    ("display name", "wallets"),
    lambda file: (file.identity.display_name, len(file.wallets)),
    _records,
)
for _verb in (compose, prepare, spawn, run, verify):
    group.add_command(_verb)

runtime = click.Group(
    "kei-agent-runtime",
    help="Compose, prepare, spawn, run and verify agents (the originals' command).",
    context_settings={"help_option_names": ["-h", "--help"]},
)
click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")(runtime)
for _verb in (compose, prepare, spawn, run, verify):
    runtime.add_command(_verb)
runtime.add_command(role_docs, name="doc-roles")
