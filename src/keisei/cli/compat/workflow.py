"""`keisei compat workflow-*`: many tasks in order, in the original's shapes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.compat.opened import Opened, config_option, given_object, opened_runtime
from keisei.cli.desk import WORDS, actor
from keisei.cli.output import emit_json
from keisei.records.error import OperatorError

if TYPE_CHECKING:
    from keisei.records.progression import Workflow

ACTIVE = ("active", "blocked")
"""The original knows no workflow that stands still: whatever is not completed is active there."""
MOST = 10_000


@click.command("workflow-list")
@config_option
def workflow_list(config: Path) -> int:
    """Workflows that are not completed."""
    from keisei.records.progression import WorkflowQuery
    from keisei.wiring.compat_shape import workflow_shape

    with opened_runtime(config) as opened:
        found = opened.store.workflows(WorkflowQuery(statuses=ACTIVE, limit=MOST))
    emit_json({"workflows": [workflow_shape(each) for each in reversed(found)]})
    return 0


@click.command("workflow-show")
@config_option
@click.option("--id", "workflow_id", type=WORDS, help="Its id.")
@click.option("--instance_key", type=WORDS, help="Its key.")
def workflow_show(config: Path, workflow_id: str | None, instance_key: str | None) -> int:
    """One workflow, by its id or by its key."""
    from keisei.wiring.compat_shape import whole_workflow

    if (workflow_id is None) == (instance_key is None):
        raise OperatorError("give one of --id and --instance_key", "`keisei compat workflow-list` shows both")
    with opened_runtime(config) as opened:
        found = _known(opened, workflow_id, instance_key)
    emit_json(whole_workflow(found))
    return 0


@click.command("workflow-create")
@config_option
@click.option("--template", required=True, type=WORDS, help="Which definition.")
@click.option("--instance_key", required=True, type=WORDS, help="The same key is the same workflow.")
@click.option("--context", help="What it knows, as a JSON object.")
@click.option("--state", type=WORDS, help="Begin here instead of at the beginning.")
def workflow_create(config: Path, template: str, instance_key: str, context: str | None, state: str | None) -> int:
    """Begin a workflow; one whose key is known stays as it is."""
    from keisei.engine.workflow import create
    from keisei.wiring.compat_shape import workflow_shape

    knows = None if context is None else given_object(context, "--context")
    with opened_runtime(config) as opened:
        workflow, is_new = create(
            opened.office(),
            workflow_type=template,
            instance_key=instance_key,
            state=state,
            context=knows,
            actor=actor(),
        )
    emit_json(_begun(workflow) if is_new else {"created": False, "workflow": workflow_shape(workflow)})
    return 0


def _begun(workflow: "Workflow") -> dict[str, Any]:
    record = workflow.record
    return {
        "created": True,
        "workflow_id": record.workflow_id,
        "template": record.workflow_type,
        "instance_key": record.instance_key,
        "state": record.current_state,
    }


@click.command("workflow-transition")
@config_option
@click.option("--id", "workflow_id", required=True, type=WORDS, help="Its id.")
@click.option("--state", required=True, type=WORDS, help="Where it goes.")
@click.option("--context", help="What it learns with it, as a JSON object.")
def workflow_transition(config: Path, workflow_id: str, state: str, context: str | None) -> int:
    """Move a workflow to a state that a signal of its own state leads to."""
    from keisei.engine.steer import transition

    learns = {} if context is None else given_object(context, "--context")
    with opened_runtime(config) as opened:
        before = _known(opened, workflow_id, None).record
        transition(
            opened.office(),
            before.workflow_id,
            state=state,
            context=learns,
            force=False,
            reason="",
            actor=actor(),
        )
    told = {"transitioned": True, "workflow_id": before.workflow_id, "from": before.current_state, "to": state}
    emit_json(told)
    return 0


@click.command("workflow-complete")
@config_option
@click.option("--id", "workflow_id", required=True, type=WORDS, help="Its id.")
def workflow_complete(config: Path, workflow_id: str) -> int:
    """End a workflow as completed. One that nobody knows is an error; one that is completed stays so."""
    from keisei.engine.steer import complete

    with opened_runtime(config) as opened:
        record = _known(opened, workflow_id, None).record
        if record.status != "completed":
            complete(opened.office(), record.workflow_id, reason="", actor=actor())
    emit_json({"completed": True, "workflow_id": record.workflow_id})
    return 0


@click.command("workflow-unblock")
@config_option
@click.option("--id", "workflow_id", required=True, type=WORDS, help="Its id.")
def workflow_unblock(config: Path, workflow_id: str) -> int:
    """Let a workflow that is blocked ask again, with a new task. The original has no such state, and no such verb."""
    from keisei.engine.steer import unblock

    with opened_runtime(config) as opened:
        record = _known(opened, workflow_id, None).record
        after = unblock(opened.office(), record.workflow_id, reason="", actor=actor())
    emit_json({"unblocked": True, "workflow_id": record.workflow_id, "task_id": after.task_id})
    return 0


def _known(opened: Opened, workflow_id: str | None, instance_key: str | None) -> "Workflow":
    """By its id, or by its key. Raises OperatorError for one that nobody knows."""
    from keisei.records.id import WorkflowId

    store = opened.store
    found = store.instance(instance_key or "") if workflow_id is None else store.workflow(WorkflowId(workflow_id))
    if found is None:
        named = f"the key `{instance_key}`" if workflow_id is None else f"the id `{workflow_id}`"
        raise OperatorError(
            f"no workflow has {named}", "`keisei compat workflow-list` shows those that are not completed"
        )
    return found
