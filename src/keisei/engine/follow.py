"""Follow: a follow-up that an outcome asks for becomes a task, waits, or is a dead letter that says why."""

from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from keisei.engine.intake import PRIORITY, Origin, Registry, accept, read_intent
from keisei.engine.office import Office
from keisei.records.adapter import ScriptAdapter
from keisei.records.error import AuthorError, KeiseiError, Refused, WorldFault
from keisei.records.id import TaskId
from keisei.records.move import Delivery, NewEvent, NewTask
from keisei.records.outbox import OutboxItem
from keisei.records.profile import SubagentProfile
from keisei.records.task import TaskRecord
from keisei.rules.delivery import number_of
from keisei.rules.follow_up import check_place, curbed

HOUR: Final = timedelta(hours=1)
WAIT: Final = timedelta(minutes=5)
"""How long a follow-up waits before it is looked at again."""


class _Later(Exception):
    """Not now; its text says why."""


def followed(item: OutboxItem, office: Office, rate: int) -> Delivery:
    """What becomes of the row. Raises WorldFault where the store is away, and nothing else."""
    now = office.store.now()
    try:
        task = _task(item, office, rate, now)
    except _Later as wait:
        return Delivery(item=replace(item, reason=str(wait), tries=item.tries + 1, next_try_at=now + WAIT))
    except WorldFault:
        raise
    except KeiseiError as error:
        return _dead(item, error.message)
    except Exception as error:  # noqa: BLE001 - what an agent wrote must not keep the rows behind it
        return _dead(item, f"this is a bug in keisei: {error!r}"[:500])
    done = replace(item, status="delivered", reason=None, tries=item.tries + 1, next_try_at=None, delivered_at=now)
    return Delivery(item=done, task=task, events=(_event(item, created_task_id=task.task.task_id),))


def _task(item: OutboxItem, office: Office, rate: int, now: datetime) -> NewTask:
    store = office.store
    parent = store.task(item.task_id) if item.task_id is not None else None
    if parent is None:
        raise Refused("a follow-up without a task has nobody to follow")
    depth = store.depth(parent.task_id) + 1
    check_place(depth, number_of(item.key))
    # What an agent says of where its wish comes from is not asked, and not even read.
    said = {name: value for name, value in item.payload.items() if name not in ("idempotency_key", "workflow_ref")}
    wish = read_intent(said | {"source": "agent"})
    usual = office.defaults.max_attempts
    intent = curbed(wish, parent, key=item.key, priority=PRIORITY, max_attempts=usual)
    _check_rate(parent, office, rate, now)
    origin = Origin(parent_task_id=parent.task_id, depth=depth)
    try:
        registry = office.registry()
        task = accept(intent, registry, office.defaults, origin=origin, task_id=TaskId(office.new_id()), now=now)
        _check_authority(task.task, parent, registry)
    except (AuthorError, WorldFault) as error:  # somebody may be editing the files just now
        raise _Later(f"the authored files cannot be read: {error.message}"[:2000]) from error
    return task


def _check_authority(task: TaskRecord, parent: TaskRecord, registry: Registry) -> None:
    """An agent hands work to its own role, or to those its role hands over to, on the adapters they have.

    Plain programs are under no gate: only an agent that is one itself may ask for one, or whose role hands over to it.
    """
    profile, own = registry.profile(task.requested_profile_id), registry.profile(parent.requested_profile_id)
    if profile.role != own.role and profile.role not in registry.handoff(own.role):
        raise Refused(
            f"a task of role `{own.role}` cannot ask for profile `{profile.profile_id}` of role `{profile.role}`",
            f"name it in `[pipeline] handoff` of the role `{own.role}`",
        )
    usual = (parent.requested_adapter_id, profile.default_adapter_id, *profile.fallback_adapter_ids)
    if task.requested_adapter_id is not None and task.requested_adapter_id not in usual:
        raise Refused(f"a follow-up does not choose the adapter `{task.requested_adapter_id}`", "its profile does")
    if task.requested_model not in (None, parent.requested_model, own.default_model, profile.default_model):
        raise Refused(f"a follow-up does not choose the model `{task.requested_model}`", "its profile does")
    if profile.role == own.role and _is_program(task, profile, registry) and not _is_program(parent, own, registry):
        raise Refused(
            f"a task that is no program cannot ask for one, and profile `{profile.profile_id}` runs programs",
            f"give it a role of its own, and name that in `[pipeline] handoff` of the role `{own.role}`",
        )
    if strange := set(task.skill_ids) - {*parent.skill_ids, *own.skill_ids, *profile.skill_ids}:
        raise Refused(f"a follow-up does not choose the skill `{min(strange)}`", "its profile does")


def _is_program(task: TaskRecord, profile: SubagentProfile, registry: Registry) -> bool:
    """Whether a task may be run by a plain program."""
    usual = (profile.default_adapter_id, *profile.fallback_adapter_ids)
    names = usual if task.requested_adapter_id is None else (task.requested_adapter_id,)
    return any(isinstance(registry.adapter(name), ScriptAdapter) for name in names)


def _check_rate(parent: TaskRecord, office: Office, rate: int, now: datetime) -> None:
    if office.store.followed_since(parent.task_type, now - HOUR) >= rate:
        raise _Later(
            f"tasks of type `{parent.task_type}` have asked for {rate} follow-ups within an hour, the most that "
            "`[runner] follow-ups-per-hour` allows: it waits"
        )


def _dead(item: OutboxItem, reason: str) -> Delivery:
    dead = replace(item, status="dead", reason=reason, tries=item.tries + 1, next_try_at=None)
    event = _event(item, reason=reason)
    return Delivery(item=dead, events=(replace(event, event_type="delivery_failed"),))


def _event(item: OutboxItem, **detail: object) -> NewEvent:
    told = {"key": item.key, "kind": item.kind, **detail}
    return NewEvent(event_type="delivery_made", task_id=item.task_id, attempt_id=item.attempt_id, detail=told)
