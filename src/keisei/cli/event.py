"""`keisei event`: what happened, line by line."""

import json
import time
from typing import TYPE_CHECKING, Any, get_args

import click

from keisei.cli.desk import desk, grid, known_task, limit_option, stamp
from keisei.cli.output import emit_json, json_option
from keisei.records.event import OurEvent, SeedEvent
from keisei.records.problem import printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keisei.engine.ports import Store
    from keisei.records.event import RuntimeEvent
    from keisei.records.id import TaskId

NAMES = (*get_args(SeedEvent), *get_args(OurEvent))
LOOK_S = 0.5


@click.group("event", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Events: what happened, line by line; prunable, unlike the ledger."""


@group.command("list")
@click.option("--task", help="Only of this task.")
@click.option("--type", "event_type", type=click.Choice(NAMES), metavar="NAME", help="Only of this kind.")
@click.option("--after", type=click.IntRange(0), help="Only events after this number, instead of the newest.")
@limit_option
@json_option
def list_events(task: str | None, event_type: Any, after: int | None, limit: int, as_json: bool) -> int:  # noqa: ANN401 - a choice of click's
    """Events, oldest first: the newest of them, or those after a number."""
    from keisei.contracts.check import data_of
    from keisei.records.move import EventQuery

    with desk() as opened:
        task_id = _task_id(opened.store, task)
        query = EventQuery(after=after or 0, task_id=task_id, event_type=event_type, newest=after is None, limit=limit)
        found = opened.store.events(query)
    if as_json:
        emit_json([data_of(each) for each in found])
    else:
        grid(("id", "time", "event", "task", "detail"), [_row(each) for each in found])
    return 0


def _task_id(store: "Store", given: str | None) -> "TaskId | None":
    return None if given is None else known_task(store, given).task_id


def _row(event: "RuntimeEvent") -> tuple[object, ...]:
    return event.id, stamp(event.created_at), event.event_type, event.task_id or "-", _words(event.detail)


def event_line(event: "RuntimeEvent") -> str:
    """An event for people, on one line; whoever reads it knows the task."""
    return printable(f"{stamp(event.created_at)} {event.event_type} {_words(event.detail)}".rstrip())


def _words(detail: "Mapping[str, Any]") -> str:
    """The detail as words: what is not set is left out, and who ran it comes last."""
    names = sorted(detail, key=lambda name: name == "runner_id")
    return " ".join(f"{name}={_word(detail[name])}" for name in names if detail[name] is not None)


def _word(value: object) -> str:
    return value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)


@group.command("export")
@click.option("--after", type=click.IntRange(0), default=0, help="Only events after this number.")
@click.option("--task", help="Only of this task.")
def export(after: int, task: str | None) -> int:
    """Every event there is as CloudEvents 1.0, one JSON object a line, oldest first."""
    from keisei.records.move import EventQuery
    from keisei.rules.cloud_event import cloud_event

    with desk() as opened:
        task_id, last = _task_id(opened.store, task), after
        while page := opened.store.events(EventQuery(after=last, task_id=task_id, limit=1000)):
            for event in page:
                click.echo(json.dumps(cloud_event(event, opened.home.name), ensure_ascii=False))
            last = page[-1].id
    return 0


@group.command("tail")
@click.option("--task", help="Only of this task.")
@click.option("--after", type=click.IntRange(0), help="Begin after this number, instead of now.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def tail(task: str | None, after: int | None, as_json: bool) -> int:
    """Print events as they come, until interrupted."""
    from keisei.contracts.check import data_of
    from keisei.records.move import EventQuery

    with desk() as opened:
        task_id = _task_id(opened.store, task)
        newest = opened.store.events(EventQuery(newest=True, limit=1))
        last = after if after is not None else newest[-1].id if newest else 0
        while True:
            for event in opened.store.events(EventQuery(after=last, task_id=task_id, limit=1000)):
                last = event.id
                told = json.dumps(data_of(event), ensure_ascii=False) if as_json else _tail_line(event)
                click.echo(told)
            time.sleep(LOOK_S)


def _tail_line(event: "RuntimeEvent") -> str:
    number, moment, name, task_id, words = _row(event)
    return printable(f"{number} {moment} {name} {task_id} {words}".rstrip())
