"""Houses for the tests of wiring."""

import pytest

from tests.wiring.house import House


@pytest.fixture
def house(tmp_path):
    """A project on SQLite."""
    made = House(tmp_path)
    yield made
    made.close()
