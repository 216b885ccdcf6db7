"""Decide: somebody says what becomes of what needed a person, or is told again that it does."""

from datetime import datetime

from keisei.records.answer import Decision
from keisei.records.beside import Beside
from keisei.records.id import ApprovalId
from keisei.records.move import TaskMove
from keisei.store.approval import close, resolve, rewrite
from keisei.store.clock import microseconds, moment
from keisei.store.order import MOVE, actor_of, move_params
from keisei.store.row import text
from keisei.store.work import Work, write_beside

_REMIND = """
UPDATE approvals SET reminded_at = :now
WHERE approval_id = :approval_id AND (status = 'open') IS TRUE AND reminded_at IS NULL RETURNING record
"""
_ANNOUNCE = """
UPDATE approvals SET deadline = :deadline
WHERE approval_id = :approval_id AND (status = 'open') IS TRUE AND deadline IS NULL RETURNING record
"""


class TaskHasMovedError(Exception):
    """The task of a decision is not where it was: everything is taken back."""


def decide(work: Work, decision: Decision) -> bool:
    """Write a decision with what follows. False: it was decided before.

    Raises TaskHasMovedError, which takes everything back, where its task has moved, and IllegalMove for what decides
    nothing.
    """
    if not close(work.run, decision.approval):
        return False
    if decision.move is not None:
        _move(work, decision.move)
    write_beside(work, decision.beside)
    return True


def remind(work: Work, approval_id: ApprovalId, beside: Beside) -> bool:
    """Note that somebody was told again. False: it was decided, or noted before."""
    for (record,) in work.run(_REMIND, {"approval_id": text(approval_id), "now": work.now_us}):
        rewrite(work.run, approval_id, record, reminded_at=moment(work.now_us))
        write_beside(work, beside)
        return True
    return False


def announce(work: Work, approval_id: ApprovalId, deadline: datetime, beside: Beside) -> bool:
    """Give it the deadline it has not, with what tells of it. False: it was decided, or has one."""
    for (record,) in work.run(_ANNOUNCE, {"approval_id": text(approval_id), "deadline": microseconds(deadline)}):
        rewrite(work.run, approval_id, record, deadline=deadline)
        write_beside(work, beside)
        return True
    return False


def _move(work: Work, move: TaskMove) -> None:
    """The same as an operator's order to the task."""
    if not work.run(MOVE, move_params(move, work.now_us)):
        raise TaskHasMovedError
    resolve(work.run, move.task.task_id, actor_of(move.ledger), work.now_us)
    work.add_events(move.events)
    work.add_ledger(move.ledger)
