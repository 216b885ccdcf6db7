"""How every test runs: properties without a clock, because a busy machine is no fault."""

import pytest
from hypothesis import settings

# Asserts outside test files tell what they compared only if they are named before they are first imported.
pytest.register_assert_rewrite("keisei.testing.promise", "keisei.testing.queue", "tests.store.machine")

settings.register_profile("keisei", deadline=None)
settings.load_profile("keisei")
