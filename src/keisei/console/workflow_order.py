"""Orders to workflows: begin one; a signal, another state, the end, once more, a newer definition."""

import json
from typing import Annotated, Final

from msgspec import Meta, Struct

from keisei.console.asking import Key, Reason
from keisei.console.page import Missing, Order, order
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine import steer
from keisei.engine.workflow import create
from keisei.records.error import OperatorError
from keisei.records.form import JsonObject
from keisei.records.id import WorkflowId
from keisei.records.progression import Awaited, Workflow
from keisei.records.workflow import WorkflowRecord

Name = Annotated[str, Meta(min_length=1, max_length=200)]
LongText = Annotated[str, Meta(max_length=100_000)]
VisitNumber = Annotated[int, Meta(ge=0)]


class WorkflowStartOrder(Struct, frozen=True, kw_only=True):
    """A workflow begins."""

    type: Name
    """Which definition it follows."""
    key: Annotated[str, Meta(min_length=1, max_length=256)]
    """Which instance: the same key twice is the same one."""
    state: Name | None = None
    """Begin here instead of where the definition begins."""
    context: JsonObject | LongText | None = None
    """What it knows: an object, or one as JSON text."""


class WorkflowOrder(Struct, frozen=True, kw_only=True):
    """What is said to a workflow."""

    workflow_id: Key
    """Which: its id, or its key."""
    reason: Reason = ""
    """Why."""
    seen_state: Name | None = None
    """The state it was seen in; where it has moved on since, nothing is done."""
    seen_visit: VisitNumber | None = None
    """The how-manieth stay in that state."""


class WorkflowSignal(Struct, frozen=True, kw_only=True):
    """A signal is given in place of its task."""

    workflow_id: Key
    """Which: its id, or its key."""
    signal: Name
    """A signal of the state it stands in."""
    reason: Reason = ""
    """Why."""
    seen_state: Name | None = None
    """The state it was seen in; where it has moved on since, nothing is done."""
    seen_visit: VisitNumber | None = None
    """The how-manieth stay in that state."""


class WorkflowTransition(Struct, frozen=True, kw_only=True):
    """It is put into another state."""

    workflow_id: Key
    """Which: its id, or its key."""
    state: Name
    """Where to."""
    force: bool = False
    """Even where no signal leads there."""
    reason: Reason = ""
    """Why."""
    seen_state: Name | None = None
    """The state it was seen in; where it has moved on since, nothing is done."""
    seen_visit: VisitNumber | None = None
    """The how-manieth stay in that state."""


class WorkflowUpgrade(Struct, frozen=True, kw_only=True):
    """It follows the definition of its type as it is now."""

    workflow_id: Key
    """Which: its id, or its key."""
    state: Name | None = None
    """Go on in this state of the new definition."""
    reason: Reason = ""
    """Why."""
    seen_state: Name | None = None
    """The state it was seen in; where it has moved on since, nothing is done."""
    seen_visit: VisitNumber | None = None
    """The how-manieth stay in that state."""


class WorkflowDone(Struct, frozen=True, kw_only=True):
    """A workflow after an order."""

    record: WorkflowRecord
    """As it is now."""
    awaits: Awaited
    """What it waits for."""
    created: bool = False
    """It began just now."""


def known(premises: Premises, name: str) -> Workflow:
    """A workflow by its id, else by its key. Raises Missing."""
    found = premises.store.workflow(WorkflowId(name)) or premises.store.instance(name)
    if found is None:
        raise Missing(f"no workflow has the id or the key `{name}`", "/workflows?status=all shows all")
    return found


def start(premises: Premises, asks: WorkflowStartOrder, visitor: Visitor) -> WorkflowDone:
    """Begin a workflow; the same key twice is the same one."""
    workflow, new = create(
        premises.office(),
        workflow_type=asks.type,
        instance_key=asks.key,
        state=asks.state,
        context=as_object(asks.context, "the context"),
        actor=visitor.actor,
    )
    return WorkflowDone(record=workflow.record, awaits=workflow.awaits, created=new)


def signal(premises: Premises, asks: WorkflowSignal, visitor: Visitor) -> WorkflowDone:
    """Give a signal of its state, in place of the task it waits for."""
    return _done(
        steer.signal(
            premises.office(),
            _id(premises, asks.workflow_id),
            signal=asks.signal,
            reason=asks.reason,
            actor=visitor.actor,
            seen=_sight(asks),
        )
    )


def transition(premises: Premises, asks: WorkflowTransition, visitor: Visitor) -> WorkflowDone:
    """Put it into another state."""
    return _done(
        steer.transition(
            premises.office(),
            _id(premises, asks.workflow_id),
            state=asks.state,
            force=asks.force,
            reason=asks.reason,
            actor=visitor.actor,
            seen=_sight(asks),
        )
    )


def complete(premises: Premises, asks: WorkflowOrder, visitor: Visitor) -> WorkflowDone:
    """End it where it stands; its task is ended too."""
    office, name = premises.office(), _id(premises, asks.workflow_id)
    return _done(steer.complete(office, name, reason=asks.reason, actor=visitor.actor, seen=_sight(asks)))


def unblock(premises: Premises, asks: WorkflowOrder, visitor: Visitor) -> WorkflowDone:
    """Let a blocked one ask again, with a new task."""
    office, name = premises.office(), _id(premises, asks.workflow_id)
    return _done(steer.unblock(office, name, reason=asks.reason, actor=visitor.actor, seen=_sight(asks)))


def upgrade(premises: Premises, asks: WorkflowUpgrade, visitor: Visitor) -> WorkflowDone:
    """Follow the definition of its type as it is now."""
    return _done(
        steer.upgrade(
            premises.office(),
            _id(premises, asks.workflow_id),
            state=asks.state,
            reason=asks.reason,
            actor=visitor.actor,
            seen=_sight(asks),
        )
    )


def as_object(given: JsonObject | str | None, what: str) -> JsonObject | None:
    """An object that may be given as text, as a form gives it. Raises OperatorError for anything else."""
    if given is None or isinstance(given, dict):
        return given
    try:
        data = json.loads(given)
    except (ValueError, RecursionError) as error:
        raise OperatorError(f"{what} is no JSON: {error}", 'give an object, as in {"objective": "..."}') from error
    if not isinstance(data, dict):
        raise OperatorError(f"{what} is not a JSON object", 'give an object, as in {"objective": "..."}')
    return data


def _id(premises: Premises, name: str) -> WorkflowId:
    return known(premises, name).record.workflow_id


def _sight(asks: WorkflowOrder | WorkflowSignal | WorkflowTransition | WorkflowUpgrade) -> steer.Sight:
    return steer.Sight(asks.seen_state, asks.seen_visit)


def _done(workflow: Workflow) -> WorkflowDone:
    return WorkflowDone(record=workflow.record, awaits=workflow.awaits)


def _after(done: WorkflowDone) -> str:
    return f"/workflows/{done.record.workflow_id}"


ORDERS: Final[tuple[Order, ...]] = (
    order("/workflows", start, _after),
    order("/workflows/{workflow_id}/signal", signal, _after),
    order("/workflows/{workflow_id}/transition", transition, _after),
    order("/workflows/{workflow_id}/complete", complete, _after),
    order("/workflows/{workflow_id}/unblock", unblock, _after),
    order("/workflows/{workflow_id}/upgrade", upgrade, _after),
)
