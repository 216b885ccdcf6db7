"""Sensing: sensors of skills are run when they are due, each in a thread and a process of its own.

Of many runners one runs a sensor: whoever moves its next moment first. A sensor that hangs holds nothing up.
"""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from keisei.engine.control import ALL, RACES
from keisei.engine.intake import Defaults
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.sensor import held_back, observe, refuse, sensor_event
from keisei.records.approval import ApprovalRecord
from keisei.records.beside import NOTHING, Beside
from keisei.records.error import AuthorError, ContractViolation, KeiseiError, OperatorError, Refused, WorldFault
from keisei.records.id import ApprovalId
from keisei.records.move import NewEntry, NewEvent
from keisei.records.observation import SensorState
from keisei.records.project import ProjectRunner, ProjectSensor
from keisei.rules import sensor as rules
from keisei.rules.sensor import PATIENCE, Said, Unreadable
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.runner import Line
from keisei.wiring.sense import SenseFault, find_sensor, sense
from keisei.wiring.store import Home
from keisei.wiring.switch import Switch

HELD: Final = "held back: "
JOIN_S: Final = 10.0
"""How long the end of one run is waited for when all are stopped; its keeper sees to the rest."""


class Ran(Struct, frozen=True, kw_only=True):
    """What one run of a sensor brought."""

    sensor_id: str
    """Which."""
    recorded: int = 0
    """Events that are new."""
    deduped: int = 0
    """Events that were known."""
    refused: int = 0
    """Events that are none, or propose what cannot run."""
    fault: str | None = None
    """Why the run failed; None where it did not."""


class _Job(NamedTuple):
    switch: Switch
    thread: threading.Thread


class Sensing:
    """The sensors of one project, as one runner runs them."""

    def __init__(
        self,
        home: Home,
        store: Store,
        registry: Callable[[], CatalogRegistry],
        defaults: Defaults,
        tell: Callable[[Line], None],
    ) -> None:
        """Nothing runs before `tick`."""
        self._home, self._store, self._registry, self._defaults, self._tell = home, store, registry, defaults, tell
        self._tables = {name: table for name, table in home.file.sensors.items() if table.enabled}
        self._most = (home.file.runner or ProjectRunner()).sensor_backlog
        self._lock = threading.Lock()
        self._jobs: dict[str, _Job] = {}
        self._stopped = False

    def tick(self) -> None:
        """Start what is due, and return at once. Nothing while all runners are paused, or while the queue is deep."""
        if not self._tables or self._stopped:
            return
        now, states = self._store.now(), {each.sensor_id: each for each in self._store.sensors()}
        due = [
            (name, table)
            for name, table in self._tables.items()
            if name not in self._jobs and rules.is_due(states.get(name), table, now)
        ]
        if not due or any(each.scope == ALL for each in self._store.pauses()):
            return
        reason = held_back(self._store, self._most)
        for name, table in due:
            if reason is not None:
                self._hold_back(states.get(name), name, table, reason, now)
            elif (state := claim(self._store, states.get(name), name, table)) is not None:
                self._start(state, table)

    def stop(self) -> None:
        """End what runs, whole trees, and start nothing more. Safe to say twice."""
        with self._lock:
            self._stopped = True
            jobs = list(self._jobs.values())
        for job in jobs:
            job.switch.pull()
        for job in jobs:
            job.thread.join(JOIN_S)

    def run(self, name: str, actor: str) -> Ran:
        """Run one sensor now, due or not, paused or not; the ledger tells who wanted it.

        Raises Refused while the queue is deep, OperatorError for a skill that brings no sensor.
        """
        table = self._home.file.sensors.get(name, ProjectSensor())
        find_sensor(self._registry().catalog, name, table, self._home.root)
        reason = held_back(self._store, self._most)
        if reason is not None:
            raise Refused(f"sensors are not run now: {reason}", "wait until work is done")
        for _ in range(RACES):
            state = claim(self._store, self._store.sensor(name), name, table, _ordered(name, actor))
            if state is not None:
                return self._carried(state, table, Switch())
        raise Refused(f"sensor `{name}` changed under the order {RACES} times", "try again")

    def _start(self, state: SensorState, table: ProjectSensor) -> None:
        switch = Switch()
        thread = threading.Thread(target=self._work, args=(state, table, switch), name="sensor", daemon=True)
        with self._lock:
            if self._stopped:
                return
            self._jobs[state.sensor_id] = _Job(switch, thread)
        thread.start()

    def _work(self, state: SensorState, table: ProjectSensor, switch: Switch) -> None:
        """One run, in a thread of its own. Whatever it raises, its next moment is set already."""
        try:
            ran = self._carried(state, table, switch)
            if ran.fault is not None:
                self._tell(Line("sensor failed", detail=f"{state.sensor_id}: {ran.fault}"))
        except Exception as error:  # noqa: BLE001 - a thread that dies silently tells nobody
            words = error.message if isinstance(error, KeiseiError) else f"this is a bug in keisei: {error!r}"
            self._tell(Line("trouble", detail=f"sensor {state.sensor_id}: {words}"))
        finally:
            with self._lock:
                self._jobs.pop(state.sensor_id, None)

    def _carried(self, state: SensorState, table: ProjectSensor, switch: Switch) -> Ran:
        """Run it, record what it says, then remember where it stands."""
        began = state.last_run_at or self._store.now()
        try:
            sensor = find_sensor(self._registry().catalog, state.sensor_id, table, self._home.root)
            heard = sense(sensor, state.cursor, began, switch)
            ran = self._taken(state.sensor_id, heard)
        except SenseFault as fault:
            if switch.pulled.is_set():  # we have ended it ourselves: that is no failure, and somebody else may run it
                settle(self._store, state, lambda known: replace(known, next_run_at=self._store.now()), NOTHING)
                return Ran(sensor_id=state.sensor_id, fault=str(fault))
            return self._failed(state, table, str(fault))
        except KeiseiError as error:
            if isinstance(error, WorldFault) and error.retryable:
                raise
            return self._failed(state, table, error.message)
        counts = {"recorded": ran.recorded, "deduped": ran.deduped, "refused": ran.refused}
        event = sensor_event("sensor_ran", state.sensor_id, **counts)
        settle(
            self._store,
            state,
            lambda known: rules.succeeded(known, table, heard.cursor, began),
            Beside(events=(event,)),
        )
        return ran

    def _taken(self, name: str, heard: Said) -> Ran:
        """Every event recorded, known or refused, one by one: a bad one harms no other.

        Raises AuthorError afterwards where a file of the project kept one from being judged. That is no fault of the
        event: the run has failed, its cursor stays, and the event is said again.
        """
        files = self._registry()  # as they are now, for all events of this run
        words: list[str] = []
        broken: AuthorError | None = None
        for data in heard.events:
            try:
                words.append(self._observed(name, data, files))
            except AuthorError as error:
                broken = error
        if broken is not None:
            raise broken
        recorded, deduped, refused = (words.count(each) for each in ("recorded", "deduped", "refused"))
        return Ran(sensor_id=name, recorded=recorded, deduped=deduped, refused=refused)

    def _observed(self, name: str, data: object, files: CatalogRegistry) -> str:
        actor = f"sensor:{name}"
        if not isinstance(data, dict):
            why = data.why if isinstance(data, Unreadable) else "an event is an object"
            refuse(self._store, {"sensor_id": name}, why, actor)
            return "refused"
        own = {**data, "sensor_id": name}  # a sensor speaks for itself alone
        try:
            return observe(Office(self._store, lambda: files, self._defaults, new_id), own, actor).status
        except (ContractViolation, OperatorError):
            return "refused"

    def _failed(self, state: SensorState, table: ProjectSensor, reason: str) -> Ran:
        now = self._store.now()
        after = rules.failed(state, table, reason, now)
        events = [sensor_event("sensor_failed", state.sensor_id, reason=reason, failures=after.failures)]
        beside = Beside(events=tuple(events))
        if after.failures >= PATIENCE and not state.paused:
            beside = _breaking(after, reason, now, events)
        settle(self._store, state, lambda known: rules.failed(known, table, reason, now), beside)
        return Ran(sensor_id=state.sensor_id, fault=reason)

    def _hold_back(
        self, state: SensorState | None, name: str, table: ProjectSensor, reason: str, now: datetime
    ) -> None:
        """Told once for each time the queue is deep; the rest of the time only the next look moves."""
        known = state or SensorState(sensor_id=name, next_run_at=now)
        told = (known.reason or "").startswith(HELD)
        event = sensor_event("sensor_held_back", name, reason=reason)
        beside = NOTHING if told else Beside(events=(event,))
        self._store.put_sensor(rules.held_back(known, table, f"{HELD}{reason}", now), beside)


