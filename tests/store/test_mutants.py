"""The proofs can fail: every seeded bug is found by the model, by the simulated fleet and its checker, or by both."""

import apsw
import pytest

from keisei.records.error import KeiseiError
from keisei.testing.checker import check
from keisei.testing.history import read_tables
from tests.store.desk import SqliteDesks, postponements
from tests.store.machine import walk
from tests.store.mutants import FLEET, MODEL, MUTANTS
from tests.store.simulation import Simulation

RESEARCHED = 10
"""How many seeded bugs the research names."""


@pytest.fixture
def desks(tmp_path):
    return SqliteDesks(tmp_path)


def seen(layer):
    return [name for name, mutant in MUTANTS.items() if layer in mutant.seen_by]


def test_every_mutant_is_looked_for():
    assert len(MUTANTS) > RESEARCHED
    assert set(seen(MODEL)) | set(seen(FLEET)) == set(MUTANTS)


def walks(desks):
    for seed in range(20):
        walk(desks, seed)


@pytest.mark.parametrize("name", seen(MODEL))
def test_the_model_finds(name, desks):
    with pytest.raises(Exception) as found:  # noqa: PT011 - an assertion of the model, or a rule of the database
        walks(lambda: desks(MUTANTS[name]))

    assert isinstance(found.value, AssertionError | KeiseiError | apsw.ConstraintError | KeyError)


@pytest.mark.parametrize("name", seen(FLEET))
def test_the_fleet_finds(name, desks):
    assert any(complaints(lambda: desks(MUTANTS[name]), seed) for seed in range(5))


def complaints(desks, seed):
    """What the checker says of one run; a run that cannot even end is one complaint."""
    with desks() as desk:
        simulation = Simulation(desk, seed, tasks=20, trouble_s=150, jumps=False)
        try:
            simulation.run(end_s=500)
        except Exception as error:  # noqa: BLE001 - the database refused what the mutant wrote, or a part fell over it
            return [repr(error)]
        return check(simulation.history, read_tables(desk.store, postponements(desk)))
