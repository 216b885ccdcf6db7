"""Spawns: who an attempt spawns, by its task's file or its row, and what of the usual does not hold for it."""

import hashlib
from typing import Final, NamedTuple

from keisei.engine.compose import holding
from keisei.engine.control import AGAIN
from keisei.engine.fork import Bypass, Spawn
from keisei.engine.gather import task_file
from keisei.engine.land import RESPAWN
from keisei.records.adapter import AdapterConfig
from keisei.records.confinement import LEVELS, Level
from keisei.records.error import KeiseiError
from keisei.records.id import SpawnId
from keisei.records.move import Claimed
from keisei.records.task import TaskRecord
from keisei.records.task_spec import TaskSpec
from keisei.rules.agent_id import fault, of_task
from keisei.rules.dna import dna
from keisei.rules.follow_up import TASK_SOURCE
from keisei.rules.redact import Redactor
from keisei.rules.refusal import MOST, bounded
from keisei.rules.role import ResolvedRole
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.shop import Shop

HEIRS: Final = (AGAIN, RESPAWN)
"""How the keys of tasks begin that take over from one that is over: they are the same spawn once more."""
DEEPEST: Final = 100
"""Tasks that are followed to the one whose heir a task is."""
UNCONFINED: Final = "danger-full-access"


class Called(NamedTuple):
    """A spawn's id, and its parent's."""

    own: SpawnId
    parent: SpawnId | None


def spawn_of(shop: Shop, registry: CatalogRegistry, claimed: Claimed, told: TaskSpec, stored: bytes) -> Spawn:
    """The spawn of an attempt; `stored` is its task as evidence has it. The nonce of its DNA is of the attempt's id."""
    names, attempt_id = called(shop, registry, claimed.task), claimed.attempt.attempt_id
    nonce = int.from_bytes(hashlib.sha256(attempt_id.encode("utf-8", "replace")).digest()[:4], "big")
    return Spawn(
        agent_id=names.own,
        parent=names.parent,
        spec_sha256=hashlib.sha256(stored).hexdigest(),
        dna=dna(told.task.role, holding(registry.material, told), told, nonce),
    )


def called(shop: Shop, registry: CatalogRegistry, task: TaskRecord) -> Called:
    """What a task's spawn is called, and its parent.

    A file names both, unless an agent wrote it: then the rows say who asked, and the id is made of the task's own, so
    that nobody passes for another. A task that takes over from one that is over is the same spawn.
    """
    first = _first(shop, task)
    file = _file(registry, first)
    own = _own(first, file)
    above = shop.store.task(first.parent_task_id) if first.parent_task_id is not None else None
    if above is not None:
        root = _first(shop, above)
        return Called(own, _own(root, _file(registry, root)))
    named = file.task.parent_agent if file is not None else None
    return Called(own, SpawnId(named) if named and fault(named) is None and named != own else None)


def _own(task: TaskRecord, file: TaskSpec | None) -> SpawnId:
    named = file.task.agent_id if file is not None and not task.source.startswith(TASK_SOURCE) else None
    return SpawnId(named) if named and fault(named) is None else of_task(task.task_id, task.created_at)


def _first(shop: Shop, task: TaskRecord) -> TaskRecord:
    """The task whose heir it is; itself where it is none."""
    for _ in range(DEEPEST):
        if task.parent_task_id is None or not (task.idempotency_key or "").startswith(HEIRS):
            break
        above = shop.store.task(task.parent_task_id)
        if above is None:
            break
        task = above
    return task


def _file(registry: CatalogRegistry, task: TaskRecord) -> TaskSpec | None:
    """The file that a task is; None of any other, and of one that cannot be read any more."""
    try:
        return task_file(registry.task_type(task.task_type), task)
    except KeiseiError:
        return None


def bypass_of(
    told: TaskSpec, role: ResolvedRole, config: AdapterConfig, level: Level | None, redactor: Redactor
) -> Bypass:
    """What does not hold for an attempt; `level` is what confines it, None where nothing is to."""
    elevate, required = told.elevate, role.isolation.require
    weaker = level is not None and LEVELS.index(level) < LEVELS.index(required)
    return Bypass(
        elevated=elevate.capabilities[:MOST] if elevate is not None else (),
        because=bounded(elevate.reason, redactor) if elevate is not None else None,
        required=required if weaker else None,
        had=level if weaker else None,
        sandbox=UNCONFINED if getattr(config, "sandbox", None) == UNCONFINED else None,
    )
