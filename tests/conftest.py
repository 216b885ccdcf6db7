"""How every test runs: properties without a clock, because a busy machine is no fault."""

import gc
import os

import pytest
from hypothesis import settings

# Asserts outside test files tell what they compared only if they are named before they are first imported.
pytest.register_assert_rewrite("keisei.testing.promise", "keisei.testing.queue", "tests.store.machine")

settings.register_profile("keisei", deadline=None)
settings.load_profile("keisei")

# What is collected stays until the end: looking through it for garbage again and again finds none.
gc.disable()


def pytest_collection_modifyitems(config, items):
    """Leave out what only a soak runs."""
    if os.environ.get("KEISEI_SOAK"):
        return
    slow = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("soak")]


def pytest_collection_finish():
    """Look for garbage again from here on, in what the tests make, and leave alone what was collected."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 10, 10)
    gc.enable()
