"""`keisei sensor`: what begins work when something happens."""

import signal
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, Desk, actor, desk, fields, first_line, grid, limit_option, reason_option, stamp
from keisei.cli.intent import parsed_intents, read_text
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, open_catalog, say
from keisei.records.error import OperatorError, Refused
from keisei.records.problem import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from keisei.records.observation import Seen, SensorState
    from keisei.wiring.sensor import Ran, Sensing
    from keisei.wiring.sensor_list import SensorLine
    from keisei.wiring.webhook import WebhookServer

FAILED = 2
"""The exit code of a run that failed."""


@click.group("sensor", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Sensors: programs of skills and signed webhooks that begin work when something happens."""


@group.command("list")
@kit_root_option
@json_option
def list_sensors(kit_root: Path | None, as_json: bool) -> int:
    """Every sensor: those of skills, webhooks, and whoever has observed something."""
    with desk() as opened:
        found = _sensors(opened, kit_root)
    if as_json:
        emit_json(found)
        return 0
    rows = [
        (each["sensor_id"], each["kind"], each["state"], each["every"] or "-", each["last"] or "-", each["note"] or "-")
        for each in found
    ]
    grid(("sensor", "kind", "state", "every", "last run", "note"), rows)
    return 0


def _sensors(opened: Desk, kit_root: Path | None) -> list[dict[str, Any]]:
    """What is known of each, by name."""
    from keisei.wiring.sensor_list import sensors

    return [_told(each) for each in sensors(opened.home, opened.store, open_catalog(kit_root))]


def _told(line: "SensorLine") -> dict[str, Any]:
    return {
        "sensor_id": line.sensor_id,
        "kind": line.kind,
        "state": line.state,
        "last": None if line.last_run_at is None else stamp(line.last_run_at),
        "failures": line.failures,
        "note": None if line.note is None else first_line(line.note),
        "every": None if line.every_s is None else f"{line.every_s:g}s",
    }


@group.command("show")
@click.argument("name", type=WORDS)
@limit_option
@kit_root_option
@json_option
def show(name: str, limit: int, kit_root: Path | None, as_json: bool) -> int:
    """One sensor: how it is run, what is remembered of it, what it has observed."""
    from msgspec import to_builtins

    from keisei.records.observation import SeenQuery

    with desk() as opened:
        line = _known(opened, name, kit_root)
        state = opened.store.sensor(name)
        seen = opened.store.seen(SeenQuery(sensor_id=name, limit=limit))
    told = line | {"remembered": None if state is None else to_builtins(state)}
    if as_json:
        emit_json({**told, "events": [_seen_data(each) for each in seen]})
        return 0
    fields(told)
    for each in seen:
        click.echo(printable(" ".join(str(cell) for cell in _seen_row(each)[1:])))
    return 0


def _known(opened: Desk, name: str, kit_root: Path | None) -> dict[str, Any]:
    from keisei.wiring.sensor_list import known_sensor

    return _told(known_sensor(opened.home, opened.store, open_catalog(kit_root), name))


@group.command("run")
@click.argument("name", type=WORDS)
@kit_root_option
@json_option
def run(name: str, kit_root: Path | None, as_json: bool) -> int:
    """Run the sensor of a skill once, now, and take what it says. Exits 2 where the run fails."""
    from msgspec import to_builtins

    with desk() as opened:
        ran = _sensing(opened, kit_root).run(name, actor())
    if as_json:
        emit_json(to_builtins(ran))
    else:
        click.echo(printable(_ran_line(ran)))
    return 0 if ran.fault is None else FAILED


def _sensing(opened: Desk, kit_root: Path | None) -> "Sensing":
    from keisei.wiring.registry import CatalogRegistry, defaults_of
    from keisei.wiring.sensor import Sensing

    def registry() -> CatalogRegistry:
        return CatalogRegistry(open_catalog(kit_root))

    defaults = defaults_of(opened.home)
    return Sensing(opened.home, opened.store, registry, defaults, lambda _line: None)


def _ran_line(ran: "Ran") -> str:
    if ran.fault is not None:
        return f"{ran.sensor_id} failed: {first_line(ran.fault)}"
    return f"{ran.sensor_id}: {ran.recorded} recorded, {ran.deduped} known already, {ran.refused} refused"


@group.command("pause")
@click.argument("name", type=WORDS)
@reason_option
@kit_root_option
@json_option
def pause(name: str, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Run it no more; a webhook is told to come again."""
    from keisei.engine.sensor import pause as switch_off

    return _order(switch_off, name, reason or "paused by an operator", "paused", kit_root, as_json)


@group.command("resume")
@click.argument("name", type=WORDS)
@reason_option
@kit_root_option
@json_option
def resume(name: str, reason: str, kit_root: Path | None, as_json: bool) -> int:
    """Run it again, as if it had never failed."""
    from keisei.engine.sensor import resume as switch_on

    return _order(switch_on, name, reason or "resumed by an operator", "resumed", kit_root, as_json)


def _order(  # noqa: PLR0913, PLR0917 - what, to whom, why, and how it is told
    order: "Callable[..., SensorState]", name: str, reason: str, word: str, kit_root: Path | None, as_json: bool
) -> int:
    from msgspec import to_builtins

    with desk() as opened:
        _known(opened, name, kit_root)
        state = order(opened.store, name, reason, actor())
    if as_json:
        emit_json(to_builtins(state))
    else:
        click.echo(printable(f"{name} {word}"))
    return 0


@group.command("event")
@click.option("--json", "text", help="The event, as JSON.")
@click.option("--file", "file", help="The event, a file; `-` is standard input. Several are taken one by one.")
@kit_root_option
def event(text: str | None, file: str | None, kit_root: Path | None) -> int:
    """Hand over what was observed, as JSON; prints what became of each as JSON, one a line."""
    from keisei.engine.sensor import held_back, observe
    from keisei.records.project import ProjectRunner

    if (text is None) == (file is None):
        raise OperatorError("give one of --json and --file", "`keisei schema show sensor.event` shows what an event is")
    given = parsed_intents(read_text(file) if file is not None else text or "")
    with desk() as opened:
        reason = held_back(opened.store, (opened.home.file.runner or ProjectRunner()).sensor_backlog)
        if reason is not None:
            raise Refused(f"nothing is observed now: {reason}", "come again when work is done")
        office = opened.office(kit_root)
        for data in given:
            done = observe(office, data, actor(), say)
            _say_observed(done)
    return 0


def _say_observed(done: Any) -> None:  # noqa: ANN401 - Observed
    import json

    from msgspec import to_builtins

    click.echo(json.dumps({"accepted": done.status == "recorded", **to_builtins(done)}, ensure_ascii=False))


@group.command("events")
@click.option("--sensor", type=WORDS, help="Only of this sensor.")
@limit_option
@json_option
def events(sensor: str | None, limit: int, as_json: bool) -> int:
    """What was observed, newest first, and what it started."""
    from keisei.records.observation import SeenQuery

    with desk() as opened:
        found = opened.store.seen(SeenQuery(sensor_id=sensor, limit=limit))
    if as_json:
        emit_json([_seen_data(each) for each in found])
    else:
        headers = ("sensor", "event", "recorded", "status", "repeats", "task", "workflow", "why")
        grid(headers, [_seen_row(each) for each in found])
    return 0


def _seen_data(seen: "Seen") -> dict[str, Any]:
    from msgspec import to_builtins

    from keisei.contracts.check import data_of

    return {**to_builtins(seen), "event": data_of(seen.event)}


def _seen_row(seen: "Seen") -> tuple[object, ...]:
    return (
        seen.event.sensor_id,
        seen.event.event_id,
        stamp(seen.recorded_at),
        seen.status,
        seen.repeats,
        seen.task_id or "-",
        seen.workflow_id or "-",
        first_line(seen.reason),
    )


@group.command("serve")
@click.option("--port", type=click.IntRange(0, 65535), default=4315, show_default=True, help="0 takes any free one.")
@kit_root_option
def serve(port: int, kit_root: Path | None) -> int:
    """Listen for the webhooks of keisei.toml on 127.0.0.1 until stopped; put a reverse proxy before it."""
    from keisei.wiring.registry import CatalogRegistry, defaults_of
    from keisei.wiring.webhook import WebhookServer, open_reception

    def registry() -> CatalogRegistry:
        return CatalogRegistry(open_catalog(kit_root))

    with desk() as opened:
        reception = open_reception(opened.home, opened.store, registry, defaults_of(opened.home))
        with WebhookServer(reception, port) as server:
            for name in reception.hooks:
                click.echo(printable(f"listening at {server.url}{name}"))
            _serve(server)
    return 0


def _serve(server: "WebhookServer") -> None:
    """Until SIGTERM, SIGINT or SIGHUP."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        threading.Thread(target=server.shutdown, daemon=True).start()  # from here it would wait for itself

    heard = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in heard}
    for number in heard:
        if before[number] != signal.SIG_IGN:
            signal.signal(number, stop)
    try:
        server.serve_forever(poll_interval=0.1)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
