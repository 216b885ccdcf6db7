"""The raw prototype: bare loops over the statements that the store issues, without records, locks and rules.

The statements are not written here. A store is watched while it claims and settles on a database of its own; what it
says to its driver is learnt, text and parameters, and said again for every task with the ids put in. So the prototype
cannot drift from the store, and the difference between the two is what the store costs beside its statements.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple
from unittest import mock

import apsw
import psycopg
from place import Place
from psycopg.types.numeric import Int8Dumper
from work import LOOK, Drained, claimed_by, fill, register, settle

from keisei.records.id import RunnerId
from keisei.records.move import Claimed
from keisei.wiring.runner import new_id

COUNTER = 10**12
"""Whole numbers below it that grow by one from task to task are counted on; larger ones are times."""
SETTINGS = ("pragma", "set_config", "set ")
"""What a connection is told when it opens."""

Values = Any
Execute = Callable[[str | bytes, Values], list[tuple[Any, ...]]]


class Said(NamedTuple):
    """What a driver was told."""

    connection: int
    sql: str | bytes
    values: Values

    @property
    def is_setting(self) -> bool:
        """Whether it is about the connection and not about rows."""
        text = self.sql if isinstance(self.sql, str) else self.sql.decode()
        return any(word in text.lower() for word in SETTINGS)


class Names(NamedTuple):
    """One task at work."""

    task: str
    attempt: str
    number: int
    """How many were before it."""


class Line(NamedTuple):
    """A statement and its parameters."""

    sql: str | bytes
    values: Values
    fill: Callable[[Names], Values] | None = None
    """Makes the parameters, where ids or numbers are in them."""
    task: int | None = None
    """In a claim: which task of the batch it speaks of."""
    fill_claim: Callable[[list[str]], Values] | None = None
    """In a claim: puts in the attempts, where it speaks of all of them."""


class Lesson(NamedTuple):
    """What a store says."""

    session: list[Line]
    claim: list[Line]
    settle: list[Line]
    look: list[Line]


class Watch:
    """Hears what the drivers are told."""

    def __init__(self) -> None:
        self.heard: list[Said] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Connections that are opened in the block are heard."""
        execute = psycopg.RawCursor.execute

        def heard(cursor: psycopg.RawCursor, query: bytes, params: Values = None, **options: Any) -> Any:  # noqa: ANN401
            self.heard.append(Said(id(cursor.connection), query, params))
            return execute(cursor, query, params, **options)

        apsw.connection_hooks.append(self._hook)
        try:
            with mock.patch.object(psycopg.RawCursor, "execute", heard):
                yield
        finally:
            apsw.connection_hooks.remove(self._hook)

    def _hook(self, connection: apsw.Connection) -> None:
        def trace(cursor: apsw.Cursor, sql: str, values: Values) -> bool:
            self.heard.append(Said(id(cursor.connection), sql, values))
            return True

        connection.exec_trace = trace


def learn(place: Place, runner_id: RunnerId, slots: int) -> Lesson:
    """Watch a store claim a batch, settle two tasks of it and look at its outbox, on a fresh database."""
    watch = Watch()
    with watch.on():
        store = place.open()
        fill(store, slots)
        register(store, slots, runner_id)
        store.pending(LOOK)
        marks = [len(watch.heard)]
        batch = claimed_by(store, runner_id, slots)
        marks.append(len(watch.heard))
        for claimed in batch[:2]:
            settle(store, claimed)
            marks.append(len(watch.heard))
        store.pending(LOOK)
        marks.append(len(watch.heard))
        store.close()
    claim, first, second, look = (watch.heard[start:end] for start, end in pairwise(marks))
    writer = claim[-1].connection
    session = [said for said in watch.heard[: marks[0]] if said.connection == writer and said.is_setting]
    assert session, "the store's connection has no settings"
    return Lesson(_plain(session), _claim_lines(claim, batch), _settle_lines(first, second, batch[0]), _plain(look))


def drain(place: Place, lesson: Lesson, tasks: int, slots: int) -> Drained:
    """Say it all again for every task of a filled database. The number of tasks must be whole batches."""
    execute = _executor(place)
    for line in lesson.session:
        execute(line.sql, line.values)
    number, first, last = 0, 0.0, 0.0
    cpu = time.process_time()
    while number < tasks:
        batch = _claim(execute, lesson.claim, [new_id() for _ in range(slots)], number)
        first = first or time.monotonic()
        for names in batch:
            for line in lesson.settle:
                execute(line.sql, line.fill(names) if line.fill else line.values)
        for line in lesson.look:
            execute(line.sql, line.values)
        number += slots
        last = time.monotonic()
    return Drained(number, first, last, time.process_time() - cpu, [])


