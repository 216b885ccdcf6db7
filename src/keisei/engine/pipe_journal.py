"""The journal of a run: rows that are to be written, and that they are written together or not at all."""

from contextlib import suppress

from keisei.engine.ports import PipeRuns
from keisei.records.error import IllegalMove, KeiseiError, WorldFault
from keisei.records.move import NewEntry
from keisei.records.pipe_run import PipeMember, PipeMove, PipeRun, RunStatus


class Journal:
    """What one session writes. For one thread."""

    def __init__(self, runs: PipeRuns, run: PipeRun) -> None:
        """Nothing is to be written yet."""
        self._runs, self._run = runs, run
        self._members: list[PipeMember] = []
        self._entries: list[NewEntry] = []
        self._doubtful: PipeMove | None = None
        """A move that failed; it may have been written all the same."""

    def __len__(self) -> int:
        """How many members wait to be written."""
        return len(self._members)

    def add(self, member: PipeMember) -> None:
        """A member as it is now."""
        self._members.append(member)

    def tell(self, kind: str, actor: str, body: dict[str, object]) -> None:
        """A ledger row about the run itself."""
        self._entries.append(NewEntry(kind=kind, actor=actor, subject=self._run.run_id, body=body))

    def enter(self, entry: NewEntry) -> None:
        """A ledger row of a call."""
        self._entries.append(entry)

    def write(self, status: RunStatus | None = None, error: str | None = None) -> None:
        """Write all of it, in one transaction.

        Raises IllegalMove where somebody else took the run over, and what the store raises; then it waits for `rescue`.
        """
        if not self._members and not self._entries and status is None:
            return
        move = PipeMove(
            run_id=self._run.run_id,
            fence=self._run.fence,
            members=tuple(self._members),
            entries=tuple(self._entries),
            status=status,
            error=error,
        )
        self._doubtful = move
        if not self._runs.move_run(move):
            self._members, self._entries = [], []
            message = f"somebody else took over the run {self._run.run_id}: this one stopped, and wrote nothing more"
            raise IllegalMove(message, "`keisei pipe show` tells how it goes on")
        self._doubtful, self._members, self._entries = None, [], []

    def rescue(self, trouble: KeiseiError) -> WorldFault:
        """Try once more, after everything has ended; what a person is told, whether it helped or not."""
        message = f"the run stopped, because its rows could not be written: {trouble.message}"
        with suppress(KeiseiError):
            if self._is_written():
                self._members, self._entries = self._members[self._count() :], self._entries[self._told() :]
            self.write("failed", message)
        return WorldFault(message, f"`keisei pipe resume {self._run.run_id}` goes on from what is written")

    def _is_written(self) -> bool:
        """Whether the move that failed reached the store before it did."""
        if self._doubtful is None or not self._doubtful.members:
            return False
        last = self._doubtful.members[-1]
        return self._runs.members(self._run.run_id, last.step, last.index - 1, 1) == [last]

    def _count(self) -> int:
        return len(self._doubtful.members) if self._doubtful else 0

    def _told(self) -> int:
        return len(self._doubtful.entries) if self._doubtful else 0
