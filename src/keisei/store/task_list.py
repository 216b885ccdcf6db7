"""Lists of tasks: newest first, narrowed in any way, a page at a time. No question looks at more than it must.

Conditions on what a task is are answered along an index that holds nothing else; conditions on where it stands by the
index of that place. Where both are asked for, the side with fewer rows leads.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from keisei.records.id import TaskId
from keisei.records.move import TaskPage, TaskQuery
from keisei.records.task import TaskRecord, TaskStatus
from keisei.store.ask import bounded, known
from keisei.store.clock import microseconds
from keisei.store.reader import Reader, Row
from keisei.store.task import LEASED, PLACES, leased

MANY: Final = 5000
"""A place with as many tasks is not walked through in search of something else."""
WAITING: Final = 2
"""Places below it are those of tasks that wait."""
LOOKED_AT, CHUNK, HEAD = 3000, 1000, 400
"""How many tasks are searched for a text, how many at once, and how much of each: its subject stands first."""

NAMES: Final = {
    "task_type": "task_type",
    "source": "source",
    "profile": "profile_id",
    "agent": "agent",
    "adapter": "adapter_id",
}
MOMENTS: Final = {"created_from": "created_at >= :created_from", "created_until": "created_at < :created_until"}
BEFORE = "{seq} < (SELECT b.seq FROM tasks b WHERE b.task_id = :before)"
SUBJECT = re.compile(r'\{"subject":"((?:[^"\\]|\\.)*)')


class _Asked(NamedTuple):
    """A question in the words of the tables."""

    sql: str
    """The places of the tasks that fit, in no order; at most `:limit` of them matter."""
    params: dict[str, Any]
    """Its parameters, all but the limit."""


def read_tasks(reader: Reader, query: TaskQuery) -> list[TaskRecord]:
    """A page of tasks, newest first. Older than a task that is not there: none."""
    return list(find_tasks(reader, query).tasks)


def find_tasks(reader: Reader, query: TaskQuery) -> TaskPage:
    """A page of tasks, newest first, and where the next one begins."""
    if query.text:
        return _search(reader, query, query.text.casefold())
    limit = bounded(query.limit)
    asked = _asked(reader, query)
    sql = f"{LEASED} WHERE t.seq IN ({asked.sql}) ORDER BY t.seq DESC LIMIT :limit"
    found = list(map(leased, reader.read(sql, {**asked.params, "limit": limit + 1})))
    more = 0 < limit < len(found)
    return TaskPage(tasks=tuple(found[:limit]), next=found[limit - 1].task_id if more else None)


def _search(reader: Reader, query: TaskQuery, wanted: str) -> TaskPage:
    """Look at the newest of those that fit otherwise, until the page is full or enough were looked at."""
    limit, places, last = bounded(query.limit), list[int](), query.before
    for _ in range(LOOKED_AT // CHUNK):
        rows = _heads(reader, replace(query, before=last))
        for number, row in enumerate(rows, 1):
            last = TaskId(row[1])
            if len(places) < limit and _holds(row, wanted):
                places.append(row[0])
            if len(places) >= limit:
                is_last = number == len(rows) < CHUNK
                return TaskPage(tasks=_at(reader, places), next=None if is_last or not limit else last)
        if len(rows) < CHUNK:
            return TaskPage(tasks=_at(reader, places))
    return TaskPage(tasks=_at(reader, places), next=last, stopped=True)


def _heads(reader: Reader, query: TaskQuery) -> list[Row]:
    asked = _asked(reader, query)
    sql = (
        f"SELECT t.seq, t.task_id, t.task_type, t.source, substr(t.body, 1, {HEAD}) FROM tasks t "  # noqa: S608 - ours
        f"WHERE t.seq IN ({asked.sql}) ORDER BY t.seq DESC LIMIT :limit"
    )
    return reader.read(sql, {**asked.params, "limit": CHUNK})


def _holds(row: Row, wanted: str) -> bool:
    _, task_id, task_type, source, head = row
    return wanted in "\n".join((task_id, task_type, source, _subject(head))).casefold()


def _subject(head: str) -> str:
    """The subject out of the beginning of a body."""
    found = SUBJECT.match(head)
    if found is None:
        return ""
    try:
        return str(msgspec.json.decode(f'"{found[1]}"')) if "\\" in found[1] else found[1]
    except msgspec.DecodeError:  # it was cut in the middle of an escape
        return found[1]


def _at(reader: Reader, places: Sequence[int]) -> tuple[TaskRecord, ...]:
    if not places:
        return ()
    sql = f"{LEASED} WHERE t.seq IN ({', '.join(map(str, places))}) ORDER BY t.seq DESC"
    return tuple(map(leased, reader.read(sql, {})))


def _asked(reader: Reader, query: TaskQuery) -> _Asked:
    narrow, params = _narrowed(query)
    where = [(ready, status) for status in dict.fromkeys(query.statuses) for ready in PLACES[status]]
    # tasks that wait would be sorted for every part of a search
    large = _large(reader, [place for place in where if narrow or (query.text and place[0] < WAITING)])
    if query.before is not None:
        narrow.append(BEFORE)
        params["before"] = known(query.before)
    pages = [_page(ready, status, narrow) for ready, status in where if (ready, status) not in large]
    if large:
        pages.append(_walk({status for _, status in large}, narrow))
    return _Asked(" UNION ALL ".join(pages) or _top("TRUE", narrow, "seq"), params)


def _narrowed(query: TaskQuery) -> tuple[list[str], dict[str, Any]]:
    names = {name: value for name in NAMES if (value := getattr(query, name)) is not None}
    moments = {name: value for name in MOMENTS if (value := getattr(query, name)) is not None}
    params = {name: known(value) for name, value in names.items()}
    conditions = [f"{NAMES[name]} = :{name}" for name in names] + [MOMENTS[name] for name in moments]
    return conditions, params | {name: microseconds(value) for name, value in moments.items()}


def _large(reader: Reader, where: Sequence[tuple[int, TaskStatus]]) -> set[tuple[int, TaskStatus]]:
    """The places with many tasks."""
    if not where:
        return set()
    counts = " UNION ALL ".join(
        f"SELECT {number}, count(*) FROM (SELECT 1 FROM tasks WHERE {_is(*place)} LIMIT {MANY}) p"  # noqa: S608 - ours
        for number, place in enumerate(where)
    )
    return {where[number] for number, found in reader.read(counts, {}) if found >= MANY}


def _is(ready: int, status: TaskStatus) -> str:
    return f"ready = {ready} AND status = '{status}'"


def _page(ready: int, status: TaskStatus, narrow: Sequence[str]) -> str:
    """The newest of one place. Tasks that wait are indexed by another order, and sorted here.

    The plus keeps the planner from walking through every finished task instead.
    """
    return _top(_is(ready, status), narrow, "+seq" if ready < WAITING else "seq")


def _top(place: str, narrow: Sequence[str], seq: str) -> str:
    chosen = " AND ".join((place, *narrow)).format(seq=seq)
    return f"SELECT seq FROM (SELECT seq FROM tasks WHERE {chosen} ORDER BY {seq} DESC LIMIT :limit) p"  # noqa: S608


def _walk(statuses: set[TaskStatus], narrow: Sequence[str]) -> str:
    """The newest that fit, whose status is looked at one by one. Said as a join, so that the index of lists leads."""
    chosen = " AND ".join(f"l.{condition}" for condition in narrow).format(seq="seq") or "TRUE"
    words = ", ".join(f"'{status}'" for status in sorted(statuses))
    return f"""SELECT seq FROM (
        SELECT l.seq FROM tasks l CROSS JOIN tasks s WHERE s.seq = l.seq AND s.status IN ({words}) AND {chosen}
        ORDER BY l.seq DESC LIMIT :limit
    ) p"""  # noqa: S608 - our own words
