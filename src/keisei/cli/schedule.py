"""`keisei schedule`: when work begins by itself."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import WORDS, Desk, actor, desk, fields, first_line, grid, limit_option, reason_option, stamp
from keisei.cli.intent import parsed_intents, payload_of, read_text
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option, say
from keisei.records.error import OperatorError
from keisei.records.problem import printable

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.records.slot import Schedule, Slot

NEWEST = 10
"""Slots that `show` tells of."""


class Duration(click.ParamType[int]):
    """`90s`, `5m`, `2h`, `1d`; a bare number says no unit and is refused."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:  # noqa: ANN401 - click's
        """Seconds. Fails for anything else."""
        from keisei.rules.schedule import seconds_of

        seconds = value if isinstance(value, int) else seconds_of(str(value))
        if seconds is None:
            more = f", as in {value}s or {value}m" if str(value).isdecimal() else ""
            self.fail(f"`{value}` is no duration: say 90s, 5m, 2h or 1d{more}; at most ten years.", param, ctx)
        return seconds


class Moment(click.ParamType["datetime"]):
    """A time in ISO 8601 that says its offset from UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> "datetime":  # noqa: ANN401 - click's
        """The moment, in UTC. Fails for anything else, a time without an offset included."""
        from datetime import UTC, datetime

        found: datetime | None = None
        with suppress(ValueError, OverflowError):
            said = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
            found = None if said.tzinfo is None else said.astimezone(UTC)
        if found is None:
            self.fail(f"`{value}` is no time with an offset: say it as in 2026-01-31T12:00:00Z.", param, ctx)
        return found


DURATION, MOMENT = Duration(), Moment()


@click.group("schedule", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Schedules: work that begins by itself, every so often or once after a while."""


