"""Rows: how records stand in the tables, and how they come back. The same for both stores.

A column holds what changes or is asked for; `body` and `record` hold the rest as JSON.
"""

from typing import Any, cast

import msgspec

from keisei.records.attempt import ExitStatus, GateSummary, TaskAttempt, Usage
from keisei.records.error import ContractViolation
from keisei.records.form import JsonObject
from keisei.records.id import (
    AdapterId,
    AgentId,
    AttemptId,
    BundleId,
    ProfileId,
    RunnerId,
    ScheduleId,
    SensorEventId,
    SkillId,
    TaskId,
)
from keisei.records.intent import Budget, EvidenceRequirements, WorkflowRef
from keisei.records.outcome import TaskOutcome
from keisei.records.task import TaskRecord, TaskStatus
from keisei.store.clock import maybe_moment, moment

Row = tuple[Any, ...]

TASK = (
    "t.task_id, t.status, t.priority, t.task_type, t.source, t.profile_id, t.adapter_id, t.agent, t.idempotency_key, "
    "t.attempt_count, t.max_attempts, t.available_at, t.created_at, t.updated_at, t.started_at, t.finished_at, "
    "t.outcome, t.last_error, t.body"
)
"""The columns of a task, for `task_of`; the table is called t."""
TASK_WIDTH = TASK.count(",") + 1

ATTEMPT = (
    "a.attempt_id, a.task_id, a.runner_id, a.fence, a.started_at, a.ended_at, a.exit_status, a.retry_class, "
    "a.adapter_id, a.adapter_kind, a.model, a.bundle_id, a.record"
)
"""The columns of an attempt, for `attempt_of`; the table is called a."""


class TaskBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a task never changes and nobody asks for."""

    subject: str | None = None
    """As in TaskRecord; the others too."""
    description: str | None = None
    """Likewise."""
    payload: JsonObject
    """Likewise."""
    requested_model: str | None = None
    """Likewise."""
    skill_ids: tuple[SkillId, ...] = ()
    """Likewise."""
    workflow_ref: WorkflowRef | None = None
    """Likewise."""
    evidence_requirements: EvidenceRequirements | None = None
    """Likewise."""
    schedule_id: ScheduleId | None = None
    """Likewise."""
    sensor_event_id: SensorEventId | None = None
    """Likewise."""
    parent_task_id: TaskId | None = None
    """Likewise."""
    budget: Budget | None = None
    """Likewise."""


class AttemptRest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of an attempt has no column."""

    prompt_path: str | None = None
    """As in TaskAttempt; the others too."""
    stdout_path: str | None = None
    """Likewise."""
    stderr_path: str | None = None
    """Likewise."""
    result_path: str | None = None
    """Likewise."""
    last_message_path: str | None = None
    """Likewise."""
    diagnostics: JsonObject | None = None
    """Likewise."""
    pid: int | None = None
    """Likewise."""
    pgid: int | None = None
    """Likewise."""
    exit_signal: int | None = None
    """Likewise."""
    usage: Usage | None = None
    """Likewise."""
    session_ref: str | None = None
    """Likewise."""
    isolation: tuple[str, ...] = ()
    """Likewise."""
    gate_summary: GateSummary | None = None
    """Likewise."""


_encode = msgspec.json.Encoder().encode
_body = msgspec.json.Decoder(TaskBody).decode
_rest = msgspec.json.Decoder(AttemptRest).decode
_outcome = msgspec.json.Decoder(TaskOutcome).decode
_object = msgspec.json.Decoder(JsonObject).decode
NOTHING = AttemptRest()


def json(value: object) -> str:
    """Any record as JSON text. What an agent wrote may hold half a surrogate pair, which no text can keep: U+FFFD.

    Raises ContractViolation for what is nested too deeply.
    """
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return _encode(_mended(msgspec.to_builtins(value))).decode()
    except RecursionError as error:
        raise ContractViolation("record", ["it is nested too deeply to be stored"]) from error


def parsed(value: str) -> JsonObject:
    """A JSON object out of the tables."""
    return _object(value)


def text(value: str) -> str:
    """Text as both stores can keep it in a column: without NUL and half surrogate pairs."""
    if value.isascii() and "\0" not in value:
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\0", "\ufffd")


def maybe_text(value: str | None) -> str | None:
    """As `text`, where there may be none."""
    return None if value is None else text(value)


LONGEST_NAME = 1000
"""Bytes of a name: PostgreSQL's indexes hold no more than 2,700, and one of ours holds two names."""


