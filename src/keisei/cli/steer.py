"""Orders to workflows: a signal, another state, the end, once more, a newer definition."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from keisei.cli.desk import WORDS, actor, desk, reason_option
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.progression import Workflow

F = TypeVar("F", bound=Callable[..., Any])


def told(workflow: "Workflow") -> dict[str, Any]:
    """A workflow for machines: its record, and what it waits for."""
    from keisei.contracts.check import data_of

    waits = {"awaits": workflow.awaits, "task_id": workflow.task_id, "asks": workflow.asks, "version": workflow.version}
    return {**data_of(workflow.record), **waits}


def _order(command: F) -> F:
    """What every order takes."""
    named = click.argument("name", metavar="ID|KEY", type=WORDS)
    return named(reason_option(kit_root_option(json_option(command))))


def _ordered(verb: str, name: str, reason: str, kit_root: Path | None, as_json: bool, **given: object) -> int:
    from keisei.engine import steer
    from keisei.engine.workflow import known

    with desk() as opened:
        workflow_id = known(opened.store, name).record.workflow_id
        order = getattr(steer, verb)
        after: Workflow = order(opened.office(kit_root), workflow_id, reason=reason, actor=actor(), **given)
    if as_json:
        emit_json(told(after))
    else:
        click.echo(_line(after))
    return 0


def _line(workflow: "Workflow") -> str:
    record = workflow.record
    waits = f", awaits {workflow.awaits}" if record.status != "completed" else ""
    task = f" {workflow.task_id}" if workflow.awaits == "task" else ""
    return f"{record.workflow_id} {record.status} in {printable(record.current_state)}{waits}{task}"


@click.command("signal")
@_order
@click.argument("signal", type=WORDS)
def give_signal(name: str, signal: str, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Give a signal of its state, in place of the task it waits for."""
    return _ordered("signal", name, reason, kit_root, as_json, signal=signal)


@click.command("transition")
@_order
@click.argument("state", type=WORDS)
@click.option("--force", is_flag=True, help="Even where no signal leads there.")
def transition(name: str, state: str, force: bool, reason: str, kit_root: Path | None, as_json: bool) -> int:  # noqa: PLR0913, PLR0917 - one argument an option
    """Put it into another state."""
    return _ordered("transition", name, reason, kit_root, as_json, state=state, force=force)


@click.command("complete")
@_order
def complete(name: str, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """End it where it stands."""
    return _ordered("complete", name, reason, kit_root, as_json)


@click.command("unblock")
@_order
def unblock(name: str, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Let a blocked one ask again, with a new task."""
    return _ordered("unblock", name, reason, kit_root, as_json)


@click.command("upgrade")
@_order
@click.option("--state", type=WORDS, help="Go on in this state of the new definition.")
def upgrade(name: str, state: str | None, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Follow the definition of its type as it is now."""
    return _ordered("upgrade", name, reason, kit_root, as_json, state=state)


ORDERS = (give_signal, transition, complete, unblock, upgrade)
"""The verbs, for their group."""
