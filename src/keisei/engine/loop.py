"""Loop: work that goes round in circles is paused, whatever it says of itself, and a person is asked."""

from collections.abc import Callable
from datetime import datetime

from keisei.engine.approval import ask
from keisei.engine.ports import Store
from keisei.engine.schedule import pause
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.error import Refused
from keisei.records.event import RuntimeEvent
from keisei.records.id import ApprovalId
from keisei.records.move import EventQuery, NewEntry, NewEvent, PauseOrder
from keisei.records.project import ProjectApprovals
from keisei.records.task import TaskRecord
from keisei.rules.loop import FINISHED, HELD, Lineage, Run, begins_by_itself, lineage_of, outcome_hash

ACTOR = "engine:loop"
"""Who pauses, for the ledger."""
LOOK_BACK = 1000
"""Ends that a runner looks at when it starts; and at once, later."""
LINEAGES = 10_000
"""Lineages that are remembered; the one that was quiet for longest is forgotten first."""
FEWEST = 2
"""One end is like no other."""
SUMMARY = 300
"""Characters of the outcome that a reason quotes."""


class Detector:
    """Looks at what ends. It remembers where it was; after a restart it looks back."""

    def __init__(self, after: int, policy: ProjectApprovals = ProjectApprovals()) -> None:  # noqa: B008 - frozen
        """`after` identical ends in a row are a loop, two at least; 0 looks at nothing."""
        self._after, self._policy = after and max(after, FEWEST), policy
        self._cursor: int | None = None
        self._runs: dict[str, Run] = {}

    def look(self, store: Store, new_id: Callable[[], str]) -> int:
        """Look at what has ended since the last time. How many loops were paused."""
        ends = self._ends(store) if self._after else []
        return sum(self._looked(store, each, new_id) for each in ends)

    def _ends(self, store: Store) -> list[RuntimeEvent]:
        start = self._cursor is None
        query = EventQuery(after=self._cursor or 0, event_type="task_finished", newest=start, limit=LOOK_BACK)
        events = store.events(query)
        self._cursor = events[-1].id if events else self._cursor or 0
        return events

    def _looked(self, store: Store, event: RuntimeEvent, new_id: Callable[[], str]) -> int:
        if event.task_id is None or event.detail.get("status") not in FINISHED:
            return 0
        task = store.task(event.task_id)
        if task is None or not _is_watched(store, task):
            return 0
        lineage = lineage_of(task)
        run = self._run(lineage.scope)
        run.add(outcome_hash(task), event.created_at)
        if not run.is_loop() or _is_clockwork(store, task):
            return 0
        if not run.is_loop(_decided_at(store, lineage.scope)):
            return 0
        del self._runs[lineage.scope]
        return _stop(store, lineage, task, self._after, self._policy, new_id)

    def _run(self, scope: str) -> Run:
        """The run of a lineage, moved to the end of what is remembered."""
        run = self._runs.pop(scope, None) or Run(self._after)
        self._runs[scope] = run
        if len(self._runs) > LINEAGES:
            del self._runs[next(iter(self._runs))]
        return run


def paused_by_loop(store: Store, task: TaskRecord) -> str | None:
    """Why a task is not run: its lineage goes round in circles. None where it does not."""
    if not _is_watched(store, task):
        return None
    scope = lineage_of(task).scope
    reason = next((each.reason for each in store.pauses() if each.scope == scope), None)
    return None if reason is None else f"{HELD}: {reason}"


def _is_watched(store: Store, task: TaskRecord) -> bool:
    return begins_by_itself(task, lambda: store.depth(task.task_id))


def _is_clockwork(store: Store, task: TaskRecord) -> bool:
    """A plain program on a schedule is meant to do the same every time."""
    attempts = store.attempts(task.task_id) if task.schedule_id is not None else []
    return bool(attempts) and attempts[-1].adapter_kind == "script"


def _decided_at(store: Store, scope: str) -> datetime | None:
    """When a person last looked at this lineage: what ended before that is settled."""
    query = ApprovalQuery(statuses=("approved", "rejected", "resolved", "expired"), key=scope)
    return max((each.decided_at for each in store.approvals(query) if each.decided_at is not None), default=None)


def _stop(  # noqa: PLR0913, PLR0917 - what was found, and how a person is asked
    store: Store,
    lineage: Lineage,
    task: TaskRecord,
    after: int,
    policy: ProjectApprovals,
    new_id: Callable[[], str],
) -> int:
    """Pause the lineage and its schedule, then ask. Whoever comes second finds it done."""
    said = task.outcome.operator_summary if task.outcome is not None else task.last_error or ""
    reason = f"{after} tasks in a row ended alike ({task.status}): {said[:SUMMARY]}"
    if all(each.scope != lineage.scope for each in store.pauses()):
        store.pause(PauseOrder(scope=lineage.scope, paused=True, reason=reason, actor=ACTOR))
    _switch_off(store, task, reason)
    approval = _approval(store, lineage, task, reason, ApprovalId(new_id()))
    if not ask(store, approval, policy):
        return 0
    detail = {"scope": lineage.scope, "count": after, "approval_id": approval.approval_id, "status": task.status}
    event = NewEvent(event_type="loop_detected", task_id=task.task_id, detail=detail)
    entry = NewEntry(kind="loop_detected", actor=ACTOR, subject=task.task_id, body={**detail, "reason": reason})
    store.ask(Beside(events=(event,), ledger=(entry,)))
    return 1


def _switch_off(store: Store, task: TaskRecord, reason: str) -> None:
    schedule = store.schedule(task.schedule_id) if task.schedule_id is not None else None
    if schedule is None or schedule.record is None or not schedule.record.enabled:
        return
    try:
        pause(store, schedule.schedule_id, f"it feeds a loop: {reason}", ACTOR)
    except Refused:
        return  # it moves all the time; its tasks are held all the same


def _approval(store: Store, lineage: Lineage, task: TaskRecord, reason: str, approval_id: ApprovalId) -> ApprovalRecord:
    attempts = store.attempts(task.task_id)
    return ApprovalRecord(
        approval_id=approval_id,
        kind="loop",
        key=lineage.scope,
        reason=reason,
        task_id=task.task_id,
        attempt_id=attempts[-1].attempt_id if attempts else None,
        schedule_id=task.schedule_id,
        detail={"task_type": lineage.task_type, "source": lineage.source, "subject": lineage.subject},
        evidence=("last-message.txt", "result.json") if attempts else (),
        created_at=store.now(),
        decided_at=None,
    )
