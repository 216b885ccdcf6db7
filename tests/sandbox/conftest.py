"""What every test of this room starts, it ends."""

import os
import secrets
import signal
from contextlib import suppress

import pytest

from tests.sandbox.program import tagged


@pytest.fixture
def tag():
    """A word that stands in the environment or the command line of every process of a test; the test ends them all."""
    word = f"{secrets.randbelow(10**18):018}"  # digits, so that `sleep` can carry it as a fraction of a second
    yield word
    for pid in tagged(word):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
