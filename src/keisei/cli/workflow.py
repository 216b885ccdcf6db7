"""`keisei workflow`: definitions and their instances; begin one, see where it stands, steer it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, Desk, actor, desk, fields, first_line, grid, limit_option, stamp
from keisei.cli.intent import payload_of
from keisei.cli.noun import noun_group
from keisei.cli.output import emit_json, json_option
from keisei.cli.steer import ORDERS, told
from keisei.cli.surroundings import kit_root_option, open_catalog
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.records.progression import Visit, Workflow

STATUSES = ("active", "blocked", "completed")
OPEN = ("active", "blocked")
definitions = noun_group(
    "workflow",
    "Definitions of workflows.",
    ("begins", "states"),
    lambda definition: (definition.initial_state, " ".join(state.state_id for state in definition.states)),
)


@click.group("workflow", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Workflows: many tasks in order, as data."""


group.add_command(definitions.commands["list"])
for order in ORDERS:
    group.add_command(order)


@group.command("instances")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these; may be repeated.")
@click.option("--type", "workflow_type", type=WORDS, help="Only of this type.")
@click.option("--all", "everything", is_flag=True, help="Completed ones too.")
@limit_option
@json_option
def instances(statuses: tuple[str, ...], workflow_type: str | None, everything: bool, limit: int, as_json: bool) -> int:
    """Instances that are not over, newest first."""
    from keisei.records.progression import WorkflowQuery

    wanted = statuses or (() if everything else OPEN)
    with desk() as opened:
        found = opened.store.workflows(WorkflowQuery(statuses=wanted, workflow_type=workflow_type, limit=limit))
    if as_json:
        emit_json([told(each) for each in found])
    else:
        headers = ("workflow", "status", "type", "state", "visit", "awaits", "moved", "key", "reason")
        grid(headers, [_row(each) for each in found])
    return 0


def _row(workflow: "Workflow") -> tuple[object, ...]:
    record = workflow.record
    return (
        record.workflow_id,
        record.status,
        record.workflow_type,
        record.current_state,
        workflow.visit,
        workflow.awaits,
        stamp(record.updated_at),
        record.instance_key,
        first_line(record.reason),
    )


@group.command("show")
@click.argument("name", metavar="ID|KEY|TYPE", type=WORDS)
@click.option("--graph", is_flag=True, help="Draw it as a Mermaid state diagram.")
@click.option("--origin", is_flag=True, help="Of a type: tell which file won, and which it hides.")
@kit_root_option
@json_option
@click.pass_context
def show(  # noqa: PLR0913, PLR0917 - one argument an option
    context: click.Context, name: str, graph: bool, origin: bool, kit_root: Path | None, as_json: bool
) -> int:
    """An instance with its stays, or a type as it is written."""
    catalog = open_catalog(kit_root)
    if catalog.found("workflow", name) is None and not origin:
        return _show_instance(name, list(catalog.names("workflow")), graph=graph, as_json=as_json)
    if not graph:
        shown: int = context.invoke(
            definitions.commands["show"], name=name, origin=origin, kit_root=kit_root, as_json=as_json
        )
        return shown
    from keisei.rules.mermaid import workflow_diagram

    return _draw(workflow_diagram(catalog.loaded("workflow", name).record), as_json)


def _show_instance(name: str, types: list[str], *, graph: bool, as_json: bool) -> int:
    from keisei.contracts.check import data_of
    from keisei.rules.mermaid import workflow_diagram

    with desk() as opened:
        workflow = _found(opened, name, types)
        visits = opened.store.visits(workflow.record.workflow_id)
    record = workflow.record
    if graph:
        return _draw(workflow_diagram(workflow.definition, record.current_state, record.visits), as_json)
    if as_json:
        emit_json({**told(workflow), "stays": data_of(visits), "definition": data_of(workflow.definition)})
        return 0
    fields(told(workflow))
    for visit in visits:
        click.echo(_stay(visit))
    return 0


def _found(opened: Desk, name: str, types: list[str]) -> "Workflow":
    from keisei.contracts.words import nearest
    from keisei.engine.workflow import known

    try:
        return known(opened.store, name)
    except OperatorError as error:
        near = nearest(name, types) or "`keisei workflow list` and `keisei workflow instances --all` show all"
        raise OperatorError(f"no workflow has the id, the key or the type `{printable(name)}`", near) from error


def _draw(diagram: str, as_json: bool) -> int:
    if as_json:
        emit_json({"format": "mermaid", "text": diagram})
    else:
        click.echo(diagram, nl=False)
    return 0


def _stay(visit: "Visit") -> str:
    task = f" task {visit.task_id}" if visit.task_id is not None else ""
    left = f", left {stamp(visit.left_at)}" if visit.left_at is not None else ""
    signal = f" by `{printable(visit.signal)}`" if visit.signal is not None else ""
    by = f" ({printable(visit.actor)})" if visit.actor is not None else ""
    return f"stay {printable(visit.state)} {visit.visit}, entered {stamp(visit.entered_at)}{task}{left}{signal}{by}"


@group.command("create")
@click.argument("workflow_type", metavar="TYPE", type=WORDS)
@click.argument("key", type=WORDS)
@click.option("--state", type=WORDS, help="Begin here instead of where the definition begins.")
@click.option("--context", "context_text", help="What it knows, a JSON object or @FILE.")
@kit_root_option
@json_option
def create(  # noqa: PLR0913, PLR0917 - one argument an option
    workflow_type: str, key: str, state: str | None, context_text: str | None, kit_root: Path | None, as_json: bool
) -> int:
    """Begin a workflow of TYPE; the same KEY twice is the same one."""
    from keisei.engine.workflow import create as begin

    context = _context(context_text)
    with desk() as opened:
        workflow, new = begin(
            opened.office(kit_root),
            workflow_type=workflow_type,
            instance_key=key,
            state=state,
            context=context,
            actor=actor(),
        )
    if as_json:
        emit_json({**told(workflow), "created": new})
    else:
        record = workflow.record
        click.echo(f"{record.workflow_id} {f'begins in {record.current_state}' if new else 'known already'}")
    return 0


def _context(text: str | None) -> dict[str, Any] | None:
    """What it knows. Raises OperatorError for anything but one object."""
    hint = """give an object, as in --context '{"objective": "..."}', or @FILE"""
    try:
        data = payload_of(text) if text is not None else None
    except OperatorError as error:
        raise OperatorError(error.message.replace("the payload", "the context"), hint) from error
    if data is not None and not isinstance(data, dict):
        raise OperatorError("the context is not a JSON object", hint)
    return data
