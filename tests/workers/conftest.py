"""One warm crew for a whole file of tests: starting a process costs more than most tests."""

import pytest

from tests.workers.atom import crew


@pytest.fixture(scope="module")
def staff():
    """A crew that many tests call."""
    with crew() as made:
        yield made
