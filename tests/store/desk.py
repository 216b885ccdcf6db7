"""Desks over the real stores, each with a clock of its own that stands still until a test moves it."""

import shutil
from contextlib import ExitStack, closing, contextmanager
from functools import cache

import apsw
import psycopg

from keisei.store import open_store
from keisei.testing.clock import VirtualClock
from keisei.testing.queue import Desk

EMPTIED = (
    "events, outbox, findings, artifacts, bundles, attempts, tasks, runners, pauses, breakers, unsealed, seals, ledger"
    ", schedules, slots, sensor_events, sensors, definitions, workflows, visits, approvals, reservations, grants, holds"
    ", landings, pipe_members, pipe_runs, requests, checkpoints, tree_nodes"
)
"""Every table of PostgreSQL that a test can have filled."""


@contextmanager
def sqlite_desk(folder, change=None):
    """A desk over a database in that folder, made where there is none; its stores changed, where that is asked for."""
    path = folder / "state.db"
    with ExitStack() as stack:

        def sql(text, *values):
            return connection().execute(text, values).fetchall()

        @cache
        def connection():
            return stack.enter_context(closing(apsw.Connection(str(path))))

        yield stack.enter_context(_desk(f"sqlite://{path}", change, sql, wall_leases=False))


@contextmanager
def postgres_desk(url, change=None):
    """A desk over that database; its stores changed, where that is asked for."""
    with ExitStack() as stack:

        def sql(text, *values):
            cursor = connection().execute(text.replace("?", "%s"), values)
            return cursor.fetchall() if cursor.description else []

        @cache
        def connection():
            return stack.enter_context(psycopg.connect(url, autocommit=True))

        yield stack.enter_context(_desk(url, change, sql, wall_leases=True))


@contextmanager
def _desk(url, change, sql, *, wall_leases):
    clock = VirtualClock()
    with ExitStack() as stack:

        def another():
            store = stack.enter_context(closing(open_store(url, clock=clock)))
            return change(store, sql) if change else store

        desk = Desk(another(), clock, another, wall_leases=wall_leases)
        desk.sql = sql
        yield desk


def postponements(desk):
    """How many attempts of each task were not counted, as the tables know it."""
    return dict(desk.sql("SELECT task_id, postponed FROM tasks"))


def damage(desk):
    """What the database's own check of its files complains of."""
    if desk.wall_leases:
        desk.sql("CREATE EXTENSION IF NOT EXISTS amcheck")
        desk.sql("""SELECT bt_index_check(i.indexrelid, true) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
            JOIN pg_am m ON m.oid = c.relam WHERE m.amname = 'btree' AND c.relnamespace = 'public'::regnamespace""")
        return []
    return [text for (text,) in desk.sql("PRAGMA integrity_check") if text != "ok"]


class SqliteDesks:
    """One empty database after the other: a copy of one that was made once, because making one takes its time."""

    def __init__(self, folder):
        self._folder = folder
        self._number = 0
        with sqlite_desk(folder / "first"):
            pass

    @contextmanager
    def __call__(self, change=None):
        self._number += 1
        here = self._folder / str(self._number)
        shutil.copytree(self._folder / "first", here)
        try:
            with sqlite_desk(here, change=change) as desk:
                yield desk
        finally:
            shutil.rmtree(here)


class PostgresDesks:
    """One database, emptied for every desk."""

    def __init__(self, url):
        self._url = url
        with postgres_desk(url):
            pass

    @contextmanager
    def __call__(self, change=None):
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute("SET session_replication_role = replica")  # the ledger's triggers refuse otherwise
            connection.execute(f"TRUNCATE {EMPTIED} RESTART IDENTITY")
        with postgres_desk(self._url, change=change) as desk:
            yield desk
