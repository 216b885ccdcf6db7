"""Sensors: what begins work when something happens, and everything they have observed."""

from typing import Annotated, Final, Literal
from urllib.parse import quote

from msgspec import Meta, Struct

from keisei.console.asking import Limit, Reason
from keisei.console.cursor import Place
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.slow import slowly
from keisei.console.visitor import Visitor
from keisei.engine import sensor as orders
from keisei.engine.sensor import held_back
from keisei.records.error import OperatorError
from keisei.records.event import RuntimeEvent
from keisei.records.form import JsonObject
from keisei.records.move import EventQuery
from keisei.records.observation import Seen, SeenQuery
from keisei.records.project import ProjectRunner
from keisei.wiring.registry import defaults_of
from keisei.wiring.sensor import Ran, Sensing
from keisei.wiring.sensor_list import WEBHOOK, SensorLine, known_sensor, secret_fault, sensors

TROUBLE: Final = ("sensor_event_refused", "sensor_failed")
LOOKED_AT: Final = 200
SensorKey = Annotated[str, Meta(min_length=1, max_length=512)]


class SensorsAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class WebhookLine(Struct, frozen=True, kw_only=True):
    """How a webhook is reached."""

    name: str
    """Its name."""
    kind: Literal["github", "standard"]
    """Who signs."""
    address: str
    """Where it is delivered to on this console."""
    fault: str | None
    """Why it cannot be listened to with the secret this console has; None where it can."""
    secret_env: str
    """The variable that holds the secret."""
    events: tuple[str, ...]
    """Only these kinds of event; empty means all."""


class SensorRow(Struct, frozen=True, kw_only=True):
    """A sensor in a list."""

    line: SensorLine
    """What is known of it."""
    webhook: WebhookLine | None
    """How it is reached, where it is a webhook."""


class SensorsPage(Struct, frozen=True, kw_only=True):
    """Every sensor."""

    items: tuple[SensorRow, ...]
    """By name."""
    held_back: str | None
    """Why nothing is observed for now."""


class SensorAsk(Struct, frozen=True, kw_only=True):
    """Which sensor, and which of its events."""

    sensor_id: SensorKey
    """Its name."""
    after: Place | None = None
    """Where to go on: the `next` of the answer before."""
    limit: Limit = 50
    """At most so many."""


class SensorPage(Struct, frozen=True, kw_only=True):
    """One sensor."""

    row: SensorRow
    """What is known of it."""
    cursor: JsonObject | None
    """What it asked to be given the next time."""
    items: tuple[Seen, ...]
    """What it has observed, newest first."""
    next: str | None
    """Where older ones begin."""
    trouble: tuple[RuntimeEvent, ...]
    """Runs that failed and events that were refused lately, newest first."""
    held_back: str | None
    """Why nothing is observed for now."""


class SensorOrder(Struct, frozen=True, kw_only=True):
    """What is said to a sensor."""

    sensor_id: SensorKey
    """Which."""
    reason: Reason = ""
    """Why."""


class SensorRun(Struct, frozen=True, kw_only=True):
    """A sensor is run now."""

    sensor_id: SensorKey
    """Which: the name of its skill."""


class SensorDone(Struct, frozen=True, kw_only=True):
    """A sensor after an order."""

    sensor_id: str
    """Which."""
    paused: bool
    """Whether it is switched off."""


def show_sensors(premises: Premises, _asks: SensorsAsk) -> SensorsPage:
    """Every sensor: those of skills, webhooks with their address, and whoever has observed something."""
    found = sensors(premises.home, premises.store, premises.catalog())
    return SensorsPage(items=tuple(_row(premises, each) for each in found), held_back=_held_back(premises))


def show_sensor(premises: Premises, asks: SensorAsk) -> SensorPage:
    """One sensor: how it is run, what is remembered of it, what it has observed and what came of that."""
    store, line = premises.store, _known(premises, asks.sensor_id)
    state = store.sensor(asks.sensor_id)
    told = store.find_seen(SeenQuery(sensor_id=line.sensor_id, before=asks.after, limit=asks.limit))
    return SensorPage(
        row=_row(premises, line),
        cursor=None if state is None else state.cursor,
        items=told.events,
        next=None if told.next is None else str(told.next),
        trouble=_trouble(premises, line.sensor_id),
        held_back=_held_back(premises),
    )


def run(premises: Premises, asks: SensorRun, visitor: Visitor) -> Ran:
    """Run the sensor of a skill once, now, and take what it says."""
    name, home = _known(premises, asks.sensor_id).sensor_id, premises.home
    with slowly(premises, f"sensor `{name}`"):
        sensing = Sensing(home, premises.store, premises.registry, defaults_of(home), lambda _line: None)
        return sensing.run(name, visitor.actor)


def pause(premises: Premises, asks: SensorOrder, visitor: Visitor) -> SensorDone:
    """Run it no more; a webhook is told to come again."""
    name = _known(premises, asks.sensor_id).sensor_id
    state = orders.pause(premises.store, name, asks.reason or "paused by an operator", visitor.actor)
    return SensorDone(sensor_id=state.sensor_id, paused=state.paused)


def resume(premises: Premises, asks: SensorOrder, visitor: Visitor) -> SensorDone:
    """Run it again, as if it had never failed."""
    name = _known(premises, asks.sensor_id).sensor_id
    state = orders.resume(premises.store, name, asks.reason or "resumed by an operator", visitor.actor)
    return SensorDone(sensor_id=state.sensor_id, paused=state.paused)


def _known(premises: Premises, name: str) -> SensorLine:
    try:
        return known_sensor(premises.home, premises.store, premises.catalog(), name)
    except OperatorError as error:
        raise Missing(error.message, "/sensors shows all") from error


def _row(premises: Premises, line: SensorLine) -> SensorRow:
    name = line.sensor_id.removeprefix(WEBHOOK)
    table = premises.home.file.webhooks.get(name) if line.kind == "webhook" else None
    if table is None:
        return SensorRow(line=line, webhook=None)
    webhook = WebhookLine(
        name=name,
        kind=table.kind,
        address=f"/hooks/{quote(name, safe='')}",
        fault=secret_fault(table),
        secret_env=table.secret_env,
        events=table.events,
    )
    return SensorRow(line=line, webhook=webhook)


def _trouble(premises: Premises, name: str) -> tuple[RuntimeEvent, ...]:
    queries = [EventQuery(event_type=kind, newest=True, limit=LOOKED_AT) for kind in TROUBLE]
    found = [each for query in queries for each in premises.store.events(query) if each.detail.get("sensor_id") == name]
    return tuple(sorted(found, key=lambda each: each.id, reverse=True)[:20])


def _held_back(premises: Premises) -> str | None:
    return held_back(premises.store, (premises.home.file.runner or ProjectRunner()).sensor_backlog)


def _after(done: Ran | SensorDone) -> str:
    return f"/sensors/{quote(done.sensor_id, safe='')}"


PAGES: Final[tuple[Page, ...]] = (
    page("/sensors", "sensors.html", show_sensors),
    page("/sensors/{sensor_id:path}", "sensor.html", show_sensor),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/sensors/{sensor_id:path}/run", run, _after),
    order("/sensors/{sensor_id:path}/pause", pause, _after),
    order("/sensors/{sensor_id:path}/resume", resume, _after),
)
