"""Posting: the outbox as deliveries and operators use it."""

from datetime import datetime

from keisei.records.beside import Beside
from keisei.records.outbox import OutboxItem
from keisei.rules.follow_up import ASKED, TASK_SOURCE
from keisei.store.ask import known, whole
from keisei.store.clock import microseconds
from keisei.store.outbox import ONE, item_of
from keisei.store.reader import Reader
from keisei.store.row import text
from keisei.store.work import Work, write_beside

# IS TRUE keeps a plan from reading all pending rows to find one.
_PENDING = "key = :key AND (status = 'pending') IS TRUE"
_TAKE = f"""
UPDATE outbox SET tries = tries + 1, next_try_at = :until
WHERE {_PENDING} AND tries = :tries AND (next_try_at IS NULL OR next_try_at <= :now) RETURNING 1
"""  # noqa: S608 - constants
_REDELIVER = """
UPDATE outbox SET status = 'pending', tries = 0, reason = NULL, next_try_at = NULL, delivered_at = NULL
WHERE key = :key AND (status IN ('dead', 'refused')) IS TRUE RETURNING 1
"""
_GIVE_UP = f"UPDATE outbox SET status = 'dead', reason = :reason, next_try_at = NULL WHERE {_PENDING} RETURNING 1"  # noqa: S608
_FOLLOWED = """SELECT count(*) FROM outbox o
WHERE o.status = 'delivered' AND o.kind = 'follow_up_task' AND o.delivered_at >= :since"""
_ASKED = f"""SELECT count(*) FROM tasks c
WHERE c.depth > 0 AND c.created_at >= :since AND substr(c.idempotency_key, 1, {len(ASKED)}) = '{ASKED}'"""  # noqa: S608
_OF_TYPE = " AND EXISTS (SELECT 1 FROM tasks t WHERE t.task_id = %s AND t.task_type = :task_type)"
_PARENT = f"substr(c.source, {len(TASK_SOURCE) + 1})"
_ALL = f"SELECT ({_FOLLOWED}) + ({_ASKED})"
_BY_TYPE = f"SELECT ({_FOLLOWED}{_OF_TYPE % 'o.task_id'}) + ({_ASKED}{_OF_TYPE % _PARENT})"


def take(work: Work, key: str, tries: int, until: datetime) -> bool:
    """Speak for a pending row that was tried so often; its tries grow by one. False: somebody was quicker."""
    params = {"key": known(key), "tries": whole(tries), "until": microseconds(until), "now": work.now_us}
    return bool(work.run(_TAKE, params))


def redeliver(work: Work, key: str, beside: Beside) -> bool:
    """Put a dead or refused row back, as if never tried. False: it is neither."""
    if not work.run(_REDELIVER, {"key": known(key)}):
        return False
    write_beside(work, beside)
    return True


def give_up(work: Work, key: str, reason: str, beside: Beside) -> bool:
    """End a pending row as dead. False: it is not pending."""
    if not work.run(_GIVE_UP, {"key": known(key), "reason": text(reason)}):
        return False
    write_beside(work, beside)
    return True


def read_outbox_item(reader: Reader, key: str) -> OutboxItem | None:
    """One row."""
    return next(map(item_of, reader.read(ONE, {"key": known(key)})), None)


def read_followed_since(reader: Reader, task_type: str | None, since: datetime) -> int:
    """How many tasks were asked for by tasks since then; by those of this type, or by all."""
    params = {"since": microseconds(since)} | ({} if task_type is None else {"task_type": known(task_type)})
    return int(reader.read(_ALL if task_type is None else _BY_TYPE, params)[0][0])