def name(value: str) -> str:
    """An id or a key, which must come back as it went in. Raises ContractViolation where no store can keep it."""
    if not fits(value):
        said = value if len(value) <= 40 else f"{value[:40]}..."  # noqa: PLR2004 - enough to recognise it
        why = f"{said!r} is longer than {LONGEST_NAME} bytes or holds a character that cannot be stored"
        raise ContractViolation("id", [why])
    return value


def fits(value: str) -> bool:
    """Whether a text can be a name in both stores."""
    return text(value) == value and len(value) <= LONGEST_NAME and len(value.encode()) <= LONGEST_NAME


def maybe_name(value: str | None) -> str | None:
    """As `name`, where there may be none."""
    return None if value is None else name(value)


def body_of(task: TaskRecord) -> str:
    """What stands in tasks.body."""
    return json(
        TaskBody(
            subject=task.subject,
            description=task.description,
            payload=task.payload,
            requested_model=task.requested_model,
            skill_ids=task.skill_ids,
            workflow_ref=task.workflow_ref,
            evidence_requirements=task.evidence_requirements,
            schedule_id=task.schedule_id,
            sensor_event_id=task.sensor_event_id,
            parent_task_id=task.parent_task_id,
            budget=task.budget,
        )
    )


def task_of(row: Row) -> TaskRecord:
    """A task out of the columns `TASK`, without its lease."""
    body = _body(row[18])
    return TaskRecord(
        task_id=TaskId(row[0]),
        status=cast("TaskStatus", row[1]),
        priority=row[2],
        task_type=row[3],
        source=row[4],
        requested_profile_id=ProfileId(row[5]),
        requested_adapter_id=None if row[6] is None else AdapterId(row[6]),
        agent=None if row[7] is None else AgentId(row[7]),
        idempotency_key=row[8],
        attempt_count=row[9],
        max_attempts=row[10],
        available_at=moment(row[11]),
        created_at=moment(row[12]),
        updated_at=moment(row[13]),
        started_at=maybe_moment(row[14]),
        finished_at=maybe_moment(row[15]),
        outcome=None if row[16] is None else _outcome(row[16]),
        last_error=row[17],
        subject=body.subject,
        description=body.description,
        payload=body.payload,
        requested_model=body.requested_model,
        skill_ids=body.skill_ids,
        workflow_ref=body.workflow_ref,
        evidence_requirements=body.evidence_requirements,
        schedule_id=body.schedule_id,
        sensor_event_id=body.sensor_event_id,
        parent_task_id=body.parent_task_id,
        budget=body.budget,
    )


def rest_of(attempt: TaskAttempt) -> str:
    """What stands in attempts.record."""
    return json(
        AttemptRest(
            prompt_path=attempt.prompt_path,
            stdout_path=attempt.stdout_path,
            stderr_path=attempt.stderr_path,
            result_path=attempt.result_path,
            last_message_path=attempt.last_message_path,
            diagnostics=attempt.diagnostics,
            pid=attempt.pid,
            pgid=attempt.pgid,
            exit_signal=attempt.exit_signal,
            usage=attempt.usage,
            session_ref=attempt.session_ref,
            isolation=attempt.isolation,
            gate_summary=attempt.gate_summary,
        )
    )


def attempt_of(row: Row) -> TaskAttempt:
    """An attempt out of the columns `ATTEMPT`."""
    rest = NOTHING if row[12] == "{}" else _rest(row[12])
    return TaskAttempt(
        attempt_id=AttemptId(row[0]),
        task_id=TaskId(row[1]),
        runner_id=RunnerId(row[2]),
        fence=row[3],
        started_at=moment(row[4]),
        ended_at=maybe_moment(row[5]),
        exit_status=cast("ExitStatus | None", row[6]),
        retry_class=row[7],
        adapter_id=AdapterId(row[8]),
        adapter_kind=row[9],
        model=row[10],
        bundle_id=None if row[11] is None else BundleId(row[11]),
        prompt_path=rest.prompt_path,
        stdout_path=rest.stdout_path,
        stderr_path=rest.stderr_path,
        result_path=rest.result_path,
        last_message_path=rest.last_message_path,
        diagnostics=rest.diagnostics,
        pid=rest.pid,
        pgid=rest.pgid,
        exit_signal=rest.exit_signal,
        usage=rest.usage,
        session_ref=rest.session_ref,
        isolation=rest.isolation,
        gate_summary=rest.gate_summary,
    )


def _mended(value: object) -> object:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, dict):
        return {_mended(key): _mended(item) for key, item in value.items()}
    return [_mended(item) for item in value] if isinstance(value, list | tuple) else value
