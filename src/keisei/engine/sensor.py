"""Sensors: what was observed is recorded once, together with the work it starts, or refused whole with one sentence."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from msgspec.structs import replace

from keisei.contracts.check import build
from keisei.contracts.dialect import translate
from keisei.engine.control import RACES
from keisei.engine.observe import Judge, planned
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.engine.resolve import resolve
from keisei.records.approval import ApprovalStatus
from keisei.records.beside import Beside
from keisei.records.error import AuthorError, ContractViolation, KeiseiError, OperatorError, Refused
from keisei.records.event import EventType
from keisei.records.move import NewEntry, NewEvent
from keisei.records.observation import Observation, Observed, SeenQuery, SensorState
from keisei.records.sensor import SensorEvent

LONGEST: Final = 512
"""Characters of an id or a key; a database finds nothing by longer ones."""

Warn = Callable[[str], None]


def observe(office: Office, data: object, actor: str, warn: Warn = lambda _sentence: None) -> Observed:
    """Record an event with the task and the workflow it proposes, in one transaction; a known one starts nothing.

    `data` is a sensor.event in our form or the original's; `observed_at` is now and `event_id` the dedupe key where
    they are left out, and a proposed task without `source` gets `sensor:<sensor_id>`. An event that is invalid, or
    proposes what could not run, is refused whole with an event that says so, and its corrected form is taken later:
    ContractViolation, OperatorError, AuthorError. `reason` of what comes back says why an event started nothing.
    """
    store = office.store
    try:
        event = read_event(data, store.now(), warn)
    except KeiseiError as error:
        refuse(store, data, error.message, actor)
        raise
    try:
        return _observed(office, event, actor)
    except KeiseiError as error:
        if isinstance(error, ContractViolation | OperatorError | AuthorError):
            if store.seen(SeenQuery(sensor_id=event.sensor_id, event_id=event.event_id, limit=1)):
                return store.observe(Observation(event=event))  # known: what it proposes is not asked again
            refuse(store, data, error.message, actor)
        raise


def read_event(data: object, now: datetime, warn: Warn) -> SensorEvent:
    """The event, in UTC, with what may be left out. Raises ContractViolation, OperatorError."""
    translation = translate("sensor.event", data)
    if translation.notes:
        warn(f"sensor.event: {'; '.join(translation.notes)}")
    filled = _filled(translation.data, now) if isinstance(translation.data, dict) else translation.data
    event: SensorEvent = build("sensor.event", filled)
    for field in ("sensor_id", "dedupe_key", "event_id", "source_ref"):  # an id may be the key, and that is the culprit
        text: str = getattr(event, field)
        if len(text) > LONGEST or not text.isprintable():
            message = f"`{field}` must be one line of at most {LONGEST} printable characters"
            raise OperatorError(message, "shorten it, for example to a digest")
    return _in_utc(event)


def backlog(store: Store) -> int:
    """How many tasks wait."""
    counts = store.counts()
    return counts["pending"] + counts["retryable_failure"]


def held_back(store: Store, most: int) -> str | None:
    """Why nothing more is to be observed for now; None where it may be."""
    waiting = backlog(store)
    return f"{waiting} tasks wait, and {most} are enough" if waiting >= most else None


def refuse(store: Store, data: object, reason: str, actor: str) -> None:
    """Note that an event was refused; nothing of it is kept."""
    told = data if isinstance(data, dict) else {}
    names = {key: _short(told.get(key)) for key in ("sensor_id", "event_id", "dedupe_key")}
    detail = {**names, "reason": reason, "actor": actor}
    store.note([NewEvent(event_type="sensor_event_refused", detail=detail)])


def _short(value: object) -> str | None:
    return value[:LONGEST] if isinstance(value, str) else None


def _filled(data: dict[str, Any], now: datetime) -> dict[str, Any]:
    given = {key: value for key, value in data.items() if value is not None}
    defaults = {"observed_at": now.isoformat(), "event_id": given.get("dedupe_key", "missing")}
    task, sensor = given.get("proposed_task"), given.get("sensor_id")
    if isinstance(task, dict) and task.get("source") is None and isinstance(sensor, str):
        given["proposed_task"] = {**task, "source": f"sensor:{sensor}"}
    return defaults | given


def _in_utc(event: SensorEvent) -> SensorEvent:
    try:
        deadline = event.freshness_deadline and event.freshness_deadline.astimezone(UTC)
        return replace(event, observed_at=event.observed_at.astimezone(UTC), freshness_deadline=deadline)
    except OverflowError as error:
        raise OperatorError("a moment of the event is beyond the years 1 to 9999 in UTC") from error


def _observed(office: Office, event: SensorEvent, actor: str) -> Observed:
    store = office.store
    for _ in range(RACES):
        desk = Judge(store, office.registry(), office.defaults, office.new_id, actor, store.now())
        observation, workflow_id = planned(event, desk)
        done = store.observe(observation)
        if done.status == "raced":
            continue
        if done.status == "recorded":
            store.ring()
            return Observed(
                status="recorded",
                reason=observation.reason,
                task_id=done.task_id,
                workflow_id=done.workflow_id or workflow_id,
            )
        return done
    raise Refused(f"the workflow of event `{event.event_id}` moved {RACES} times meanwhile", "try again")


# --- orders -----------------------------------------------------------------------------------------------------------


def pause(store: Store, name: str, reason: str, actor: str) -> SensorState:
    """Switch a sensor off, or a webhook. Its state then."""

    def off(known: SensorState) -> SensorState:
        return replace(known, paused=True, reason=reason)

    return _ordered(store, name, off, sensor_event("sensor_paused", name, reason=reason), actor)


def resume(store: Store, name: str, reason: str, actor: str, status: ApprovalStatus = "resolved") -> SensorState:
    """Switch it on again, as if it had never failed: it is due at once. Its state then.

    `status` is what becomes of the approval about it.
    """

    def on(known: SensorState) -> SensorState:
        return replace(known, paused=False, reason=None, failures=0, next_run_at=store.now())

    event = sensor_event("operator_ordered", name, order="resume", reason=reason)
    state = _ordered(store, name, on, event, actor)
    resolve(store, f"sensor:{name}", reason, actor, status)
    return state


def sensor_event(kind: EventType, name: str, **detail: object) -> NewEvent:
    """An event that names the sensor."""
    return NewEvent(event_type=kind, detail={"sensor_id": name, **detail})


def _ordered(
    store: Store, name: str, after: Callable[[SensorState], SensorState], event: NewEvent, actor: str
) -> SensorState:
    kind = "sensor_paused" if event.event_type == "sensor_paused" else "sensor_resumed"
    entry = NewEntry(kind=kind, actor=actor, subject=name, body={"reason": event.detail["reason"]})
    for _ in range(RACES):
        known = store.sensor(name) or SensorState(sensor_id=name, next_run_at=store.now())
        state = after(known)
        if store.put_sensor(state, Beside(events=(event,), ledger=(entry,))):
            store.ring()
            return replace(state, version=state.version + 1)
    raise Refused(f"sensor `{name}` changed under the order {RACES} times", "try again")
