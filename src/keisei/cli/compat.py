"""`keisei compat`: the original's verbs, on its runtime.json, in its shapes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from keisei.cli.desk import first_line, refusing
from keisei.cli.intent import parsed_intents, read_text
from keisei.cli.output import emit_json
from keisei.cli.surroundings import settings, warn
from keisei.records.error import AuthorError, KeiseiError, OperatorError

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.engine.ports import Store
    from keisei.records.event import RuntimeEvent
    from keisei.records.id import TaskId
    from keisei.records.move import NewTask
    from keisei.records.task import TaskRecord
    from keisei.wiring.compat import Runtime
    from keisei.wiring.runner import Line

F = TypeVar("F", bound=Callable[..., Any])
RECENT = 5
LOOKED_AT = 1000
"""Events that are searched for the tasks that changed last."""


def config_option(command: F) -> F:
    """`--config`, on every verb."""
    return click.option(
        "--config",
        type=click.Path(path_type=Path),
        default="config/runtime.json",
        show_default=True,
        help="The runtime.json.",
    )(command)


class _Opened(NamedTuple):
    runtime: "Runtime"
    store: "Store"


@contextmanager
def _open(config: Path) -> "Iterator[_Opened]":
    from keisei.wiring.compat import open_runtime_store

    runtime = _read(config)
    store = open_runtime_store(settings(), runtime)
    with refusing():
        try:
            yield _Opened(runtime, store)
        finally:
            store.close()


def _read(config: Path) -> "Runtime":
    """The configuration. That it is written in the original's dialect is no news here; `keisei lint` tells it."""
    from keisei.wiring.compat import read_runtime

    try:
        runtime = read_runtime(config)
    except FileNotFoundError as error:  # a relative path, in a folder that is gone
        raise OperatorError("the working directory does not exist any more", "name the file absolutely") from error
    for problem in runtime.config.warnings:
        if problem.code != "dialect":
            warn(problem)
    return runtime


@click.group("compat", context_settings={"help_option_names": ["-h", "--help"]})
def group() -> None:
    """The original's verbs on its runtime.json: its shapes, our engine."""


@group.command("intake")
@config_option
@click.option("--json", "text", help="The task, as JSON.")
@click.option("--file", help="The task, in a file; `-` is standard input.")
def intake(config: Path, text: str | None, file: str | None) -> int:
    """Queue one task."""
    if (text is None) == (file is None):
        raise OperatorError("give one of --json and --file", '--json \'{"kind": "...", ...}\', or --file task.json')
    intents = parsed_intents(text if text is not None else read_text(file or ""))
    if len(intents) != 1:
        raise OperatorError(f"intake takes one task, not {len(intents)}", "`keisei task add` takes many")
    with _open(config) as opened:
        new = _accepted(opened, intents[0])
        result = opened.store.enqueue([new])[0]
        opened.store.ring()
        queued = opened.store.task(result.task_id) or new.task
    emit_json(
        {
            "queued": result.created,
            "task_id": queued.task_id,
            "profile": queued.requested_profile_id,
            "available_at": _stamp(queued.available_at),
        }
    )
    return 0


def _accepted(opened: _Opened, data: object) -> "NewTask":
    from keisei.engine.intake import Origin, accept, read_intent
    from keisei.records.id import TaskId
    from keisei.wiring.compat import declared, runtime_registry
    from keisei.wiring.fresh import new_id
    from keisei.wiring.registry import defaults_of

    if isinstance(data, dict) and data.get("requested_adapter") == "":  # the original's word for "the profile's"
        data = {name: value for name, value in data.items() if name != "requested_adapter"}
    registry = runtime_registry(settings(), opened.runtime)
    intent = declared(read_intent(data), opened.runtime.config)
    defaults, now = defaults_of(opened.runtime.home), opened.store.now()
    return accept(intent, registry, defaults, origin=Origin(), task_id=TaskId(new_id()), now=now)


@group.command("run-once")
@config_option
def run_once(config: Path) -> int:
    """Run one task, if there is one. Exit 0 whatever became of it, as the original does; stderr says why."""
    from keisei.records.move import NewEvent
    from keisei.wiring.compat import paused

    with _open(config) as opened:
        pause = paused(opened.runtime)
        if pause is not None:
            opened.store.note([NewEvent(event_type="dispatch_paused", detail={"reason": pause.reason})])
            told = _paused(pause.reason)
        else:
            told = _ran(opened.store, _run(opened))
    emit_json(told)
    return 0


