"""Queueing a task from an atom: through the one door that intents have, held to its parent inside an attempt."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from keisei.engine.delegate import Means, delegated
from keisei.engine.intake import Origin, Registry, accept, read_intent
from keisei.records.error import OperatorError, Refused
from keisei.records.id import TaskId
from keisei.records.intent import TaskIntent
from keisei.records.move import NewTask
from keisei.records.task import TaskRecord
from keisei.rules.follow_up import ASKED
from keisei.wiring.agency import Agency
from keisei.wiring.verb_error import VerbError, as_code
from keisei.workspace.lock import KeyLocks

NAMES: Final = {
    "profile": "requested_profile_id",
    "adapter": "requested_adapter_id",
    "model": "requested_model",
    "skills": "skill_ids",
}
"""Fields that have a shorter name here than in an intent."""
PATIENCE_S: Final = 20.0
"""How long one call waits for another of the same task."""


def enqueue(agency: Agency, given: dict[str, Any], invocation_id: str) -> dict[str, Any]:
    """Queue a task and ring for it. The same key again is the same task, `created` false. Raises KeiseiError.

    Without a key of its own it has that of the call, so that the same call again is the same task.
    """
    wish = {NAMES.get(name, name): value for name, value in given.items()}
    if (delay := wish.pop("delay_minutes", None)) is not None:
        wish["schedule"] = {"delay_minutes": delay}
    key = str(wish.pop("idempotency_key", invocation_id))
    parent = agency.own_task()
    return _queued(agency, wish, key) if parent is None else _asked(agency, wish, key, parent)


def _queued(agency: Agency, wish: dict[str, Any], key: str) -> dict[str, Any]:
    """What somebody at this machine asks for."""
    with as_code("BadIntent", Refused):
        intent = read_intent({"payload": {}, **wish, "source": agency.actor, "idempotency_key": key})
    office = agency.office
    registry, now = office.registry(), office.store.now()
    _check_names(intent, registry)
    with as_code("BadIntent", OperatorError):
        task_id, origin = TaskId(office.new_id()), Origin(ordered_by=agency.actor)
        task = accept(intent, registry, office.defaults, origin=origin, task_id=task_id, now=now)
    return _entered(agency, task)


def _asked(agency: Agency, wish: dict[str, Any], key: str, parent: TaskRecord) -> dict[str, Any]:
    """What an attempt asks for. One call at a time, so that two of them cannot share what is left for one.

    All calls of an attempt come from one machine, so a lock of that machine is enough.
    """
    with as_code("BadIntent", Refused):
        intent = read_intent({"payload": {}, **wish, "source": "agent"})
    if agency.store.is_canceled(parent.task_id):
        raise VerbError("NotAllowed", f"task {parent.task_id} is about to be ended, and asks for nothing more")
    own_key = f"{ASKED}{parent.task_id}:{key}"
    with _alone(agency, parent):
        for known in agency.store.children(parent.task_id):
            if known.idempotency_key == own_key:
                return _answer(known, created=False)
        _check_names(intent, agency.office.registry())
        with as_code("BadIntent", OperatorError):
            means = Means(agency.rate, agency.policy, agency.spent())
            task = delegated(intent, parent, agency.office, key=own_key, means=means)
        return _entered(agency, task)


@contextmanager
def _alone(agency: Agency, parent: TaskRecord) -> Iterator[None]:
    """Nobody else of this machine asks for the same task meanwhile. Raises WorldFault."""
    locks, key = KeyLocks(agency.home.run), f"asked-{hashlib.sha256(parent.task_id.encode()).hexdigest()[:16]}"
    with locks.own(key, PATIENCE_S):
        try:
            yield
        finally:
            locks.forget(key)


def _check_names(intent: TaskIntent, registry: Registry) -> None:
    """Raises VerbError for a task type or a profile that nobody has."""
    with as_code("UnknownTaskType", OperatorError):
        registry.task_type(intent.task_type)
    if intent.requested_profile_id is not None:
        with as_code("UnknownProfile", OperatorError):
            registry.profile(intent.requested_profile_id)


def _entered(agency: Agency, new: NewTask) -> dict[str, Any]:
    done = agency.store.enqueue([new])[0]
    agency.store.ring()
    if done.created:
        return _answer(new.task, created=True)
    known = agency.store.task(done.task_id)
    return _answer(new.task if known is None else known, created=False)


def _answer(task: TaskRecord, *, created: bool) -> dict[str, Any]:
    budget = task.budget
    return {
        "task_id": task.task_id,
        "created": created,
        "status": task.status,
        "parent": task.parent_task_id,
        "budget": {
            "max_cost_usd": None if budget is None else budget.max_cost_usd,
            "max_tokens": None if budget is None else budget.max_tokens,
        },
    }
