"""Fixtures of the kit."""

import pytest

from tests.kit.desk import Desk


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path / "a task.sqlite")
