"""The real stores do what the model of them does, step by step, whatever comes along.

`KEISEI_WALKS=1000` takes so many walks a store instead of a few; a failure names its seed.
"""

import os

from tests.store.desk import PostgresDesks, SqliteDesks
from tests.store.machine import follow, walk

WALKS = int(os.environ.get("KEISEI_WALKS", "0"))


def test_sqlite_follows_the_model(tmp_path):
    follow(SqliteDesks(tmp_path), 25)


def test_postgres_follows_the_model(postgres_url):
    follow(PostgresDesks(postgres_url), 8)


def test_sqlite_follows_the_model_on_long_walks(tmp_path):
    desks = SqliteDesks(tmp_path)

    for seed in range(WALKS or 15):
        walk(desks, seed)


def test_postgres_follows_the_model_on_long_walks(postgres_url):
    desks = PostgresDesks(postgres_url)

    for seed in range(1000, 1000 + (WALKS or 5)):
        walk(desks, seed)
