"""Which commit a folder stands on."""

import subprocess

import pytest

from keisei.workspace.repository import base_of


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *words], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-q", "-m", "first")
    return tmp_path


def test_a_clean_repository_is_its_commit(repository):
    found = base_of(repository)

    assert len(found.commit) == 40
    assert not found.dirty


@pytest.mark.parametrize("change", ["file", "new"], ids=["changed", "untracked"])
def test_what_is_not_committed_makes_it_dirty(repository, change):
    (repository / change).write_text("two")

    assert base_of(repository).dirty


def test_a_repository_without_a_commit_and_a_plain_folder_have_no_base(tmp_path):
    assert base_of(tmp_path) is None
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    assert base_of(tmp_path) is None


def test_no_git_on_the_path_is_no_error(repository, monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")

    assert base_of(repository) is None


def test_a_monitor_in_the_configuration_is_not_started(repository, tmp_path):
    mark = tmp_path / "started"
    monitor = repository / "monitor.sh"
    monitor.write_text(f"#!/bin/sh\ntouch {mark}\n")
    monitor.chmod(0o755)
    subprocess.run(["git", "-C", str(repository), "config", "core.fsmonitor", str(monitor)], check=True)

    base_of(repository)

    assert not mark.exists()
