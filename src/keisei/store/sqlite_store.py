"""The store on SQLite: one machine, one file, nothing to install."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from keisei.records.beside import NOTHING, Beside
from keisei.records.id import AdapterId, RunnerId, TaskId
from keisei.records.move import (
    CancelOrder,
    Claimed,
    ClaimOrder,
    Delivery,
    Enqueued,
    LandingMove,
    NewEvent,
    NewTask,
    PauseOrder,
    Progress,
    Settled,
    Settlement,
    Sweep,
    TaskMove,
)
from keisei.records.pipe_run import PipeMove, PipeRun
from keisei.records.request import RequestAnswer, RequestRecord
from keisei.records.runner import Beat, RunnerRecord
from keisei.store.autonomy import Autonomy
from keisei.store.bell import SocketBell
from keisei.store.breaker import reset_breaker_sqlite
from keisei.store.budget_claim import claim_covered
from keisei.store.claim import claim_sqlite
from keisei.store.clock import Clock
from keisei.store.due import wake_due_sqlite
from keisei.store.either import Either
from keisei.store.enqueue import enqueue_sqlite
from keisei.store.landing import move_landing
from keisei.store.ledger import SqliteLedger
from keisei.store.note import note_sqlite, prune_sqlite
from keisei.store.order import move_sqlite, pause_sqlite, request_cancel_sqlite
from keisei.store.outbox import deliver_sqlite
from keisei.store.pipe import begin_run, forget_runs, move_run, take_run
from keisei.store.progress import progress_sqlite
from keisei.store.request import answer_request, begin_request, withdraw_request
from keisei.store.runner import beat_sqlite, drain, leave_sqlite, register_sqlite
from keisei.store.settle import settle_sqlite
from keisei.store.sqlite import Sqlite
from keisei.store.sweep import adopt_sqlite, sweep_sqlite
from keisei.store.work import SqliteWork, Work, requeue

T = TypeVar("T")


class SqliteStore(Either, Autonomy):
    """One database. Any number of threads may use it."""

    def __init__(self, path: Path, clock: Clock, bell_folder: Path | None = None) -> None:
        """Open the file, made or brought up to date if need be. Raises OperatorError or WorldFault, in one sentence."""
        self._bell: SocketBell = SocketBell(bell_folder)
        self._reader: Sqlite = Sqlite(path, clock)
        self._ledger = SqliteLedger(self._reader)

    def enqueue(self, tasks: Sequence[NewTask]) -> list[Enqueued]:
        """Queue tasks in one commit, each with its event. A known key or id writes nothing."""
        return enqueue_sqlite(self._reader, tasks)

    def requeue(self, task: NewTask, beside: Beside) -> Enqueued:
        """Queue one task with what is written beside it. A known key or id writes nothing of either."""
        return self._do(partial(requeue, task=task, beside=beside))

    def wake_due(self) -> int:
        """Make delayed tasks whose moment has come claimable. How many."""
        return wake_due_sqlite(self._reader)

    def claim(self, order: ClaimOrder) -> list[Claimed]:
        """Take claimable tasks, best first, as far as budgets cover them."""
        if order.budget is not None:
            return self._do(partial(claim_covered, order=order))
        return claim_sqlite(self._reader, order)

    def progress(self, progress: Progress) -> bool:
        """Write how far an attempt has come. False: its fence does not hold."""
        return progress_sqlite(self._reader, progress)

    def settle(self, settlement: Settlement) -> Settled:
        """Close the attempt and move its task."""
        return settle_sqlite(self._reader, settlement)

    def move(self, move: TaskMove) -> bool:
        """Move a task that nobody runs. False: it has another status by now."""
        return move_sqlite(self._reader, move)

    def request_cancel(self, order: CancelOrder) -> tuple[TaskId, ...]:
        """Ask the runners of running tasks to end them."""
        return request_cancel_sqlite(self._reader, order)

    def register(self, runner: RunnerRecord) -> None:
        """A runner begins; its heartbeat starts now."""
        register_sqlite(self._reader, runner)

    def beat(self, runner_id: RunnerId) -> Beat:
        """Renew the lease."""
        return beat_sqlite(self._reader, runner_id)

    def drain(self, runner_id: RunnerId, beside: Beside = NOTHING) -> bool:
        """Tell a runner to take nothing new. False where it is not active."""
        return self._do(partial(drain, runner_id=runner_id, beside=beside))

    def leave(self, runner_id: RunnerId) -> None:
        """A runner stops by itself."""
        leave_sqlite(self._reader, runner_id)

    def sweep(self, sweep: Sweep) -> list[Claimed]:
        """Give up who is gone, and take its open attempts."""
        return sweep_sqlite(self._reader, sweep)

    def adopt(self, claimed: Claimed, runner_id: RunnerId) -> Claimed | None:
        """Put an attempt that sweep found under a living runner. None: too late."""
        return adopt_sqlite(self._reader, claimed, runner_id)

    def pause(self, order: PauseOrder) -> None:
        """Stop or resume claiming."""
        pause_sqlite(self._reader, order)

    def reset_breaker(self, adapter_id: AdapterId, actor: str) -> bool:
        """Forget an adapter's failures. False where there were none."""
        return reset_breaker_sqlite(self._reader, adapter_id, actor)

    def note(self, events: Sequence[NewEvent]) -> None:
        """Write events that belong to no other move."""
        note_sqlite(self._reader, events)

    def prune(self, before: datetime) -> int:
        """Remove events and slots older than that, some thousands at once. How many."""
        return prune_sqlite(self._reader, before)

    def deliver(self, delivery: Delivery) -> bool:
        """Write what became of an outbox row. False: somebody was quicker."""
        return deliver_sqlite(self._reader, delivery)

    def move_landing(self, move: LandingMove) -> bool:
        """Move a landing, with everything that follows. False: it has another status by now."""
        return self._do(partial(move_landing, move=move))

    def begin_run(self, run: PipeRun) -> None:
        """Keep a new run of a pipe. Raises IllegalMove for a known id."""
        self._do(partial(begin_run, run=run))

    def take_run(self, run: PipeRun) -> PipeRun:
        """Take a run over; its fence is one higher then. Raises IllegalMove where somebody else has."""
        return self._do(partial(take_run, run=run))

    def move_run(self, move: PipeMove) -> bool:
        """Write members, status and ledger rows of a run at once. False: the fence is older; only calls were told."""
        return self._do(partial(move_run, move=move))

    def forget_runs(self, before: datetime, limit: int = 100) -> int:
        """Remove runs of pipes that did not move since, with their members; how many."""
        return self._do(partial(forget_runs, before=before, limit=limit))

    def begin_request(self, key: str, actor: str, digest: str) -> RequestRecord:
        """Begin an order that came with a key, or tell what became of it."""
        return self._do(partial(begin_request, key=key, actor=actor, digest=digest))

    def answer_request(self, answer: RequestAnswer) -> bool:
        """Keep the answer to one. False: it is somebody else's by now."""
        return self._do(partial(answer_request, answer=answer))

    def withdraw_request(self, key: str, actor: str, fence: int) -> bool:
        """Forget one that was not carried out. False: it is somebody else's by now."""
        return self._do(partial(withdraw_request, key=key, actor=actor, fence=fence))

    def _do(self, action: Callable[[Work], T]) -> T:
        with self._reader.write() as cursor:
            return action(SqliteWork(cursor, self._reader.now_us()))

    def close(self) -> None:
        """Give back connections, locks and sockets. Safe to say twice."""
        self._bell.close()
        self._reader.close()
