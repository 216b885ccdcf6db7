"""PostgreSQL for the tests of the store: one server a test process, one database a test.

Where no server is installed the tests fail with the hint how to install one. They are never skipped, so that a green
run means both stores.
"""

import tempfile
from pathlib import Path

import pytest

from keisei.records.error import OperatorError
from keisei.testing.postgres import server


@pytest.fixture(scope="session")
def postgres():
    """The server, started by the first test that asks. A test that stops it need not start it again."""
    try:
        # Not below pytest's own folder: as root the server runs as another user, who may not enter that one.
        with tempfile.TemporaryDirectory(prefix="keisei-postgres-") as folder, server(Path(folder)) as running:
            yield running
    except OperatorError as error:
        pytest.fail(f"{error.message}; {error.hint}", pytrace=False)


@pytest.fixture
def postgres_url(postgres):
    """The address of a fresh, empty database, which goes with the test."""
    postgres.start()
    url = postgres.database()
    yield url
    postgres.start()
    postgres.drop(url)
