"""Sensors: what was observed, once each, and what is remembered of who observes."""

from typing import Any

import msgspec

from keisei.records.beside import Beside
from keisei.records.error import ContractViolation, KeiseiError
from keisei.records.form import JsonObject
from keisei.records.id import TaskId, WorkflowId
from keisei.records.move import NewEvent
from keisei.records.observation import Observation, Observed, Seen, SeenPage, SeenQuery, SensorState
from keisei.records.sensor import SensorEvent
from keisei.store.ask import bounded, known, whole
from keisei.store.clock import maybe_microseconds, maybe_moment, microseconds, moment
from keisei.store.document import document, number, opened
from keisei.store.queued import real_id, real_ids
from keisei.store.reader import Reader
from keisei.store.row import Row, maybe_name, maybe_text, name
from keisei.store.work import Work, write_beside
from keisei.store.workflow import move_workflow, start_workflow

_INSERT = """
INSERT INTO sensor_events (sensor_id, event_id, dedupe_key, status, reason, workflow_id, recorded_at, record)
VALUES (:sensor_id, :event_id, :dedupe_key, :status, :reason, :workflow_id, :now_us, :record)
ON CONFLICT DO NOTHING RETURNING seq
"""
_TASK = "UPDATE sensor_events SET task_id = :task_id WHERE seq = :seq"
_REPEATED = {
    key: f"""
UPDATE sensor_events SET repeats = repeats + 1, repeated_at = :now_us
WHERE sensor_id = :sensor_id AND {key} = :{key} RETURNING task_id, workflow_id
"""  # noqa: S608 - one of two names
    for key in ("dedupe_key", "event_id")
}
"""By which key an event can be known; the sensor's own key goes first."""
_SEEN = """
SELECT record, status, reason, task_id, workflow_id, repeats, repeated_at, recorded_at, seq FROM sensor_events
"""

_FIELDS = "sensor_id, cursor, next_run_at, last_run_at, failures, reason, paused, version"
_MAKE = f"""
INSERT INTO sensors ({_FIELDS})
VALUES (:sensor_id, :cursor, :next_run_at, :last_run_at, :failures, :reason, :paused, 1)
ON CONFLICT DO NOTHING RETURNING 1
"""  # noqa: S608 - constants
_CHANGE = """
UPDATE sensors SET cursor = :cursor, next_run_at = :next_run_at, last_run_at = :last_run_at, failures = :failures,
    reason = :reason, paused = :paused, version = version + 1
WHERE sensor_id = :sensor_id AND version = :was RETURNING 1
"""
_SENSORS = f"SELECT {_FIELDS} FROM sensors"  # noqa: S608 - constants
_SENSOR = f"{_SENSORS} WHERE sensor_id = :sensor_id"

_event = msgspec.json.Decoder(SensorEvent).decode
_cursor = msgspec.json.Decoder(JsonObject).decode


class Raced(KeiseiError):
    """The workflow that an event starts or wakes has moved meanwhile. Raised to take back what was written."""


def observe(work: Work, observation: Observation) -> Observed:
    """Record an event with everything it starts, or count a repeat. Raises Raced: nothing may stay, ask again."""
    values = _event_values(observation)
    found = work.run(_INSERT, {**values, "now_us": work.now_us})
    if not found:
        return _repeated(work, values)
    _move(work, observation)
    real = real_ids(observation.beside.tasks, write_beside(work, observation.beside))
    task_id = real_id(observation.task_id, real)
    if task_id is not None:
        work.run(_TASK, {"task_id": name(task_id), "seq": found[0][0]})
    return Observed(status="recorded", task_id=task_id, workflow_id=values["workflow_id"])


def put_sensor(work: Work, state: SensorState, beside: Beside) -> bool:
    """Remember what is known of a sensor. False: it has another version."""
    values = _state_values(state)
    done = work.run(_CHANGE, {**values, "was": whole(state.version)}) if state.version else work.run(_MAKE, values)
    if done:
        write_beside(work, beside)
    return bool(done)


def read_seen(reader: Reader, query: SeenQuery) -> list[Seen]:
    """Events, newest first. A row that cannot be read is left out."""
    return list(find_seen(reader, query).events)


