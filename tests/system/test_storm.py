"""A small storm on each store; `make soak` lets a large one rage."""

import pytest

from tests.system.storm import Weather, place, storm


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_runners_that_are_killed_lose_nothing(kind):
    with place(kind) as (folder, url):
        figures = storm(folder, url, Weather(kills=12, seed=7, runners=2))

    assert figures.complaints == ()
    assert figures.orphans == 0
    assert figures.starts >= figures.tasks
