"""Control: what an operator orders. Each order is a move with its event and its ledger row, or a sentence why not."""

import hashlib
from datetime import datetime
from typing import Protocol

from msgspec.structs import replace

from keisei.engine.ports import Bell, Controls, Leases, Queue, View
from keisei.records.beside import Beside
from keisei.records.error import OperatorError, Refused
from keisei.records.event import EventType
from keisei.records.id import RunnerId, TaskId
from keisei.records.move import CancelOrder, NewEntry, NewEvent, NewTask, PauseOrder, TaskMove
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TERMINAL, TaskRecord
from keisei.rules import task as moves

ALL = "all"
"""The scope of a pause that holds for every runner."""
AGAIN = "again:"
"""How the key of a task begins that is queued in place of one that is over; that one's id and a number follow."""
LONG = 100
"""Characters of an id that stands in a key as it is."""
MOST_AGAIN = 1000
"""Heirs of one task that are looked past."""
RACES = 5
"""How often an order is tried again when the task moves under it."""


class Desk(Queue, View, Controls, Leases, Bell, Protocol):
    """What orders need of the store."""


def cancel(desk: Desk, task_id: TaskId, reason: str, actor: str) -> TaskRecord:
    """End a task: at once where nobody runs it, at the next heartbeat where somebody does. The task as it is then."""
    for _ in range(RACES):
        task = _known(desk, task_id)
        if task.status == "running":
            if desk.request_cancel(CancelOrder(task_id=task_id, reason=reason, actor=actor)):
                desk.ring()
                return _known(desk, task_id)
            continue
        move = canceling(task, reason, actor, desk.now())
        if desk.move(move):
            return move.task
    raise _restless(task_id)


def canceling(task: TaskRecord, reason: str, actor: str, now: datetime) -> TaskMove:
    """The move that ends a task nobody runs. Raises Refused where there is none."""
    if task.status in TERMINAL:
        raise Refused(f"task {task.task_id} is {task.status}: that is final")
    after = moves.cancel(task, canceled_outcome(reason), reason, now)
    events = (_event("task_operator_canceled", task, reason=reason, previous_status=task.status),)
    return TaskMove(task=after, was=task.status, events=events, ledger=(_entry("canceled", task, reason, actor),))


def free(desk: Desk, task_id: TaskId, reason: str, actor: str, tries: int = moves.ONE_MORE) -> TaskRecord:
    """Make a blocked task, or one that waits for its retry, claimable now, with at least so many tries."""
    for _ in range(RACES):
        move = freeing(_known(desk, task_id), reason, actor, desk.now(), tries)
        if desk.move(move):
            desk.ring()
            return move.task
    raise _restless(task_id)


def freeing(task: TaskRecord, reason: str, actor: str, now: datetime, tries: int = moves.ONE_MORE) -> TaskMove:
    """The move that makes a task claimable now. Raises Refused where there is none."""
    if task.status in TERMINAL:
        raise Refused(f"task {task.task_id} is {task.status}: that is final", "queue it again as a new task")
    if task.status not in ("blocked", "retryable_failure"):
        raise Refused(f"task {task.task_id} is {task.status}: there is nothing to free")
    after = moves.free(task, now, tries)
    events = (_event("operator_ordered", task, order="free", reason=reason, previous_status=task.status),)
    return TaskMove(task=after, was=task.status, events=events, ledger=(_entry("freed", task, reason, actor),))


def again(desk: Desk, task: TaskRecord, task_id: TaskId, reason: str, actor: str) -> TaskRecord:
    """A task that is over, queued once more as a new one; what is final stays as it is.

    Raises Refused while an heir of an earlier order is not over. Its key is its number among them, so that of two who
    order at the same moment one queues it and the other is refused.
    """
    depth, heirs = desk.depth(task.task_id), _heirs(desk, task)
    for number in range(len(heirs) + 1, len(heirs) + MOST_AGAIN):
        heir = next((each for each in heirs if each.status not in TERMINAL), None)
        if heir is not None:
            hint = "follow that one; once it is over this one can be tried again"
            raise Refused(f"task {heir.task_id} tries {task.task_id} again already: it is {heir.status}", hint)
        fresh = renewed(task, task_id, desk.now(), f"{_again(task)}{number}")
        new = NewTask(task=fresh, breaker_id=fresh.requested_adapter_id, depth=depth)
        done = desk.requeue(new, _requeued(task, task_id, reason, actor))
        if done.created:
            desk.ring()
            return fresh
        heirs = [each for each in (desk.task(done.task_id),) if each is not None]
    raise Refused(f"task {task.task_id} was tried again very often", "try the newest of its heirs again")


