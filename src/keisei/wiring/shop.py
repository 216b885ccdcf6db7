"""The shop: what all attempts of a runner share, and what one attempt leaves for whoever judges it."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import Struct

from keisei.engine.ports import Store
from keisei.evidence.file import FileEvidence
from keisei.records.attempt import TaskAttempt
from keisei.records.error import OperatorError
from keisei.records.launch import Exit, SpoolSummary
from keisei.records.project import ProjectRunner
from keisei.records.report import AgentReport
from keisei.records.snapshot import Entry, Snapshot
from keisei.records.task import TaskRecord
from keisei.rules.evidence import keys_of
from keisei.rules.progression import workflow_behind
from keisei.wiring.probe import Prober
from keisei.wiring.registry import CatalogRegistry
from keisei.wiring.store import Home

if TYPE_CHECKING:
    from keisei.wiring.yard import Yard

BEFORE: Final = "before.json"
GATE_LOG: Final = "gate.jsonl"
RELAY_LOG: Final = "relay.jsonl"
GROWING: Final = ("stdout.log", "stderr.log", GATE_LOG, RELAY_LOG)
"""Files that can be read while the attempt runs."""


class Result(Struct, frozen=True, kw_only=True):
    """result.json: how the harness ended and what the adapter read out of it; all that judging needs of the run."""

    ended: Exit
    """How it ended; the streams are files of their own."""
    report: AgentReport
    """What it says."""
    kept: SpoolSummary
    """What was kept of the streams."""


class Before(Struct, frozen=True, kw_only=True):
    """before.json: the folders as they were before the harness began."""

    artifacts: Snapshot
    """The task's artifact folder."""
    workspace: Snapshot | None
    """The folder it works in; None for a worktree, whose base is known."""
    cwd: str
    """That folder."""
    proofs: dict[str, Entry] = {}
    """Files outside that the task asks for, as far as they were there, by their absolute paths."""


class Shop(NamedTuple):
    """What all attempts of a runner share."""

    home: Home
    store: Store
    registry: Callable[[], CatalogRegistry]
    evidence: FileEvidence
    probe: Prober
    new_id: Callable[[], str]
    runner: ProjectRunner
    artifact_folder: Callable[[TaskRecord], Path]
    """Where a task's artifacts stand."""
    name: str
    """What scripts are told as the runtime's name."""
    state: Path | None = None
    """What scripts are told as the state folder; None for the attempt's own."""
    proofs: Callable[[TaskRecord], Mapping[str, str | None]] = lambda _task: {}
    """Files a task asks for by their absolute paths, wherever they are, each with the text it must hold, if any."""
    yard: "Yard | None" = None
    """What agents are run with; None where only plain programs and models without tools are run."""


def shared_folder(artifacts: Path, task: TaskRecord) -> Path | None:
    """The folder that all tasks of one workflow share; None for a task that no workflow has asked for."""
    workflow_id = workflow_behind(task)
    return None if workflow_id is None else artifacts / "workflows" / workflow_id


def evidence_files(home: Home, attempt: TaskAttempt) -> list[str]:
    """The names of an attempt's evidence files; of one that runs, those that grow."""
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    kept = [key.removeprefix(keys.folder) for key in FileEvidence(home.evidence).keys(keys.folder)]
    growing = home.run / attempt.attempt_id
    return sorted({*kept, *(name for name in GROWING if (growing / name).is_file())})


def read_evidence(home: Home, attempt: TaskAttempt, name: str, start: int, most: int = 1_048_576) -> bytes:
    """A piece of an evidence file, from a place on; empty at its end. Raises OperatorError for a name nobody has."""
    keys = keys_of(attempt.attempt_id, attempt.started_at)
    growing = home.run / attempt.attempt_id / name
    if name in GROWING and growing.is_file():
        with open(growing, "rb", opener=_unlinked) as file:
            file.seek(start)
            return file.read(most)
    stored = FileEvidence(home.evidence).open(keys.of(name))
    if stored is None:
        if attempt.ended_at is None and name in GROWING:
            return b""
        raise OperatorError(f"attempt {attempt.attempt_id} has no evidence `{name}`", "`keisei attempt show` lists all")
    with stored:
        stored.seek(start)
        return stored.read(most)


def _unlinked(path: str, flags: int) -> int:
    """Open a file and nothing that a link leads to."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