def find_seen(reader: Reader, query: SeenQuery) -> SeenPage:
    """A page of events, newest first, and where the next one begins. A row that cannot be read is left out."""
    limit = bounded(query.limit)
    asked: dict[str, Any] = {"limit": limit + 1}
    narrow = ["TRUE"]
    for key in ("sensor_id", "event_id"):
        value = getattr(query, key)
        if value is not None:
            narrow.append(f"{key} = :{key}")
            asked[key] = known(value)
    if query.before is not None:
        narrow.append("seq < :before")
        asked["before"] = whole(query.before)
    rows = reader.read(f"{_SEEN} WHERE {' AND '.join(narrow)} ORDER BY seq DESC LIMIT :limit", asked)
    more = 0 < limit < len(rows)
    events = tuple(seen for row in rows[:limit] if (seen := _seen(row)))
    return SeenPage(events=events, next=rows[limit - 1][-1] if more else None)


def read_sensor(reader: Reader, sensor_id: str) -> SensorState | None:
    """What is remembered of a sensor."""
    return next(map(_state, reader.read(_SENSOR, {"sensor_id": known(sensor_id)})), None)


def read_sensors(reader: Reader) -> list[SensorState]:
    """All that are remembered, by id. Sorted here: databases sort text each in their own way."""
    return sorted(map(_state, reader.read(_SENSORS, {})), key=lambda state: state.sensor_id)


def _move(work: Work, observation: Observation) -> None:
    started = observation.start is None or start_workflow(work, observation.start)
    if not (started and (observation.wake is None or move_workflow(work, observation.wake))):
        raise Raced("the workflow of a sensor event has moved meanwhile", "ask again")


def _repeated(work: Work, values: dict[str, Any]) -> Observed:
    for key, statement in _REPEATED.items():
        found = work.run(statement, {**values, "now_us": work.now_us})
        if found:
            detail = {each: values[each] for each in ("sensor_id", "event_id", "dedupe_key")} | {"reason": key}
            task_id, workflow_id = found[0]
            work.add_events([NewEvent(event_type="sensor_event_deduped", task_id=task_id, detail=detail)])
            return Observed(status="deduped", reason=key, task_id=task_id, workflow_id=workflow_id)
    raise Raced("the earlier sensor event went away meanwhile", "ask again")


def _event_values(observation: Observation) -> dict[str, Any]:
    event = observation.event
    written = document("sensor.event", event, _event)
    return {
        "sensor_id": name(event.sensor_id),
        "event_id": name(event.event_id),
        "dedupe_key": name(event.dedupe_key),
        "status": observation.status,
        "reason": maybe_text(observation.reason),
        "workflow_id": maybe_name(_workflow_id(observation)),
        "record": written,
    }


def _workflow_id(observation: Observation) -> WorkflowId | None:
    move = observation.start or observation.wake
    return None if move is None else move.workflow.record.workflow_id


def _state_values(state: SensorState) -> dict[str, Any]:
    if not state.sensor_id:
        raise ContractViolation("sensor", ["a sensor has an id"])
    return {
        "sensor_id": name(state.sensor_id),
        "cursor": None if state.cursor is None else document("sensor", state.cursor, _cursor),
        "next_run_at": microseconds(state.next_run_at),
        "last_run_at": maybe_microseconds(state.last_run_at),
        "failures": number("sensor", state.failures),
        "reason": maybe_text(state.reason),
        "paused": int(state.paused),
    }


def _seen(row: Row) -> Seen | None:
    event, _ = opened(row[0], _event)
    if event is None:
        return None
    return Seen(
        event=event,
        status=row[1],
        reason=row[2],
        task_id=None if row[3] is None else TaskId(row[3]),
        workflow_id=None if row[4] is None else WorkflowId(row[4]),
        repeats=row[5],
        repeated_at=maybe_moment(row[6]),
        recorded_at=moment(row[7]),
    )


def _state(row: Row) -> SensorState:
    """A cursor that cannot be read is none: the sensor begins anew, and the reason says so."""
    cursor, fault = (None, None) if row[1] is None else opened(row[1], _cursor)
    return SensorState(
        sensor_id=row[0],
        cursor=cursor,
        next_run_at=moment(row[2]),
        last_run_at=maybe_moment(row[3]),
        failures=row[4],
        reason=f"its cursor cannot be read: {fault}" if fault else row[5],
        paused=bool(row[6]),
        version=row[7],
    )
