"""Fixtures of the doors."""

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path, monkeypatch, capsysbinary):
    return Shell(tmp_path, monkeypatch, capsysbinary)
