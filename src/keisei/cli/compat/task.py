"""`keisei compat intake`, `run-once`, `status`: tasks, in the original's shapes."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from keisei.cli.compat.opened import Opened, config_option, data_options, given, opened_runtime
from keisei.cli.desk import first_line
from keisei.cli.output import emit_json
from keisei.cli.surroundings import settings
from keisei.records.problem import printable

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.records.task import TaskRecord
    from keisei.wiring.runner import Line


@click.command("intake")
@config_option
@data_options
def intake(config: Path, text: str | None, file: str | None) -> int:
    """Queue one task."""
    from keisei.wiring.compat_shape import stamp

    data = given(text, file, "task")
    with opened_runtime(config) as opened:
        from keisei.wiring.compat_registry import queue_intent

        queued = queue_intent(opened.store, opened.registry(), opened.defaults(), data)
    emit_json(
        {
            "queued": queued.created,
            "task_id": queued.task.task_id,
            "profile": queued.task.requested_profile_id,
            "available_at": stamp(queued.task.available_at),
        }
    )
    return 0


@click.command("run-once")
@config_option
def run_once(config: Path) -> int:
    """Run one task, if there is one: due schedules and workflows first, as the original does.

    Exit 0 whatever became of it, as the original does; stderr says why.
    """
    from keisei.records.move import NewEvent
    from keisei.wiring.compat import paused

    with opened_runtime(config) as opened:
        pause = paused(opened.runtime)
        if pause is not None:
            opened.store.note([NewEvent(event_type="dispatch_paused", detail={"reason": pause.reason})])
            told = _paused(pause.reason)
        else:
            told = _ran(opened, _run(opened))
    emit_json(told)
    return 0


def _run(opened: Opened) -> "list[Line]":
    from keisei.cli.runner import obeying
    from keisei.wiring.compat_shop import runtime_runner

    lines: list[Line] = []
    runner = runtime_runner(settings(), opened.runtime, opened.store, lines.append)
    with obeying(runner):
        runner.run()
    return lines


def _ran(opened: Opened, lines: "list[Line]") -> dict[str, Any]:
    """What became of the task that was run last, in the original's words."""
    from keisei.records.id import AttemptId, TaskId

    store = opened.store
    pause = next((each for each in lines if each.event == "paused"), None)
    done = next((each for each in reversed(lines) if each.task_id and each.attempt_id), None)
    task = None if done is None else store.task(TaskId(done.task_id or ""))
    if done is None or task is None:
        return {"ok": True, "status": "idle"} if pause is None else _paused(pause.detail)
    told: dict[str, Any] = {
        "ok": task.status == "completed",
        "status": task.status,
        "task_id": task.task_id,
        "attempt_id": done.attempt_id,
    }
    if task.status != "completed":
        click.echo(f"{task.status} {printable(task.task_id)}: {first_line(task.last_error or done.detail)}", err=True)
    if task.status == "pending":
        return told | _postponed(task, store.now())
    issues = [each.reason for each in store.findings(AttemptId(done.attempt_id or "")) if each.status != "held"]
    return told | _inputs(opened, task, done.attempt_id) | ({"verification_issues": issues} if issues else {})


def _inputs(opened: Opened, task: "TaskRecord", attempt_id: str | None) -> dict[str, Any]:
    """What a phase needs and does not find; only where that is why it was not run."""
    from keisei.records.id import AttemptId
    from keisei.wiring.compat_payload import missing_inputs

    if task.status != "blocked" or opened.store.bundle(AttemptId(attempt_id or "")) is not None:
        return {}
    issues = missing_inputs(opened.runtime.artifacts, task.payload)
    return {"input_issues": issues} if issues else {}


def _paused(reason: str | None) -> dict[str, Any]:
    return {"ok": True, "status": "paused", "paused": True, "reason": reason or None}


def _postponed(task: "TaskRecord", now: "datetime") -> dict[str, Any]:
    from keisei.wiring.compat_shape import stamp

    wait = max(0.0, (task.available_at - now).total_seconds())
    return {
        "status": "rate_limit_rescheduled",
        "retry_after_seconds": round(wait),
        "available_at": stamp(task.available_at),
    }


@click.command("status")
@config_option
def status(config: Path) -> int:
    """Counts, the tasks that changed last, the last event."""
    from keisei.wiring.compat_shape import status_of

    with opened_runtime(config) as opened:
        told = status_of(opened.store)
    emit_json(told)
    return 0
