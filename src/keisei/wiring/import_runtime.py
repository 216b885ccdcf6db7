"""A runtime.db of the original, taken over: what can go on goes on, what cannot is listed with its reason."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.schedule import upsert
from keisei.engine.sensor import read_event
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import Beside
from keisei.records.error import ContractViolation, KeiseiError, OperatorError, WorldFault
from keisei.records.id import ApprovalId, SensorEventId, TaskId
from keisei.records.move import NewEntry
from keisei.records.observation import Observation, SeenQuery
from keisei.records.task import TaskRecord
from keisei.store.foreign import Foreign, Row
from keisei.wiring.compat import Runtime
from keisei.wiring.compat_registry import RuntimeRegistry
from keisei.wiring.fresh import new_id
from keisei.wiring.import_task import json_of, task_of
from keisei.wiring.import_workflow import WAITS, Known, Planned, copy_files, workflow_of

BATCH: Final = 200
NAMES: Final = {"tasks": "task_id", "workflows": "instance_key", "schedules": "name", "sensor_events": "event_id"}
"""What a row of a table is known by."""
STAYS: Final = "attempts, bundles and events stay in the runtime.db, and what they name stays in its artifact folder"


def take_over(  # noqa: PLR0913, PLR0917 - where from, where to, and by whom
    store: Store, runtime: Runtime, registry: RuntimeRegistry, defaults: Defaults, foreign: Foreign, actor: str
) -> dict[str, Any]:
    """Write everything that is new here. What was imported, what was there, what is different, what is left out."""
    transfer = Transfer(store, runtime, registry, defaults, actor)
    transfer.tasks_and_workflows(foreign.rows["tasks"], foreign.rows["workflows"])
    for row in foreign.rows["schedules"]:
        transfer.each("schedules", row, transfer.schedule)
    for row in foreign.rows["sensor_events"]:
        transfer.each("sensor_events", row, transfer.sensor_event)
    told = transfer.told | {"notImported": {**foreign.counts, "reason": STAYS}}
    if any(told["imported"].values()):
        body = {"imported": told["imported"], "left_out": len(told["leftOut"])}
        store.append(NewEntry(kind="runtime_imported", actor=actor, subject=str(foreign.path), body=body))
        store.ring()
    return told


class Transfer:
    """One database on its way in."""

    def __init__(
        self, store: Store, runtime: Runtime, registry: RuntimeRegistry, defaults: Defaults, actor: str
    ) -> None:
        """Nothing is written yet."""
        self._store, self._runtime, self._registry = store, runtime, registry
        self._defaults, self._actor = defaults, actor
        self.told: dict[str, Any] = {
            "imported": dict.fromkeys(NAMES, 0),
            "known": dict.fromkeys(NAMES, 0),
            "notes": [],
            "leftOut": [],
        }

    def each(self, table: str, row: Row, take: Callable[[Row], bool]) -> None:
        """Take one row, which harms no other. True of `take`: it is new here."""
        try:
            self.told["imported" if take(row) else "known"][table] += 1
        except WorldFault:
            raise
        except KeiseiError as error:
            self._say("leftOut", table, row, error.message)

    def tasks_and_workflows(self, tasks: list[Row], workflows: list[Row]) -> None:
        """Tasks first, those of workflows fitted to them; then the workflows that wait for them."""
        taken: dict[str, TaskRecord] = {}
        for row in tasks:
            self._take_task(row, taken)
        known = Known(self._runtime, self._registry, dict(taken), self._actor, self._store.now())
        plans: list[tuple[Row, Planned]] = []
        for row in workflows:
            self._plan_workflow(row, known, taken, plans)
        self._restore([each for each in taken.values() if self._is_new(each)], len(taken))
        for row, plan in plans:
            self.each("workflows", row, partial(self._begin, plan))

    def _take_task(self, row: Row, into: dict[str, TaskRecord]) -> None:
        try:
            task, note = task_of(row, self._registry)
        except KeiseiError as error:
            self._say("leftOut", "tasks", row, error.message)
            return
        into[task.task_id] = task
        if note is not None and self._is_new(task):
            self._say("notes", "tasks", row, note)

    def _is_new(self, task: TaskRecord) -> bool:
        return self._store.task(TaskId(task.task_id)) is None

    def _plan_workflow(
        self, row: Row, known: Known, taken: dict[str, TaskRecord], plans: list[tuple[Row, Planned]]
    ) -> None:
        if isinstance(row["instance_key"], str) and self._store.instance(row["instance_key"]) is not None:
            self.told["known"]["workflows"] += 1
            self._leave_to(row, taken)
            return
        try:
            plan = workflow_of(row, known)
        except KeiseiError as error:
            self._say("leftOut", "workflows", row, error.message)
            return
        if plan.task is not None:
            taken[plan.task.task_id] = plan.task
        plans.append((row, plan))
        for note in plan.notes:
            self._say("notes", "workflows", row, note)

    def _leave_to(self, row: Row, taken: dict[str, TaskRecord]) -> None:
        """Leave out what the original has asked for since its workflow came over: it goes on here by itself."""
        for task in [each for each in taken.values() if each.source.startswith(f"workflow:{row['id']}:")]:
            if task.status in WAITS and self._is_new(task):
                del taken[task.task_id]
                reason = f"its workflow `{row['instance_key']}` goes on here and asks for its own tasks"
                self._say("leftOut", "tasks", {"task_id": task.task_id}, reason)

    def _restore(self, tasks: list[TaskRecord], total: int) -> None:
        """Batch by batch; each blocked task with what tells a person so."""
        new, before = 0, len(self.told["leftOut"])
        for place in range(0, len(tasks), BATCH):
            batch = tasks[place : place + BATCH]
            new += self._restored(batch)
        self.told["imported"]["tasks"] = new
        self.told["known"]["tasks"] = total - new - (len(self.told["leftOut"]) - before)

    def _restored(self, batch: list[TaskRecord]) -> int:
        """How many of them are new. Where the store refuses one, the others enter one by one."""
        approvals = tuple(self._approval(each) for each in batch if each.status == "blocked")
        try:
            return sum(self._store.restore(batch, Beside(approvals=approvals)))
        except ContractViolation as error:
            if len(batch) == 1:
                self._say("leftOut", "tasks", {"task_id": batch[0].task_id}, error.message)
                return 0
            return sum(self._restored([each]) for each in batch)

    def _approval(self, task: TaskRecord) -> ApprovalRecord:
        return ApprovalRecord(
            approval_id=ApprovalId(new_id()),
            kind="task",
            key=f"task:{task.task_id}",
            reason=(task.last_error or "").strip() or "the original has blocked it and says no reason",
            task_id=task.task_id,
            created_at=self._store.now(),
            decided_at=None,
        )

    def _begin(self, plan: Planned, _row: Row) -> bool:
        try:
            copy_files(plan.files, self._runtime.artifacts)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise OperatorError(f"a file it stands on cannot be copied: {why}") from error
        if not self._store.start_workflow(plan.start):
            raise OperatorError("another workflow has its id or its key already")
        return True

    def schedule(self, row: Row) -> bool:
        """One schedule; the task it would queue is looked at now."""
        if isinstance(row["name"], str) and self._store.schedule(row["name"]) is not None:
            return False
        data = {name: row[name] for name in ("schedule_id", "name", "interval_seconds", "next_run_at")}
        data |= {"enabled": bool(row["enabled"]), "task": json_of(row, "task_json")}
        upsert(Office(self._store, lambda: self._registry, self._defaults, new_id), data, self._actor)
        return True

    def sensor_event(self, row: Row) -> bool:
        """One event, kept so that it never fires again; what it has started is among the tasks."""
        data = {name: row[name] for name in ("sensor_id", "event_id", "observed_at", "source_ref", "dedupe_key")}
        payload = json_of(row, "payload_json")
        event = read_event(data | {"payload": payload}, self._store.now(), lambda _sentence: None)
        if self._store.seen(SeenQuery(sensor_id=event.sensor_id, event_id=SensorEventId(event.event_id), limit=1)):
            return False
        task_id = TaskId(row["task_id"]) if isinstance(row["task_id"], str) and row["task_id"] else None
        started = task_id if task_id is not None and self._store.task(task_id) is not None else None
        return self._store.observe(Observation(event=event, task_id=started)).status == "recorded"

    def _say(self, section: str, table: str, row: Mapping[str, Any], reason: str) -> None:
        name = row.get(NAMES[table])
        told = {"table": table, "id": name if name is not None else row.get("id"), "reason": reason}
        self.told[section].append(told)
