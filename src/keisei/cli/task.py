"""`keisei task`: queue work, see it, steer it."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.desk import (
    actor,
    desk,
    fields,
    first_line,
    grid,
    known_task,
    limit_option,
    reason_option,
    stamp,
)
from keisei.cli.intent import accepted, parsed_intents, payload_of, read_text
from keisei.cli.output import emit_json, json_option
from keisei.cli.surroundings import kit_root_option
from keisei.cli.watch import wait, watch
from keisei.records.error import OperatorError, Refused
from keisei.records.problem import printable

if TYPE_CHECKING:
    from keisei.engine.ports import Store
    from keisei.records.attempt import TaskAttempt
    from keisei.records.task import TaskRecord

STATUSES = (
    "pending",
    "running",
    "completed",
    "retryable_failure",
    "permanent_failure",
    "blocked",
    "operator_canceled",
)
MOST = 1000
"""Attempts of one task that are shown."""


@click.group("task", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """Tasks: queue work, see it, steer it."""


group.add_command(wait)
group.add_command(watch)


@group.command("add")
@click.argument("file", required=False)
@click.option("--intent", help="The intent, or a list of them, as JSON.")
@click.option("--type", "task_type", help="Make an intent of this task type, instead of reading one.")
@click.option("--payload", help="Its payload as JSON, or @FILE; with --type.")
@click.option("--subject", help="One line for people; with --type.")
@click.option("--priority", type=int, help="Higher first; with --type.")
@click.option("--key", help="The same key twice is the same task; with --type.")
@kit_root_option
@json_option
def add(  # noqa: PLR0913, PLR0917 - one argument an option
    file: str | None,
    intent: str | None,
    task_type: str | None,
    payload: str | None,
    subject: str | None,
    priority: int | None,
    key: str | None,
    kit_root: Path | None,
    as_json: bool,
) -> int:
    """Queue tasks: intents from FILE (`-` is standard input; JSON, a list, or one a line), all or none of them."""
    if sum(each is not None for each in (file, intent, task_type)) != 1:
        raise OperatorError("give one of FILE, --intent or --type", "`keisei task add --help` shows each")
    told = {"subject": subject, "priority": priority, "idempotency_key": key}
    if task_type is not None:
        made = {"task_type": task_type, "source": actor(), "payload": payload_of(payload), **told}
        intents: list[object] = [{name: value for name, value in made.items() if value is not None}]
    elif payload is not None or any(value is not None for value in told.values()):
        raise OperatorError("--payload, --subject, --priority and --key go with --type", "say it in the intent")
    else:
        intents = parsed_intents(read_text(file) if file is not None else intent or "")
    with desk() as opened:
        results = opened.store.enqueue(accepted(opened, intents, kit_root))
        opened.store.ring()
    if as_json:
        emit_json([{"task_id": each.task_id, "queued": each.created} for each in results])
    else:
        for each in results:
            click.echo(f"{each.task_id} {'queued' if each.created else 'known already'}")
    return 0


@group.command("list")
@click.option("--status", "statuses", multiple=True, type=click.Choice(STATUSES), help="Only these; may be repeated.")
@click.option("--type", "task_type", help="Only this task type.")
@click.option("--source", help="Only from this source.")
@click.option("--before", help="Older than this task: the next page.")
@limit_option
@json_option
def list_tasks(  # noqa: PLR0913, PLR0917 - one argument an option
    statuses: tuple[Any, ...],
    task_type: str | None,
    source: str | None,
    before: str | None,
    limit: int,
    as_json: bool,
) -> int:
    """Tasks, newest first."""
    from keisei.contracts.check import data_of
    from keisei.records.move import TaskQuery

    with desk() as opened:
        last = None if before is None else known_task(opened.store, before).task_id
        query = TaskQuery(statuses=statuses, task_type=task_type, source=source, before=last, limit=limit)
        found = opened.store.tasks(query)
    if as_json:
        emit_json([data_of(each) for each in found])
    else:
        grid(("task", "status", "tries", "type", "created", "subject", "error"), [_row(each) for each in found])
    return 0


def _row(task: "TaskRecord") -> tuple[object, ...]:
    error = first_line(task.last_error) if task.status not in ("completed", "running") else "-"
    return (
        task.task_id,
        task.status,
        f"{task.attempt_count}/{task.max_attempts}",
        task.task_type,
        stamp(task.created_at),
        first_line(task.subject),
        error,
    )


@group.command("show")
@click.argument("task_id")
@json_option
def show(task_id: str, as_json: bool) -> int:
    """One task with its attempts, findings and artifacts."""
    from keisei.contracts.check import data_of

    with desk() as opened:
        task = known_task(opened.store, task_id)
        attempts = opened.store.attempts(task.task_id, MOST)
        findings = {each.attempt_id: opened.store.findings(each.attempt_id) for each in attempts}
        artifacts = opened.store.artifacts(task.task_id)
    if as_json:
        told = [{**data_of(each), "findings": data_of(findings[each.attempt_id])} for each in attempts]
        emit_json({"task": data_of(task), "attempts": told, "artifacts": data_of(artifacts)})
        return 0
    fields(data_of(task))
    for attempt in attempts:
        click.echo(_attempt_line(attempt))
        for finding in findings[attempt.attempt_id]:
            reason = f", {first_line(finding.reason)}" if finding.reason else ""
            click.echo(f"  {printable(finding.capability)}: {finding.status}{reason}")
    for artifact in artifacts:
        click.echo(f"artifact {printable(artifact.relative_path)} ({artifact.role})")
    return 0


def _attempt_line(attempt: "TaskAttempt") -> str:
    reason = (attempt.diagnostics or {}).get("reason")
    said = f": {first_line(reason)}" if isinstance(reason, str) and reason else ""
    ended = attempt.exit_status or "open"
    return f"attempt {attempt.attempt_id} {stamp(attempt.started_at)} {printable(attempt.adapter_id)} {ended}{said}"


@group.command("cancel")
@click.argument("task_id")
@reason_option
@json_option
def cancel(task_id: str, reason: str, as_json: bool) -> int:
    """End a task: at once where nobody runs it, else as soon as its runner hears of it."""
    from keisei.engine.control import cancel as cancel_task

    with desk() as opened:
        task = known_task(opened.store, task_id)
        task = cancel_task(opened.store, task.task_id, reason or "canceled by an operator", actor())
    return _told(task, as_json, " (asked to end)" if task.status == "running" else "")


@group.command("unblock")
@click.argument("task_id")
@click.option("--attempts", type=click.IntRange(1, 1000), default=1, show_default=True, help="Tries it has at least.")
@reason_option
@json_option
def unblock(task_id: str, attempts: int, reason: str, as_json: bool) -> int:
    """Make a blocked task claimable again."""
    with desk() as opened:
        task = known_task(opened.store, task_id)
        if task.status != "blocked":
            raise Refused(f"task {task_id} is {task.status}, not blocked", "`keisei task retry` tries others again")
        task = _freed(opened.store, task, attempts, reason)
    return _told(task, as_json)


@group.command("retry")
@click.argument("task_id")
@click.option("--attempts", type=click.IntRange(1, 1000), default=1, show_default=True, help="Tries it has at least.")
@reason_option
@json_option
def retry(task_id: str, attempts: int, reason: str, as_json: bool) -> int:
    """Try a task again now: one that waits or is blocked as it is, one that is over as a new task."""
    from keisei.engine.control import again
    from keisei.records.id import TaskId
    from keisei.records.task import TERMINAL
    from keisei.wiring.fresh import new_id

    with desk() as opened:
        task = known_task(opened.store, task_id)
        if task.status in TERMINAL:
            heir = again(opened.store, task, TaskId(new_id()), reason or "tried again by an operator", actor())
            return _told(heir, as_json, f" (again, after {task.task_id})")
        if task.status in ("pending", "running"):
            raise Refused(f"task {task_id} is {task.status}: it is tried anyway", "`keisei task watch` follows it")
        task = _freed(opened.store, task, attempts, reason)
    return _told(task, as_json)


def _freed(store: "Store", task: "TaskRecord", attempts: int, reason: str) -> "TaskRecord":
    from keisei.engine.control import free

    return free(store, task.task_id, reason or "freed by an operator", actor(), attempts)


def _told(task: "TaskRecord", as_json: bool, more: str = "") -> int:
    from keisei.contracts.check import data_of

    if as_json:
        emit_json(data_of(task))
    else:
        click.echo(f"{task.task_id} {task.status}{more}")
    return 0
