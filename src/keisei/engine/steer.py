"""Steer: what an operator orders of a workflow; each is a move with its events and ledger rows, or says why not."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace

from keisei.contracts.check import data_of
from keisei.contracts.words import nearest
from keisei.engine.commission import asks_before
from keisei.engine.control import RACES, cancel
from keisei.engine.move import By, commissioned, move_of, stay_of
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.resolve import resolve
from keisei.engine.workflow import known, known_state
from keisei.records.approval import ApprovalStatus
from keisei.records.error import Refused
from keisei.records.id import WorkflowId
from keisei.records.problem import printable
from keisei.records.progression import Workflow
from keisei.records.workflow import WorkflowState
from keisei.rules import progression as moves
from keisei.rules.canonical import digest
from keisei.rules.progression import Course

Plan = Callable[[Workflow, Course], Course]
"""What an order makes of a workflow. Raises Refused where it cannot be done as things are."""


class Sight(NamedTuple):
    """Where somebody saw a workflow stand when they gave an order; None for what they do not say."""

    state: str | None = None
    """In which state."""
    visit: int | None = None
    """In the how-manieth stay there."""


UNSEEN = Sight()
"""An order that is meant wherever the workflow stands."""


def signal(  # noqa: PLR0913 - an order has this many parts
    office: Office,
    workflow_id: WorkflowId,
    *,
    signal: str,
    reason: str,
    actor: str,
    seen: Sight = UNSEEN,
) -> Workflow:
    """Give a signal in place of its task, which is ended.

    Raises Refused for one that its state does not know, and where it stands elsewhere than it was seen.
    """

    def plan(workflow: Workflow, course: Course) -> Course:
        state = _standing(workflow)
        words = moves.signals_of(state)
        if signal not in words:
            message = f"state `{state.state_id}` knows no signal `{printable(signal)}`"
            raise Refused(message, nearest(signal, words) or f"it knows {', '.join(words) or 'none'}")
        return moves.follow(_active(course), signal, office.store.now(), actor)

    return _ordered(office, workflow_id, plan, reason, actor, seen=seen)


def transition(  # noqa: PLR0913 - an order has this many parts
    office: Office,
    workflow_id: WorkflowId,
    *,
    state: str,
    force: bool,
    reason: str,
    actor: str,
    context: dict[str, Any] | None = None,
    seen: Sight = UNSEEN,
) -> Workflow:
    """Put it into another state, with what it learns on the way.

    Raises Refused for one that no signal leads to from here, unless forced, for one that was entered as often as it may
    be, and where it stands elsewhere than it was seen.
    """

    def plan(workflow: Workflow, course: Course) -> Course:
        target = known_state(workflow.definition, state)
        here = moves.current_state(workflow)
        ways = {each.next_state: each.signal for each in here.transitions} if here is not None else {}
        if target not in ways and not force:
            message = f"no signal leads from `{workflow.record.current_state}` to `{target}`"
            raise Refused(message, f"{', '.join(ways) or 'nothing'} can be reached; --force goes there all the same")
        if moves.is_used_up(workflow, target):
            count = workflow.record.visits.get(target, 0)
            raise Refused(f"state `{target}` was entered {count} times, as often as it may be", "`max_visits` says so")
        learnt = moves.merged(course, context or {}, office.store.now())
        return moves.go_to(_active(learnt), target, office.store.now(), actor, ways.get(target))

    return _ordered(office, workflow_id, plan, reason, actor, seen=seen)


def complete(
    office: Office,
    workflow_id: WorkflowId,
    *,
    reason: str,
    actor: str,
    seen: Sight = UNSEEN,
) -> Workflow:
    """End it where it stands; its task is ended too. Raises Refused where it stands elsewhere than it was seen."""

    def plan(_workflow: Workflow, course: Course) -> Course:
        return moves.finish(course, office.store.now(), actor)

    return _ordered(office, workflow_id, plan, reason, actor, seen=seen)


def unblock(  # noqa: PLR0913 - an order has this many parts
    office: Office,
    workflow_id: WorkflowId,
    *,
    reason: str,
    actor: str,
    status: ApprovalStatus = "resolved",
    seen: Sight = UNSEEN,
) -> Workflow:
    """Ask again in the state it stands in: a new task of the same stay.

    Raises Refused for one that is not blocked, and where it stands elsewhere than it was seen.

    `status` is what becomes of the approval about it.
    """

    def plan(workflow: Workflow, course: Course) -> Course:
        if workflow.awaits != "person":
            hint = f"it awaits {workflow.awaits}"
            raise Refused(f"workflow {workflow_id} is {workflow.record.status}, not blocked", hint)
        _standing(workflow)
        return moves.resume(course, office.store.now(), actor, asks=asks_before(office.store, workflow))

    return _ordered(office, workflow_id, plan, reason, actor, status, seen=seen)


def upgrade(  # noqa: PLR0913 - an order has this many parts
    office: Office,
    workflow_id: WorkflowId,
    *,
    state: str | None,
    reason: str,
    actor: str,
    seen: Sight = UNSEEN,
) -> Workflow:
    """Follow its type's definition as it is now.

    Raises Refused where that has no such state and none is named, and where it stands elsewhere than it was seen.
    """

    def plan(workflow: Workflow, course: Course) -> Course:
        definition = office.registry().workflow(workflow.record.workflow_type)
        here, now = workflow.record.current_state, office.store.now()
        if state is None and moves.state_named(definition, here) is None:
            names = ", ".join(each.state_id for each in definition.states)
            raise Refused(f"the definition has no state `{here}` any more", f"name one with --state: {names}")
        follows = moves.redefined(course, definition, digest(data_of(definition)), now, actor)
        if state is not None and state != here:
            return moves.go_to(_active(follows), known_state(definition, state), now, actor)
        return moves.settle_in(follows, now, actor) if workflow.awaits == "signal" else follows

    return _ordered(office, workflow_id, plan, reason, actor, seen=seen)


def _ordered(  # noqa: PLR0913, PLR0917 - which, what, why, who, what becomes of the approval about it, and seen where
    office: Office,
    workflow_id: WorkflowId,
    plan: Plan,
    reason: str,
    actor: str,
    status: ApprovalStatus = "resolved",
    *,
    seen: Sight,
) -> Workflow:
    """Carry out an order on the workflow as it is; where it moves meanwhile, again. What it is afterwards."""
    store = office.store
    for _ in range(RACES):
        workflow = known(store, workflow_id)
        if workflow.awaits == "nothing":
            raise Refused(f"workflow {workflow_id} is completed: that is final", "create one with another key")
        _as_seen(workflow, seen)
        visits, now = store.visits(workflow.record.workflow_id), store.now()
        course = plan(workflow, Course(workflow=workflow, stay=stay_of(workflow, visits)))
        course, tasks = commissioned(office, course, visits, now)
        if store.move_workflow(move_of(office, workflow, course, tasks, By(actor, reason))):
            _let_go(store, workflow, course.workflow, actor)
            if course.workflow.awaits != "person":
                resolve(store, f"workflow:{workflow.record.workflow_id}", reason, actor, status)
            store.ring()
            return known(store, workflow.record.workflow_id)
    raise Refused(f"workflow {workflow_id} moved under the order {RACES} times", "try again")


def _as_seen(workflow: Workflow, seen: Sight) -> None:
    """Nothing where it stands as whoever orders saw it. Raises Refused where it has moved on since.

    The same word means another thing in another state: what was sent twice, or from an old page, is not obeyed there.
    """
    here = Sight(workflow.record.current_state, workflow.visit)
    if seen.state in (None, here.state) and seen.visit in (None, here.visit):
        return
    message = f"workflow {workflow.record.workflow_id} has moved on: it stands in `{here.state}`, visit {here.visit}"
    raise Refused(message, "look at it again, and order what is meant there")


def _standing(workflow: Workflow) -> WorkflowState:
    state = moves.current_state(workflow)
    if state is None:
        message = f"the definition it follows has no state `{workflow.record.current_state}`"
        raise Refused(message, "`keisei workflow upgrade --state` puts it into one that is there")
    return state


def _active(course: Course) -> Course:
    """One that was blocked goes on by the order that moves it."""
    record = replace(course.workflow.record, status="active", reason=None)
    return replace(course, workflow=replace(course.workflow, record=record))


def _let_go(store: Store, before: Workflow, after: Workflow, actor: str) -> None:
    """A task that nobody waits for any more is ended."""
    if before.task_id is not None and before.task_id != after.task_id:
        with suppress(Refused):  # it has ended by itself
            cancel(store, before.task_id, "its workflow was moved on", actor)