@group.command("add")
@click.argument("name", type=WORDS)
@click.option("--every", type=DURATION, help="The time between two slots: 90s, 5m, 2h, 1d.")
@click.option("--in", "delay", type=DURATION, help="Fire once, after this time, instead of again and again.")
@click.option("--first-in", type=DURATION, help="With --every: the first slot, if not at once.")
@click.option(
    "--overlap",
    type=click.Choice(["skip", "queue"]),
    help="A slot while the task of an earlier one is not finished: skip it, or queue it too. [default: skip]",
)
@click.option("--file", "file", help="The intent of its task, a file; `-` is standard input.")
@click.option("--intent", help="The intent, as JSON.")
@click.option("--type", "task_type", help="Make an intent of this task type, instead of reading one.")
@click.option("--payload", help="Its payload as JSON, or @FILE; with --type.")
@click.option("--subject", help="One line for people; with --type.")
@click.option("--priority", type=int, help="Higher first; with --type.")
@kit_root_option
@json_option
def add(  # noqa: PLR0913, PLR0917 - one argument an option
    name: str,
    every: int | None,
    delay: int | None,
    first_in: int | None,
    overlap: str | None,
    file: str | None,
    intent: str | None,
    task_type: str | None,
    payload: str | None,
    subject: str | None,
    priority: int | None,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Make a schedule called NAME, or change it: what is the same stays, its next slot too."""
    from keisei.engine.schedule import upsert

    if (every is None) == (delay is None):
        raise OperatorError("give one of --every and --in", "`keisei schedule add --help` shows each")
    if first_in is not None and every is None:
        raise OperatorError("--first-in goes with --every", "--in says when already")
    told = {"payload": payload, "subject": subject, "priority": priority}
    data: dict[str, Any] = {"name": name, "interval_seconds": every or delay, "once": delay is not None}
    data |= {"task": _task(file, intent, task_type, told), "delay": first_in, "overlap": overlap}
    if delay is not None:
        data |= {"enabled": True, "delay": delay}
    with desk() as opened:
        made = upsert(opened.office(kit_root), data, actor(), say)
    return _told(made, "added", as_json)


def _task(file: str | None, intent: str | None, task_type: str | None, told: dict[str, Any]) -> object:
    """The one intent. Raises OperatorError where there is none, or several."""
    if sum(each is not None for each in (file, intent, task_type)) != 1:
        raise OperatorError("give one of --file, --intent or --type", "`keisei schedule add --help` shows each")
    if task_type is not None:
        made = {"task_type": task_type, **told, "payload": payload_of(told["payload"])}
        return {key: value for key, value in made.items() if value is not None}
    if any(value is not None for value in told.values()):
        raise OperatorError("--payload, --subject and --priority go with --type", "say it in the intent")
    found = parsed_intents(read_text(file) if file is not None else intent or "")
    if len(found) != 1:
        raise OperatorError(f"a schedule has one task, not {len(found)}", "make a schedule for each")
    return found[0]


@group.command("list")
@json_option
def list_schedules(as_json: bool) -> int:
    """Every schedule, by name."""
    with desk() as opened:
        found = opened.store.schedules()
    if as_json:
        emit_json([_data(each) for each in found])
    else:
        grid(("name", "every", "state", "next", "last", "type", "note"), [_row(each) for each in found])
    return 0


def _row(schedule: "Schedule") -> tuple[object, ...]:
    from keisei.rules.schedule import duration_text

    record = schedule.record
    if record is None:
        return schedule.name, "-", "unreadable", "-", "-", "-", first_line(schedule.fault)
    every = f"{'once, ' if record.once else ''}{duration_text(record.interval_seconds)}"
    state = "on" if record.enabled else "off"
    soon = stamp(record.next_run_at) if record.enabled else "-"
    note = first_line(record.disabled_reason)
    return schedule.name, every, state, soon, stamp(record.last_run_at), record.task.task_type, note


def _data(schedule: "Schedule") -> dict[str, Any]:
    from keisei.contracts.check import data_of

    told = {"schedule_id": schedule.schedule_id, "name": schedule.name, "task_id": schedule.task_id}
    if schedule.record is None:
        return {**told, "fault": schedule.fault}
    return {**told, "record": data_of(schedule.record)}


@group.command("show")
@click.argument("name", type=WORDS)
@json_option
def show(name: str, as_json: bool) -> int:
    """One schedule, and what became of its newest slots."""
    from msgspec import to_builtins

    with desk() as opened:
        schedule = _known(opened, name)
        slots = opened.store.slots(schedule.schedule_id, NEWEST)
    if as_json:
        emit_json({**_data(schedule), "slots": to_builtins(slots)})
        return 0
    told = _data(schedule)
    fields(told.pop("record", {}) or told)
    if schedule.task_id is not None:
        click.echo(f"newest task: {schedule.task_id}")
    for slot in slots:
        click.echo(printable(" ".join(str(cell) for cell in _slot_row(slot) if cell != "-")))
    return 0


@group.command("slots")
@click.argument("name", required=False, type=WORDS)
@limit_option
@json_option
def list_slots(name: str | None, limit: int, as_json: bool) -> int:
    """What became of the moments at which NAME, or any schedule, was due; newest first."""
    from msgspec import to_builtins

    with desk() as opened:
        found = opened.store.slots(_slots_of(opened, name), limit)
        names = {each.schedule_id: each.name for each in opened.store.schedules()}
    if as_json:
        emit_json([{"name": names.get(each.schedule_id), **to_builtins(each)} for each in found])
        return 0
    rows = [(names.get(each.schedule_id, each.schedule_id), *_slot_row(each)) for each in found]
    grid(("schedule", "due", "became", "count", "task", "why"), rows)
    return 0


def _slots_of(opened: Desk, name: str | None) -> Any:  # noqa: ANN401 - a schedule's id, or None
    """The id; one that was deleted is still known by its slots."""
    if name is None:
        return None
    found = opened.store.schedule(name)
    if found is None and opened.store.slots(name, 1):  # type: ignore[arg-type]  # it may be the id of one that is gone
        return name
    return (found or _known(opened, name)).schedule_id


def _slot_row(slot: "Slot") -> tuple[object, ...]:
    return stamp(slot.due_at), slot.status, slot.count, slot.task_id or "-", first_line(slot.reason)


def _known(opened: Desk, name: str) -> "Schedule":
    found = opened.store.schedule(name)
    if found is None:
        raise OperatorError(f"no schedule is called `{name}`", "`keisei schedule list` shows all")
    return found


@group.command("pause")
@click.argument("name", type=WORDS)
@reason_option
@json_option
def pause(name: str, reason: str, as_json: bool) -> int:
    """Switch a schedule off; what it has queued stays queued."""
    from keisei.engine.schedule import pause as switch_off

    with desk() as opened:
        found = switch_off(opened.store, name, reason or "paused by an operator", actor())
    return _told(found, "paused", as_json)


@group.command("resume")
@click.argument("name", type=WORDS)
@reason_option
@json_option
def resume(name: str, reason: str, as_json: bool) -> int:
    """Switch a schedule on again, in step with before; what passed meanwhile was not due."""
    from keisei.engine.schedule import resume as switch_on

    with desk() as opened:
        found = switch_on(opened.store, name, reason or "resumed by an operator", actor())
    return _told(found, "resumed", as_json)


@group.command("delete")
@click.argument("name", type=WORDS)
@reason_option
@json_option
def delete(name: str, reason: str, as_json: bool) -> int:
    """Delete a schedule; its slots and its tasks stay."""
    from keisei.engine.schedule import delete as take_away

    with desk() as opened:
        found = take_away(opened.store, name, reason or "deleted by an operator", actor())
    if as_json:
        emit_json(_data(found))
    else:
        click.echo(printable(f"{found.name} deleted"))
    return 0


@group.command("tick")
@click.option("--at", type=MOMENT, help="As if it were then; ahead of now at most the next slot of each fires.")
@kit_root_option
@json_option
def tick(at: "datetime | None", kit_root: Path | None, as_json: bool) -> int:
    """Look at the schedules once, as every runner does by itself."""
    from keisei.engine.schedule import look

    with desk() as opened:
        ticked = look(opened.office(kit_root), actor(), at=at)
    if as_json:
        emit_json({"evaluated": ticked.evaluated, "task_ids": list(ticked.task_ids)})
    else:
        click.echo(f"{ticked.evaluated} evaluated, {len(ticked.task_ids)} queued")
    return 0


def _told(schedule: "Schedule", word: str, as_json: bool) -> int:
    if as_json:
        emit_json(_data(schedule))
        return 0
    record = schedule.record
    state = f"next {stamp(record.next_run_at)}" if record is not None and record.enabled else "off"
    click.echo(printable(f"{schedule.name} {word}: {state}"))
    return 0
