"""Forks: other candidates of the repository, and what the ledger holds, for predicates about them."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from keisei.records.error import KeiseiError
from keisei.records.id import TaskId
from keisei.records.move import TaskQuery
from keisei.records.task import TaskRecord
from keisei.records.verification import Fork
from keisei.records.worktree import RepositoryFacts
from keisei.wiring.shop import Shop
from keisei.workspace.git import asked, shared
from keisei.workspace.merge import changes_between, merge
from keisei.workspace.ref import find_ref

MOST: Final = 1000
"""Tasks among which an agent-id is looked for, the newest first."""


class RepositoryForks:
    """Answers from the store and the repository. Never raises: what cannot be found is not there."""

    def __init__(self, shop: Shop, facts: RepositoryFacts, scratch: Path) -> None:
        """`scratch` is a folder of its own; nothing is written before it is needed."""
        self._shop, self._facts, self._scratch = shop, facts, scratch

    def find(self, target: str) -> Fork | None:
        """The candidate of an agent-id, a task id or a commit."""
        with suppress(KeiseiError):
            commit = self._commit_of(target)
            if commit is not None:
                base = shared(self._facts.common_dir, "rev-parse", f"{commit}^").decode("ascii").strip()
                changes = changes_between(self._facts.common_dir, base, commit)
                return Fork(commit=commit, files=tuple(each.path for each in changes))
        return None

    def _commit_of(self, target: str) -> str | None:
        if self.has_commit(target):
            return target
        store = self._shop.store
        named = store.task(TaskId(target))
        tasks = (
            [named] if named is not None else [each for each in store.tasks(TaskQuery(limit=MOST)) if _is(each, target)]
        )
        for task in tasks:
            for attempt in reversed(store.attempts(task.task_id, MOST)):
                kept = find_ref(self._facts.common_dir, "candidate", attempt.attempt_id)
                if kept is not None:
                    return kept.commit
        return None

    def has_commit(self, commit: str) -> bool:
        """Whether the repository has it, by its full id."""
        if len(commit) not in (40, 64) or set(commit) - set("0123456789abcdef"):
            return False
        words = ("cat-file", "-e", f"{commit}^{{commit}}")
        return asked(words, {"GIT_DIR": self._facts.common_dir}, self._facts.common_dir).code == 0

    def conflicts(self, commit: str) -> tuple[str, ...] | None:
        """Paths in which it conflicts with main."""
        if not self.has_commit(commit):
            return None
        with suppress(KeiseiError):
            base = shared(self._facts.common_dir, "merge-base", self._facts.head, commit).decode("ascii").strip()
            return merge(self._facts.common_dir, self._scratch, self._facts.head, commit, base).conflicts
        return None

    def has_row(self) -> bool:
        """Whether the ledger takes the row of this spawn: it is written with what this verification comes to."""
        return True


def _is(task: TaskRecord, agent_id: str) -> bool:
    own = task.payload.get("task")
    return isinstance(own, dict) and own.get("agent-id") == agent_id
