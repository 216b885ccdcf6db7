"""How every test runs: properties without a clock, because a busy machine is no fault."""

import os

import pytest
from hypothesis import settings

# Asserts outside test files tell what they compared only if they are named before they are first imported.
pytest.register_assert_rewrite("keisei.testing.promise", "keisei.testing.queue", "tests.store.machine")

settings.register_profile("keisei", deadline=None)
settings.load_profile("keisei")


def pytest_collection_modifyitems(config, items):
    """Leave out what only a soak runs."""
    if os.environ.get("KEISEI_SOAK"):
        return
    slow = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if not item.get_closest_marker("soak")]
