"""The view: everything the store tells of tasks and attempts, in one text for both databases, without a lock."""

from datetime import datetime
from typing import Protocol

from keisei.records.artifact import ArtifactRecord
from keisei.records.attempt import TaskAttempt
from keisei.records.bundle import BundleRecord
from keisei.records.event import RuntimeEvent
from keisei.records.finding import FindingRecord
from keisei.records.id import AgentId, AttemptId, ProfileId, TaskId
from keisei.records.move import AttemptQuery, EventQuery, TaskPage, TaskQuery
from keisei.records.overview import Overview
from keisei.records.task import TaskRecord, TaskStatus
from keisei.store.artifact import read_artifacts
from keisei.store.attempt import find_attempts, read_attempt, read_attempts, read_bundle, read_findings
from keisei.store.event import find_events, read_events
from keisei.store.overview import read_overview
from keisei.store.reader import Reader
from keisei.store.task import (
    count_claimable,
    count_tasks,
    read_canceled,
    read_children,
    read_depth,
    read_memory,
    read_task,
)
from keisei.store.task_list import find_tasks, read_tasks


class Driver(Reader, Protocol):
    """Either driver, with its clock."""

    def now_us(self) -> int:
        """The store's time, as the tables keep it."""


class Reading:
    """The View port. A store inherits it and says what it reads from; no page holds more than a thousand rows."""

    _reader: Driver

    def task(self, task_id: TaskId) -> TaskRecord | None:
        """One task, with its lease while it runs."""
        return read_task(self._reader, task_id)

    def tasks(self, query: TaskQuery) -> list[TaskRecord]:
        """Tasks, newest first."""
        return read_tasks(self._reader, query)

    def find_tasks(self, query: TaskQuery) -> TaskPage:
        """Tasks, newest first, and where the next page begins."""
        return find_tasks(self._reader, query)

    def counts(self) -> dict[TaskStatus, int]:
        """How many tasks have which status; every status is there."""
        return count_tasks(self._reader)

    def claimable(self) -> int:
        """How many tasks could be claimed now."""
        return count_claimable(self._reader, self._reader.now_us())

    def is_canceled(self, task_id: TaskId) -> bool:
        """Whether somebody wants a running task ended."""
        return read_canceled(self._reader, task_id)

    def depth(self, task_id: TaskId) -> int:
        """How many tasks stand above a task; 0 for one nobody knows."""
        return read_depth(self._reader, task_id)

    def children(self, task_id: TaskId, limit: int = 1000) -> list[TaskRecord]:
        """Tasks that a task asked for, oldest first."""
        return read_children(self._reader, task_id, limit)

    def attempt(self, attempt_id: AttemptId) -> TaskAttempt | None:
        """One attempt."""
        return read_attempt(self._reader, attempt_id)

    def attempts(self, task_id: TaskId | None, limit: int = 50) -> list[TaskAttempt]:
        """Attempts of one task, oldest first; of all tasks, newest first, where none is named."""
        return read_attempts(self._reader, task_id, limit)

    def find_attempts(self, query: AttemptQuery) -> list[TaskAttempt]:
        """Attempts, newest first."""
        return find_attempts(self._reader, query)

    def memory(
        self, agent: AgentId | None, profile: ProfileId, limit: int, until: datetime | None = None
    ) -> list[TaskRecord]:
        """The newest finished tasks of the same agent and profile, newest first; what came after `until` left out."""
        return read_memory(self._reader, agent, profile, limit, until)

    def bundle(self, attempt_id: AttemptId) -> BundleRecord | None:
        """The bundle an attempt was given."""
        return read_bundle(self._reader, attempt_id)

    def findings(self, attempt_id: AttemptId) -> list[FindingRecord]:
        """What verification said."""
        return read_findings(self._reader, attempt_id)

    def artifacts(self, task_id: TaskId) -> list[ArtifactRecord]:
        """Files of a task."""
        return read_artifacts(self._reader, task_id)

    def events(self, query: EventQuery) -> list[RuntimeEvent]:
        """Events, oldest first."""
        return read_events(self._reader, query)

    def find_events(self, query: EventQuery) -> list[RuntimeEvent]:
        """Events, newest first."""
        return find_events(self._reader, query)

    def overview(self, day_start: datetime) -> Overview:
        """What is going on, and what happened since the start of the day."""
        return read_overview(self._reader, self._reader.now_us(), day_start)
