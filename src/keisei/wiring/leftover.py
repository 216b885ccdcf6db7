"""Leftovers: what may go of a project, and the premises it is found on.

An attempt that this store does not know may belong to another one, so what is its is only left over when nobody has
touched it for as long as the work of attempts is kept, and references of it never are.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Literal, NamedTuple

from keisei.engine.ports import Store
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError, OperatorError
from keisei.records.id import AttemptId
from keisei.records.move import LandingQuery
from keisei.records.project import ProjectWorkspace
from keisei.records.task import TERMINAL
from keisei.records.worktree import RepositoryFacts
from keisei.settings import Settings
from keisei.wiring.sockets import runtime_folder
from keisei.wiring.store import Home
from keisei.wiring.yard import PROVING
from keisei.workspace.pool import Pool
from keisei.workspace.repository import facts

Kind = Literal["worktree", "ref", "environment", "run", "socket", "evidence", "pipe", "index"]
SETTLING: Final = timedelta(minutes=1)
"""How long whoever ended an attempt has to clear up after it."""


class Leftover(NamedTuple):
    """One thing that may go."""

    kind: Kind
    name: str
    size: int
    """Bytes on the disk; what a reference keeps is git's to free, and counts as nothing."""
    reason: str
    remove: Callable[[], bool]
    """Does it. False: somebody uses it by now, or it is gone. Raises KeiseiError."""


class Premises(NamedTuple):
    """Everything of a project that grows."""

    home: Home
    store: Store
    limits: ProjectWorkspace
    now: datetime
    actor: str
    sockets: Path | None
    """The folder for sockets; None where it cannot be used."""
    repository: RepositoryFacts | None
    """None where the project stands in none, or in one that agents cannot work on."""
    without: str | None
    """Why there is none, where there should be one."""

    @property
    def stale_before(self) -> datetime:
        """What is older than this is not kept for anybody."""
        return self.now - timedelta(days=self.limits.keep_days)

    def pool(self) -> Pool | None:
        """The project's worktrees; None without a repository."""
        if self.repository is None:
            return None
        return Pool(self.repository, self.home.folder / "worktrees", self.limits.pool)

    def proving(self) -> Pool | None:
        """The checkouts in which candidates are proved; None without a repository."""
        if self.repository is None:
            return None
        return Pool(self.repository, self.home.folder / PROVING, self.limits.pool, keeps=False)

    def attempt(self, name: str) -> TaskAttempt | None:
        """The attempt of that id; None where this store has none. The name may be that of any folder."""
        is_text = name.encode("utf-8", "replace").decode("utf-8") == name
        return self.store.attempt(AttemptId(name)) if is_text else None

    def is_over(self, attempt: TaskAttempt) -> bool:
        """Whether an attempt has ended, and whoever ended it had time to clear up."""
        return attempt.ended_at is not None and attempt.ended_at < self.now - SETTLING

    def finished_at(self, attempt: TaskAttempt) -> datetime | None:
        """When an attempt's task was over for good; None while it is not, or its candidate still waits to land."""
        waiting = LandingQuery(attempt_id=attempt.attempt_id, statuses=("held", "queued", "landing"), limit=1)
        if self.store.landings(waiting):
            return None
        task = self.store.task(attempt.task_id)
        return task.finished_at if task is not None and task.status in TERMINAL else None


def premises(settings: Settings, home: Home, store: Store, actor: str) -> Premises:
    """Look around. Without a repository there are no worktrees and no references; nothing else is missing then."""
    repository = sockets = without = None
    if home.root is not None:
        try:
            repository = facts(home.root, home.file.project.main if home.file.project is not None else "main")
        except KeiseiError as error:
            without = error.message
    with suppress(OperatorError):
        sockets = runtime_folder(settings)
    limits = home.file.workspace or ProjectWorkspace()
    return Premises(home, store, limits, store.now(), actor, sockets, repository, without)