def _heirs(desk: Desk, task: TaskRecord) -> list[TaskRecord]:
    """Those that were queued by `again` in place of a task."""
    return [each for each in desk.children(task.task_id) if (each.idempotency_key or "").startswith(_again(task))]


def _again(task: TaskRecord) -> str:
    """How the keys of a task's heirs begin; a long id is told by its digest."""
    own = task.task_id
    return f"{AGAIN}{own if len(own) <= LONG else hashlib.sha256(own.encode('utf-8', 'replace')).hexdigest()}:"


def _requeued(task: TaskRecord, heir: TaskId, reason: str, actor: str) -> Beside:
    event = _event("operator_ordered", task, order="retry", reason=reason, previous_status=task.status, heir=heir)
    entry = _entry("requeued", task, reason, actor)
    return Beside(events=(event,), ledger=(replace(entry, body={**entry.body, "heir": heir}),))


def renewed(task: TaskRecord, task_id: TaskId, now: datetime, key: str | None = None) -> TaskRecord:
    """A new task that asks for the same, below the one that is over."""
    return replace(
        task,
        task_id=task_id,
        status="pending",
        attempt_count=0,
        available_at=now,
        created_at=now,
        updated_at=now,
        started_at=None,
        finished_at=None,
        outcome=None,
        last_error=None,
        parent_task_id=task.task_id,
        idempotency_key=key,
        lease=None,
    )


def pause(desk: Desk, reason: str, actor: str, runner_id: RunnerId | None = None) -> None:
    """No runner, or not this one, takes anything new. What runs goes on."""
    desk.pause(PauseOrder(scope=_scope(desk, runner_id), paused=True, reason=reason, actor=actor))


def resume(desk: Desk, reason: str, actor: str, runner_id: RunnerId | None = None) -> None:
    """Work is taken again."""
    desk.pause(PauseOrder(scope=_scope(desk, runner_id), paused=False, reason=reason, actor=actor))
    desk.ring()


def stop_everything(desk: Desk, reason: str, actor: str) -> tuple[TaskId, ...]:
    """Emergency stop: nothing new is taken, and everything that runs is ended. The tasks that ran."""
    desk.pause(PauseOrder(scope=ALL, paused=True, reason=reason, actor=actor))
    asked = desk.request_cancel(CancelOrder(task_id=None, reason=reason, actor=actor))
    desk.ring()
    return asked


def drain(desk: Desk, runner_id: RunnerId, actor: str) -> None:
    """A runner finishes what it has and leaves. Raises OperatorError for one that is not there."""
    event = NewEvent(event_type="operator_ordered", detail={"order": "drain", "runner_id": runner_id, "actor": actor})
    entry = NewEntry(kind="runner_drained", actor=actor, subject=runner_id, body={})
    if not desk.drain(runner_id, Beside(events=(event,), ledger=(entry,))):
        raise OperatorError(f"no active runner has the id `{runner_id}`", "`keisei runner list` shows all")
    desk.ring()


def canceled_outcome(reason: str) -> TaskOutcome:
    """What a cancelled task becomes."""
    return TaskOutcome(status="operator_canceled", machine_status="canceled", operator_summary=reason)


def _scope(desk: Desk, runner_id: RunnerId | None) -> str:
    if runner_id is None:
        return ALL
    known = {each.runner_id for each in desk.runners()} | {each.scope for each in desk.pauses()}
    if runner_id not in known:
        raise OperatorError(f"no active runner has the id `{runner_id}`", "`keisei runner list` shows all")
    return runner_id


def _known(desk: Desk, task_id: TaskId) -> TaskRecord:
    task = desk.task(task_id)
    if task is None:
        raise OperatorError(f"no task has the id `{task_id}`", "`keisei task list` shows all")
    return task


def _event(kind: EventType, task: TaskRecord, **detail: str) -> NewEvent:
    return NewEvent(event_type=kind, task_id=task.task_id, detail=detail)


def _entry(verb: str, task: TaskRecord, reason: str, actor: str) -> NewEntry:
    body = {"reason": reason, "previous_status": task.status}
    return NewEntry(kind=f"task_{verb}", actor=actor, subject=task.task_id, body=body)


def _restless(task_id: TaskId) -> Refused:
    return Refused(f"task {task_id} moved under the order {RACES} times", "try again")