def _claim(execute: Execute, lines: list[Line], attempts: list[str], number: int) -> list[Names]:
    batch: list[Names] = []
    for line in lines:
        if line.task is not None and line.fill is not None:
            execute(line.sql, line.fill(batch[line.task]))
            continue
        rows = execute(line.sql, line.fill_claim(attempts) if line.fill_claim else line.values)
        if rows and isinstance(rows[0][0], str):  # the claim itself, and not a question before it
            batch = [Names(row[0], each, number + n) for n, (row, each) in enumerate(zip(rows, attempts, strict=True))]
    return batch


def _executor(place: Place) -> Execute:
    if place.kind == "sqlite":
        connection = apsw.Connection(place.path)
        return lambda sql, values: connection.execute(sql, values).fetchall()
    postgres = psycopg.connect(place.url, autocommit=True, prepare_threshold=2, cursor_factory=psycopg.RawCursor)
    postgres.adapters.register_dumper(int, Int8Dumper)

    def execute(sql: str | bytes, values: Values) -> list[tuple[Any, ...]]:
        cursor = postgres.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    return execute


def _plain(heard: Sequence[Said]) -> list[Line]:
    return [Line(said.sql, said.values) for said in heard]


def _claim_lines(heard: Sequence[Said], batch: list[Claimed]) -> list[Line]:
    lines = []
    old = [each.attempt.attempt_id for each in batch]
    for said in heard:
        task = next((n for n, each in enumerate(batch) if each.task.task_id in _texts(said.values)), None)
        made = None if task is None else _filler(said.values, said.values, _names(batch[task]))
        of_all = _attempts_filler(said.values, old) if task is None and isinstance(said.values, list) else None
        lines.append(Line(said.sql, said.values, made, task, of_all))
    return lines


def _attempts_filler(values: list[Any], old: list[str]) -> Callable[[list[str]], Values]:
    """Attempts stand in a list, or in the text of an array."""

    def filled(value: Values, new: list[str]) -> Values:
        if value == old:
            return new
        if isinstance(value, str) and old[0] in value:
            for before, after in zip(old, new, strict=True):
                value = value.replace(before, after)
        return value

    return lambda new: [filled(value, new) for value in values]


def _settle_lines(first: Sequence[Said], second: Sequence[Said], claimed: Claimed) -> list[Line]:
    """Both settlements say the same with other values; numbers that grew by one are counters."""
    assert [said.sql for said in first] == [said.sql for said in second]
    return [
        Line(said.sql, said.values, _filler(said.values, later.values, _names(claimed)))
        for said, later in zip(first, second, strict=True)
    ]


def _names(claimed: Claimed) -> Names:
    return Names(claimed.task.task_id, claimed.attempt.attempt_id, 0)


def _texts(values: Values) -> list[str]:
    found = values.values() if isinstance(values, dict) else values or ()
    return [each for each in found if isinstance(each, str)]


def _filler(value: Values, later: Values, old: Names) -> Callable[[Names], Values] | None:
    """What makes this value for other names; None where it is always the same."""
    if isinstance(value, dict):
        return _parts(value, list(value), later, old)
    if isinstance(value, list | tuple):
        return _parts(value, range(len(value)), later, old)
    if isinstance(value, str) and (old.task in value or old.attempt in value):
        return lambda new: value.replace(old.task, new.task).replace(old.attempt, new.attempt)
    if isinstance(value, bytes) and (old.task.encode() in value or old.attempt.encode() in value):
        task, attempt = old.task.encode(), old.attempt.encode()
        return lambda new: value.replace(task, new.task.encode()).replace(attempt, new.attempt.encode())
    if type(value) is int and value < COUNTER and later == value + 1:
        return lambda new: value + new.number
    return None


def _parts(values: Values, keys: Sequence[Any], later: Values, old: Names) -> Callable[[Names], Values] | None:
    made = [(key, _filler(values[key], later[key], old)) for key in keys]
    varying = [(key, make) for key, make in made if make is not None]
    if not varying:
        return None
    copy: Callable[[Values], Values] = dict if isinstance(values, dict) else list

    def fill(new: Names) -> Values:
        filled = copy(values)
        for key, make in varying:
            filled[key] = make(new)
        return filled

    return fill