def claim(
    store: Store, state: SensorState | None, name: str, table: ProjectSensor, beside: Beside = NOTHING
) -> SensorState | None:
    """Speak for one run of a sensor: its state while it runs. None: somebody was quicker."""
    after = rules.claimed(state, name, table, store.now())
    return replace(after, version=after.version + 1) if store.put_sensor(after, beside) else None


def _ordered(name: str, actor: str) -> Beside:
    """What is written where somebody wants a sensor run."""
    event = sensor_event("operator_ordered", name, order="run", actor=actor)
    return Beside(events=(event,), ledger=(NewEntry(kind="sensor_ordered", actor=actor, subject=name, body={}),))


def settle(store: Store, state: SensorState, after: Callable[[SensorState], SensorState], beside: Beside) -> None:
    """Remember what a run has brought; where an operator has changed something meanwhile, beside that."""
    known: SensorState | None = state
    for _ in range(RACES):
        if known is None or store.put_sensor(after(known), beside):
            return
        known = store.sensor(state.sensor_id)


def _breaking(after: SensorState, reason: str, now: datetime, events: list[NewEvent]) -> Beside:
    """The breaker: a person is asked, once."""
    told = f"it failed {after.failures} times in a row: {reason}"
    approval = ApprovalRecord(
        approval_id=ApprovalId(new_id()),
        kind="sensor",
        key=f"sensor:{after.sensor_id}",
        reason=f"sensor `{after.sensor_id}` is paused: {told}",
        detail={"sensor_id": after.sensor_id, "failures": after.failures},
        created_at=now,
        decided_at=None,
    )
    paused = sensor_event("sensor_paused", after.sensor_id, reason=told)
    entry = NewEntry(kind="sensor_paused", actor="engine:sensor", subject=after.sensor_id, body={"reason": told})
    return Beside(events=(*events, paused), approvals=(approval,), ledger=(entry,))
