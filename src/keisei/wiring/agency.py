"""The agency: the project an atom asks about its tasks, and who asks.

An attempt that asks is held to its own task and to what stands below it. Who asks is told by the surroundings of this
process, which a trusted process made; never by what is asked.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from keisei.engine.budget import NOTHING, policy_of
from keisei.engine.office import Office
from keisei.engine.ports import Store
from keisei.records.budget import Amount, BudgetPolicy
from keisei.records.error import OperatorError
from keisei.records.id import AttemptId, TaskId
from keisei.records.project import ProjectRunner
from keisei.records.task import TaskRecord
from keisei.rules.budget import FREE_KIND
from keisei.sandbox.relay_till import TILL, read_till
from keisei.settings import Settings, read_settings
from keisei.wiring import catalog
from keisei.wiring.account import actor
from keisei.wiring.atom_runtime import working_directory
from keisei.wiring.fresh import new_id
from keisei.wiring.registry import CatalogRegistry, defaults_of
from keisei.wiring.store import Home, open_home_store, project_home
from keisei.wiring.verb_error import VerbError, as_code

FURTHEST: Final = 1000
"""Tasks above one that are looked at: a task that was queued again stands below the one it replaces."""


class Agency(NamedTuple):
    """A project, opened for one who asks."""

    home: Home
    store: Store
    office: Office
    """What makes tasks; the authored files are read when they are first asked for."""
    caller: AttemptId | None = None
    """The attempt that asks; None for whoever works at this machine."""

    @property
    def actor(self) -> str:
        """Who asks, for the ledger."""
        return actor() if self.caller is None else f"attempt:{self.caller}"

    @property
    def policy(self) -> BudgetPolicy | None:
        """The limits of the project."""
        return policy_of(self.home.file.budget)

    @property
    def rate(self) -> int:
        """How many tasks those of one type may ask for within an hour."""
        return (self.home.file.runner or ProjectRunner()).follow_ups_per_hour

    def spent(self) -> Amount:
        """What the attempt that asks has spent so far, as its relay counts; None where that is not known.

        An attempt that was given no bundle, and one of a plain program, call no model.
        """
        attempt = None if self.caller is None else self.store.attempt(self.caller)
        if attempt is None or attempt.bundle_id is None or attempt.adapter_kind == FREE_KIND:
            return NOTHING
        return read_till(self.home.run / attempt.attempt_id / TILL)

    def own_task(self) -> TaskRecord | None:
        """The task of the attempt that asks; None outside of attempts.

        Raises VerbError for an attempt that nobody knows, or that is over. Falls closed.
        """
        if self.caller is None:
            return None
        attempt = self.store.attempt(self.caller)
        task = None if attempt is None else self.store.task(attempt.task_id)
        if attempt is None or task is None:
            raise VerbError("NotAllowed", "no attempt of this project asks here")
        if attempt.ended_at is not None or task.status != "running":
            raise VerbError("NotAllowed", f"attempt {attempt.attempt_id} is over, and asks for nothing more")
        return task

    def task(self, task_id: str) -> TaskRecord:
        """The task, where whoever asks may know of it. Raises VerbError.

        Inside an attempt a task that is not there and one of somebody else are told alike.
        """
        own, found = self.own_task(), self.store.task(TaskId(task_id))
        if own is not None and (found is None or not self._is_below(found, own)):
            raise VerbError("NotAllowed", f"task `{task_id}` is not this attempt's own, nor below it")
        if found is None:
            raise VerbError("UnknownTask", f"no task has the id `{task_id}`", "`keisei task list` shows all")
        return found

    def _is_below(self, task: TaskRecord, own: TaskRecord) -> bool:
        """Whether it is the task itself, or one that was asked for by it or by one below it."""
        found: TaskRecord | None = task
        for _ in range(FURTHEST):
            if found is None or found.task_id == own.task_id:
                return found is not None
            found = self.store.task(found.parent_task_id) if found.parent_task_id is not None else None
        return False


@contextmanager
def open_agency(settings: Settings | None = None, start: Path | None = None) -> Iterator[Agency]:
    """The agency of the project around a folder, closed afterwards. Raises VerbError, AuthorError, WorldFault.

    Inside an attempt the folder must be the project's own, which agents cannot write: whoever starts this process
    sees to that.
    """
    own = read_settings() if settings is None else settings
    here = start or working_directory()
    with as_code("StoreAway", OperatorError):
        home = project_home(own, here)
    if home.root is None:
        raise VerbError("NoProject", "there is no project here", "call it inside of a folder with a keisei.toml")
    with as_code("StoreAway", OperatorError):
        store = open_home_store(own, home)
    try:
        registry = cache(lambda: CatalogRegistry(catalog(own, start=here)))
        caller = AttemptId(own.attempt_id) if own.attempt_id else None
        yield Agency(home, store, Office(store, registry, defaults_of(home), new_id), caller)
    finally:
        store.close()
