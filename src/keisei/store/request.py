"""Requests: an order with an `Idempotency-Key` is begun by one, answered once, and remembered for a day."""

from keisei.records.error import ContractViolation
from keisei.records.request import LARGEST_ANSWER, STALE_S, RequestAnswer, RequestRecord
from keisei.store.ask import known
from keisei.store.clock import moment
from keisei.store.row import Row, name
from keisei.store.work import Work

STALE_US = round(STALE_S * 1_000_000)

# Whoever comes second waits here for the first, and finds its row. One that was begun in the future was begun before
# the clock was set back: nobody would wait for it as long.
_BEGIN = """
INSERT INTO requests (actor, key, digest, fence, began_at) VALUES (:actor, :key, :digest, 1, :now)
ON CONFLICT (actor, key) DO UPDATE SET fence = requests.fence + 1, began_at = excluded.began_at
WHERE requests.status IS NULL AND requests.digest = excluded.digest
    AND (requests.began_at <= :stale OR requests.began_at > :future)
RETURNING fence
"""
_FOUND = "SELECT digest, fence, began_at, status, body FROM requests WHERE actor = :actor AND key = :key"
_MINE = "actor = :actor AND key = :key AND fence = :fence AND status IS NULL"
_ANSWER = f"UPDATE requests SET status = :status, body = :body WHERE {_MINE} RETURNING 1"  # noqa: S608 - constants
_WITHDRAW = f"DELETE FROM requests WHERE {_MINE} RETURNING 1"  # noqa: S608 - constants


def begin_request(work: Work, key: str, actor: str, digest: str) -> RequestRecord:
    """Begin it, or tell what is known of it. Raises ContractViolation for a name that cannot be kept."""
    asked = {"actor": name(actor), "key": name(key), "digest": name(digest)}
    if not all(asked.values()):
        raise ContractViolation("request", ["its key, its actor and its digest are not empty"])
    begin = {"now": work.now_us, "stale": work.now_us - STALE_US, "future": work.now_us + STALE_US}
    for (fence,) in work.run(_BEGIN, {**asked, **begin}):
        now = moment(work.now_us)
        return RequestRecord(key=key, actor=actor, digest=digest, state="fresh", fence=fence, began_at=now)
    found = work.run(_FOUND, asked)
    # withdrawn between two statements of PostgreSQL: whoever asks again will find it gone
    return _told(key, actor, digest, found[0] if found else (digest, 0, work.now_us, None, None))


def answer_request(work: Work, answer: RequestAnswer) -> bool:
    """Keep an answer. False: somebody else has the right to answer by now, or has answered."""
    body = answer.body if len(answer.body) <= LARGEST_ANSWER else None
    mine = _mine(answer.key, answer.actor, answer.fence)
    return bool(work.run(_ANSWER, {**mine, "status": answer.status, "body": body}))


def withdraw_request(work: Work, key: str, actor: str, fence: int) -> bool:
    """Forget one that was not carried out. False as `answer_request` does."""
    return bool(work.run(_WITHDRAW, _mine(key, actor, fence)))


def _mine(key: str, actor: str, fence: int) -> dict[str, str | int]:
    return {"key": known(key), "actor": known(actor), "fence": fence}


def _told(key: str, actor: str, digest: str, row: Row) -> RequestRecord:
    first, fence, began_us, status, body = row
    same = RequestRecord(key=key, actor=actor, digest=first, state="open", fence=fence, began_at=moment(began_us))
    if first != digest:
        return RequestRecord(key=key, actor=actor, digest=first, state="mismatch", fence=fence, began_at=same.began_at)
    if status is None:
        return same
    return RequestRecord(
        key=key,
        actor=actor,
        digest=first,
        state="answered",
        fence=fence,
        began_at=same.began_at,
        status=status,
        body=None if body is None else bytes(body),
    )
