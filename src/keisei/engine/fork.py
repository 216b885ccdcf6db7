"""Forks: the ledger rows of an attempt that begins: who was spawned, from what, and what did not hold for it."""

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from keisei import __version__
from keisei.contracts.check import data_of
from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord
from keisei.records.confinement import Level
from keisei.records.id import SpawnId
from keisei.records.move import NewEntry

FORKED: Final = "agent_forked"
"""The row of every spawn; its subject is the spawn's id."""
BYPASS: Final = "bypass_used"
"""The row of an attempt for which less held than usual; its subject is the attempt."""


class Spawn(Struct, frozen=True, kw_only=True):
    """Who is spawned, and by whom."""

    agent_id: SpawnId
    """The id of the spawn: the same for every try of its task."""
    parent: SpawnId | None
    """The spawn that asked for it."""
    spec_sha256: str
    """sha256 of the task as the attempt's evidence has it."""
    dna: str
    """What kind of spawn it is, in one line."""


class Bypass(Struct, frozen=True, kw_only=True):
    """What of the usual does not hold for an attempt, because a person said so."""

    elevated: tuple[str, ...] = ()
    """Rules that do not hold for its task."""
    because: str | None = None
    """Why, as the task's author says."""
    required: Level | None = None
    """The isolation its role requires, where less was accepted."""
    had: Level | None = None
    """What the machine has instead."""
    sandbox: str | None = None
    """What its adapter's table gives up, for example `danger-full-access`."""

    @property
    def is_used(self) -> bool:
        """Whether anything did not hold."""
        return bool(self.elevated or self.required or self.sandbox)


def begun(spawn: Spawn, attempt: TaskAttempt, bundle: BundleRecord, bypass: Bypass) -> tuple[NewEntry, ...]:
    """The rows that are written with the beginning of an attempt."""
    return tuple(_rows(spawn, attempt, bundle, bypass))


def _rows(spawn: Spawn, attempt: TaskAttempt, bundle: BundleRecord, bypass: Bypass) -> Iterator[NewEntry]:
    papers = bundle.constitution
    body: dict[str, Any] = {
        "agent_id": spawn.agent_id,
        "task_id": attempt.task_id,
        "attempt_id": attempt.attempt_id,
        "parent": spawn.parent,
        "role": bundle.role,
        "spec_sha256": spawn.spec_sha256,
        "base": bundle.workspace.commit if bundle.workspace is not None else None,
        "dna": spawn.dna,
        "bundle_hash": bundle.bundle_hash,
        "inputs_hash": bundle.inputs_hash,
        "identity": bundle.agent_id,
        "constitution": None if papers is None else data_of(papers),
        "keisei": __version__,
    }
    yield NewEntry(kind=FORKED, actor=attempt.runner_id, subject=spawn.agent_id, body=body)
    if bypass.is_used:
        weaker = None if bypass.required is None else {"required": bypass.required, "had": bypass.had}
        facts = {
            "task_id": attempt.task_id,
            "agent_id": spawn.agent_id,
            "elevated": list(bypass.elevated),
            "because": bypass.because,
            "isolation": weaker,
            "sandbox": bypass.sandbox,
        }
        yield NewEntry(kind=BYPASS, actor=attempt.runner_id, subject=attempt.attempt_id, body=facts)
