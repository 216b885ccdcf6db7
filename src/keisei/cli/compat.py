"""`keisei compat`: the original's verbs, on its runtime.json, in its shapes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from keisei.cli.intent import parsed_intents, read_text
from keisei.cli.output import emit_json
from keisei.cli.surroundings import say, settings, warn
from keisei.records.error import AuthorError, KeiseiError, OperatorError

if TYPE_CHECKING:
    from datetime import datetime

    from keisei.engine.ports import Store
    from keisei.records.move import NewTask
    from keisei.wiring.compat import Runtime
    from keisei.wiring.runner import Line

F = TypeVar("F", bound=Callable[..., Any])
RECENT = 5
QUIET = ("started", "resumed")
"""What a runner tells that `run-once` does not print."""


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
    from keisei.wiring.compat import open_runtime_store, read_runtime

    runtime = read_runtime(config)
    for problem in runtime.config.warnings:
        warn(problem)
    store = open_runtime_store(settings(), runtime)
    try:
        yield _Opened(runtime, store)
    finally:
        store.close()


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
        raise OperatorError("give one of --json and --file")
    intents = parsed_intents(text if text is not None else read_text(file or "-"))
    if len(intents) != 1:
        raise OperatorError(f"intake takes one task, not {len(intents)}", "`keisei task add` takes many")
    with _open(config) as opened:
        task = _accepted(opened, intents[0])
        result = opened.store.enqueue([task])[0]
        opened.store.ring()
        queued = opened.store.task(result.task_id) or task.task
    emit_json(
        {
            "queued": True,
            "task_id": queued.task_id,
            "profile": queued.requested_profile_id,
            "available_at": _stamp(queued.available_at),
        }
    )
    return 0


def _accepted(opened: _Opened, data: object) -> "NewTask":
    from keisei.engine.intake import Origin, accept, read_intent
    from keisei.records.id import TaskId
    from keisei.wiring.compat import declared, runtime_shop
    from keisei.wiring.registry import defaults_of
    from keisei.wiring.runner import new_id

    registry = runtime_shop(settings(), opened.runtime, opened.store).registry()
    intent = declared(read_intent(data, say), opened.runtime.config)
    defaults, now = defaults_of(opened.runtime.home), opened.store.now()
    return accept(intent, registry, defaults, origin=Origin(), task_id=TaskId(new_id()), now=now)


@group.command("run-once")
@config_option
def run_once(config: Path) -> int:
    """Run one task, if there is one. Exit 0 whatever became of it, as the original does."""
    from keisei.wiring.compat import runtime_shop
    from keisei.wiring.hall import runner_options, shop_runner

    lines: list[Line] = []
    with _open(config) as opened:
        shop = runtime_shop(settings(), opened.runtime, opened.store)
        options = runner_options(shop.runner, jobs=1, once=True, until_idle=True)
        shop_runner(shop, options, lines.append).run()
        emit_json(_ran(opened.store, lines))
    return 0


def _ran(store: "Store", lines: "list[Line]") -> dict[str, Any]:
    paused = next((each for each in lines if each.event == "paused"), None)
    if paused is not None:
        return {"ok": True, "status": "paused", "paused": True, "reason": paused.detail}
    done = next((each for each in reversed(lines) if each.task_id and each.event not in QUIET), None)
    if done is None or done.task_id is None:
        return {"ok": True, "status": "idle"}
    from keisei.records.id import AttemptId, TaskId

    task = store.task(TaskId(done.task_id))
    told: dict[str, Any] = {"ok": True, "status": done.event, "task_id": done.task_id, "attempt_id": done.attempt_id}
    if task is None:
        return told
    if task.status == "pending":
        wait = max(0.0, (task.available_at - store.now()).total_seconds())
        return told | {
            "status": "rate_limit_rescheduled",
            "retry_after_seconds": round(wait),
            "available_at": _stamp(task.available_at),
        }
    told["ok"] = task.status == "completed"
    issues = [each.reason for each in store.findings(AttemptId(done.attempt_id or "")) if each.status != "held"]
    if issues:
        told["verification_issues"] = issues
    if task.last_error:
        told["reason"] = task.last_error
    return told


@group.command("status")
@config_option
def status(config: Path) -> int:
    """Counts, the newest tasks, the last event."""
    from keisei.records.move import EventQuery, TaskQuery

    with _open(config) as opened:
        counts = opened.store.counts()
        recent = opened.store.tasks(TaskQuery(limit=RECENT))
        events = opened.store.events(EventQuery(newest=True, limit=1))
    emit_json(
        {
            "counts": [{"status": name, "count": count} for name, count in counts.items() if count],
            "recent": [
                {
                    "task_id": each.task_id,
                    "kind": each.task_type,
                    "source": each.source,
                    "status": each.status,
                    "created_at": _stamp(each.created_at),
                    "updated_at": _stamp(each.updated_at),
                    "last_error": each.last_error,
                }
                for each in recent
            ],
            "lastEvent": _event(events),
        }
    )
    return 0


def _event(events: list[Any]) -> dict[str, Any] | None:
    if not events:
        return None
    last = events[-1]
    return {
        "id": last.id,
        "event_type": last.event_type,
        "task_id": last.task_id,
        "attempt_id": last.attempt_id,
        "detail": last.detail,
        "created_at": _stamp(last.created_at),
    }


@group.command("healthcheck")
@config_option
def healthcheck(config: Path) -> int:
    """Whether the configuration, its profiles and its adapters are in order. Exit 1 where they are not."""
    from keisei.wiring.compat import read_runtime
    from keisei.wiring.probe import probed

    issues: list[str] = []
    profiles: list[dict[str, Any]] = []
    adapters: list[dict[str, Any]] = []
    try:
        runtime = read_runtime(config)
    except AuthorError as error:
        issues = [problem.render() for problem in error.problems]
    except KeiseiError as error:
        issues = [error.message]
    else:
        known = runtime.config.adapters
        for name, profile in runtime.config.profiles.items():
            ok = profile.default_adapter_id in known or runtime.config.file.default_adapter in known
            profiles.append({"profile": name, "ok": ok, "adapter": profile.default_adapter_id})
        for adapter in known.values():
            found = probed(adapter)
            adapters.append({"adapterId": found.adapter_id, "ok": found.ok, "reason": found.reason})
    ok = not issues and all(each["ok"] for each in (*profiles, *adapters))
    emit_json({"ok": ok, "configIssues": issues, "profileChecks": profiles, "adapterChecks": adapters})
    return 0 if ok else 1


def _stamp(moment: "datetime") -> str:
    """As the original writes times: milliseconds and Z."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