def _run(opened: _Opened) -> "list[Line]":
    from keisei.cli.runner import obeying
    from keisei.wiring.compat import runtime_shop
    from keisei.wiring.hall import runner_options, shop_runner

    lines: list[Line] = []
    shop = runtime_shop(settings(), opened.runtime, opened.store)
    options = runner_options(shop.runner, jobs=1, once=True, until_idle=True)
    runner = shop_runner(shop, options, lines.append)
    with obeying(runner):
        runner.run()
    return lines


def _ran(store: "Store", lines: "list[Line]") -> dict[str, Any]:
    """What became of the task that was run last, in the original's words."""
    from keisei.records.id import AttemptId, TaskId

    pause = next((each for each in lines if each.event == "paused"), None)
    done = next((each for each in reversed(lines) if each.task_id), None)
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
        click.echo(f"{task.status} {task.task_id}: {first_line(task.last_error or done.detail)}", err=True)
    if task.status == "pending":
        return told | _postponed(task, store.now())
    issues = [each.reason for each in store.findings(AttemptId(done.attempt_id or "")) if each.status != "held"]
    return told | {"verification_issues": issues} if issues else told


def _paused(reason: str | None) -> dict[str, Any]:
    return {"ok": True, "status": "paused", "paused": True, "reason": reason or None}


def _postponed(task: "TaskRecord", now: "datetime") -> dict[str, Any]:
    wait = max(0.0, (task.available_at - now).total_seconds())
    return {
        "status": "rate_limit_rescheduled",
        "retry_after_seconds": round(wait),
        "available_at": _stamp(task.available_at),
    }


@group.command("status")
@config_option
def status(config: Path) -> int:
    """Counts, the tasks that changed last, the last event."""
    from keisei.records.move import EventQuery

    with _open(config) as opened:
        counts = opened.store.counts()
        events = opened.store.events(EventQuery(newest=True, limit=LOOKED_AT))
        recent = [_recent(opened.store, each) for each in _changed(opened.store, events)]
    emit_json(
        {
            "counts": [{"status": name, "count": count} for name, count in sorted(counts.items()) if count],
            "recent": recent,
            "lastEvent": _event(events[-1]) if events else None,
        }
    )
    return 0


def _changed(store: "Store", events: "list[RuntimeEvent]") -> "list[TaskRecord]":
    """The tasks that changed last: whatever changes a task leaves an event. Where too few are left, the newest ones."""
    from keisei.records.move import TaskQuery

    ids: dict[TaskId, None] = {each.task_id: None for each in reversed(events) if each.task_id is not None}
    ids |= {each.task_id: None for each in store.tasks(TaskQuery(limit=RECENT)) if each.task_id not in ids}
    found = (store.task(each) for each in ids)
    return [each for each, _ in zip((each for each in found if each is not None), range(RECENT), strict=False)]


def _recent(store: "Store", task: "TaskRecord") -> dict[str, Any]:
    attempts = store.attempts(task.task_id, LOOKED_AT)
    bundle = store.bundle(attempts[-1].attempt_id) if attempts else None
    return {
        "task_id": task.task_id,
        "kind": task.task_type,
        "status": task.status,
        "updated_at": _stamp(task.updated_at),
        "attempt_id": attempts[-1].attempt_id if attempts else None,
        "bundle_hash": bundle.bundle_hash if bundle is not None else None,
    }


def _event(last: "RuntimeEvent") -> dict[str, Any]:
    return {
        "event_type": last.event_type,
        "task_id": last.task_id,
        "attempt_id": last.attempt_id,
        "created_at": _stamp(last.created_at),
    }


@group.command("healthcheck")
@config_option
def healthcheck(config: Path) -> int:
    """Whether the configuration, its profiles and its adapters are in order. Exit 1 where they are not."""
    told: dict[str, Any] = {"ok": False, "configIssues": [], "profileChecks": [], "adapterChecks": []}
    try:
        runtime = _read(config)
    except AuthorError as error:
        told["configIssues"] = [problem.render() for problem in error.problems]
    except KeiseiError as error:
        told["configIssues"] = [error.message]
    else:
        told |= _checked(runtime)
    emit_json(told)
    return 0 if told["ok"] else 1


def _checked(runtime: "Runtime") -> dict[str, Any]:
    from keisei.wiring.health import adapter_health, config_issues, profile_issues

    config = runtime.config
    issues = config_issues(config.file)
    profiles = [{"profileId": name, "issues": profile_issues(name, config)} for name in config.profiles]
    healths = [adapter_health(each) for each in config.adapters.values()]
    return {
        "ok": not issues and not any(each["issues"] for each in profiles) and all(each.ok for each in healths),
        "configIssues": issues,
        "profileChecks": profiles,
        "adapterChecks": [{"adapterId": each.adapter_id, "ok": each.ok, "detail": each.detail} for each in healths],
    }


def _stamp(moment: "datetime") -> str:
    """As the original writes times: milliseconds and Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
