"""Simulated fleets end with every task over, whatever happened to them; the same seed is the same run.

`KEISEI_SIMULATIONS=200` runs so many seeds a store instead of a few; a failure names its seed.
"""

import os

import pytest

from keisei.testing.checker import check
from keisei.testing.history import Line, read_tables
from tests.store.desk import PostgresDesks, SqliteDesks, damage, postponements
from tests.store.simulation import Simulation

SEEDS = int(os.environ.get("KEISEI_SIMULATIONS", "0"))


@pytest.fixture
def sqlite(tmp_path):
    return SqliteDesks(tmp_path)


@pytest.fixture
def postgres_desks(postgres_url):
    return PostgresDesks(postgres_url)


def simulated(desks, seed, **sizes):
    """The run of a seed, its tables, and what the checker says."""
    with desks() as desk:
        simulation = Simulation(desk, seed, **sizes)
        simulation.run()
        tables = read_tables(desk.store, postponements(desk), damage(desk))
        return simulation.history, tables, check(simulation.history, tables, steady=simulation.steady)


def passes(desks, seeds, **sizes):
    for seed in seeds:
        _, _, complaints = simulated(desks, seed, **sizes)
        assert not complaints, f"seed {seed}: {complaints[:5]}"


def test_a_fleet_on_sqlite_loses_nothing(sqlite):
    passes(sqlite, range(SEEDS or 4))


def test_a_fleet_on_postgres_loses_nothing(postgres_desks):
    passes(postgres_desks, range(1000, 1000 + (SEEDS or 2)))


def test_a_seed_is_a_run(sqlite):
    first, again = (simulated(sqlite, 7, tasks=15, trouble_s=120) for _ in range(2))

    assert first == again
    assert [line.kind for line in first[0]].count("S") > 15


def test_a_history_is_read_back_as_it_was_written(sqlite):
    history, _, _ = simulated(sqlite, 8, tasks=5, trouble_s=30)

    assert [Line.parse(line.render()).render() for line in history] == [line.render() for line in history]
