"""The journal of a run: rows that are to be written, and that they are written together or not at all."""

import time
from collections.abc import Callable
from contextlib import suppress

from keisei.engine.ports import PipeRuns
from keisei.records.error import IllegalMove, KeiseiError, WorldFault
from keisei.records.move import NewEntry
from keisei.records.pipe_run import PipeMember, PipeMove, PipeRun, RunStatus

PLACES = 10**9
"""Places of one session: those of a later one stand behind them."""
PATIENCE_S = 10.0
"""How long a store may be away before the run stops."""
PAUSE_S = 0.1
FINISHED = "pipe_finished"


class Journal:
    """What one session writes. For one thread."""

    def __init__(self, runs: PipeRuns, run: PipeRun, actor: str, is_patient: Callable[[], bool]) -> None:
        """Nothing is to be written yet. Nobody waits for a store any more once `is_patient` says no."""
        self._runs, self._run, self._actor, self._is_patient = runs, run, actor, is_patient
        self._patience_s = PATIENCE_S
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

    def tell(self, kind: str, body: dict[str, object]) -> None:
        """A ledger row about the run itself."""
        self._entries.append(NewEntry(kind=kind, actor=self._actor, subject=self._run.run_id, body=body))

    def enter(self, entry: NewEntry) -> None:
        """A ledger row of a call."""
        self._entries.append(entry)

    def write(self, status: RunStatus | None = None, error: str | None = None) -> None:
        """Write all of it, in one transaction. A store that is away for a moment is waited for.

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
        if not self._moved(move):
            self._members, self._entries = [], []
            message = f"somebody else took over the run {self._run.run_id}: this one stopped, and wrote nothing more"
            raise IllegalMove(message, "`keisei pipe show` tells how it goes on")
        self._doubtful, self._members, self._entries = None, [], []

    def _moved(self, move: PipeMove) -> bool:
        """Whether it is written; False for an older fence. Raises what the store raises at last."""
        until = time.monotonic() + self._patience_s
        self._doubtful = None
        while True:
            try:
                return self._is_written() or self._runs.move_run(move)
            except WorldFault as error:
                self._doubtful = move
                if not error.retryable or time.monotonic() >= until or not self._is_patient():
                    raise
            except KeiseiError:
                self._doubtful = move
                raise
            time.sleep(PAUSE_S)

    def rescue(self, trouble: KeiseiError) -> WorldFault:
        """Try once more, after everything has ended; what a person is told, whether it helped or not."""
        message = f"the run stopped, because its rows could not be written: {trouble.message}"
        self._patience_s = 0.0
        with suppress(KeiseiError):
            if self._doubtful is not None and self._is_written():
                self._members = self._members[len(self._doubtful.members) :]
                self._entries = self._entries[len(self._doubtful.entries) :]
                if any(each.kind == FINISHED for each in self._doubtful.entries):
                    return WorldFault(f"the run ended, and its store failed then: {trouble.message}")
            self._entries = [each for each in self._entries if each.kind != FINISHED]
            self.tell(FINISHED, {"status": "failed", "exit_code": 1, "error": message})
            self.write("failed", message)
        return WorldFault(message, f"`keisei pipe resume {self._run.run_id}` goes on from what is written")

    def _is_written(self) -> bool:
        """Whether the move that failed reached the store before it did."""
        move = self._doubtful
        if move is None:
            return False
        # a place of this session was never given before; other rows may be equal to those of an earlier one
        first = move.fence * PLACES
        last = next((each for each in reversed(move.members) if (each.finished or 0) >= first), None)
        if last is not None:
            return self._runs.members(self._run.run_id, last.step, last.index - 1, 1) == [last]
        kept = self._runs.pipe_run(self._run.run_id) if move.status is not None else None
        return kept is not None and (kept.fence, kept.status, kept.error) == (move.fence, move.status, move.error)
