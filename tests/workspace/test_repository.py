"""Which commit a folder stands on, and whether attempts can work on it."""

import subprocess

import pytest

from keisei.records.error import OperatorError
from keisei.workspace.repository import base_of, facts
from tests.workspace.conftest import Ground


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


def test_facts_of_an_ordinary_repository(ground):
    found = ground.facts()

    assert found.root == str(ground.root)
    assert found.common_dir == str(ground.root / ".git")
    assert found.head == ground.git("rev-parse", "main").decode().strip()
    assert found.branch == "main"
    assert found.notes() == ()
    assert not found.shallow


def test_a_folder_inside_stands_for_its_repository(ground):
    assert facts(ground.root / "src", "main") == ground.facts()


def test_main_counts_and_not_what_is_checked_out(ground):
    head = ground.git("rev-parse", "HEAD").decode().strip()
    ground.git("checkout", "-q", "-b", "side")
    ground.commit(file="side\n")

    assert (ground.facts().branch, ground.facts().head) == ("main", head)
    assert ground.facts("other").branch == "side"


def test_a_detached_head_is_fine_as_long_as_main_is_there(ground):
    ground.git("checkout", "-q", "--detach")

    assert ground.facts().branch == "main"
    with pytest.raises(OperatorError, match="no branch `trunk`, and HEAD is detached") as raised:
        ground.facts("trunk")
    assert "git branch trunk" in raised.value.hint


@pytest.mark.parametrize("main", ["", "ma*", "main^", "main~1", "-x", "../heads/main", "m\nain"])
def test_a_name_is_a_name_and_no_expression(ground, main):
    ground.git("checkout", "-q", "--detach")

    with pytest.raises(OperatorError, match="no branch"):
        ground.facts(main)


def test_what_attempts_cannot_work_on_is_told_with_the_next_step(tmp_path):
    with pytest.raises(OperatorError, match="not a folder"):
        facts(tmp_path / "missing", "main")
    with pytest.raises(OperatorError, match="not in a git repository") as raised:
        facts(tmp_path, "main")
    assert "git init" in raised.value.hint
    with pytest.raises(OperatorError, match="no commit yet") as raised:
        Ground(tmp_path / "empty").facts()
    assert "commit" in raised.value.hint
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path / "bare")], check=True)
    with pytest.raises(OperatorError, match="bare"):
        facts(tmp_path / "bare", "main")


def test_the_git_folder_itself_is_no_checkout(ground):
    with pytest.raises(OperatorError, match="bare"):
        facts(ground.root / ".git", "main")


@pytest.mark.parametrize(
    ("version", "said"),
    [("git version 2.37.9", "too old"), ("git version 1.9", "too old"), ("what?", "does not say its version")],
)
def test_a_git_that_is_too_old_is_told(ground, tmp_path, monkeypatch, version, said):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f"#!/bin/sh\necho '{version}'\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))

    with pytest.raises(OperatorError, match=said):
        ground.facts()


@pytest.mark.parametrize("path", ["/nonexistent", "", ".", "bin"])
def test_no_git_is_told_and_none_is_taken_from_here(ground, tmp_path, monkeypatch, path):
    (tmp_path / "bin").mkdir()
    for here in (tmp_path, tmp_path / "bin"):
        (here / "git").write_text("#!/bin/sh\ntouch started\n")
        (here / "git").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", path)

    with pytest.raises(OperatorError, match="not installed"):
        ground.facts()


def test_what_an_agent_will_not_see_is_a_fact(ground, tmp_path):
    ground.git("clone", "-q", str(ground.root), str(tmp_path / "other"))
    ground.git("submodule", "add", "-q", str(tmp_path / "other"), "sub")
    (ground.root / "src" / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    ground.commit()
    (ground.root / "file").write_text("uncommitted")

    found = ground.facts()

    assert (found.dirty, found.submodules, found.lfs, found.sparse) == (True, ("sub",), True, False)
    assert len(found.notes()) == 3


def test_a_shallow_clone_is_a_fact(ground, tmp_path):
    ground.commit(file="two\n")
    ground.git("clone", "-q", "--depth=1", f"file://{ground.root}", str(tmp_path / "shallow"))

    assert facts(tmp_path / "shallow", "main").shallow


@pytest.mark.parametrize("driver", ["clean", "process"])
def test_a_filter_in_the_configuration_is_not_started(ground, tmp_path, driver):
    mark = tmp_path / "started"
    (ground.root / ".gitattributes").write_text("file filter=evil\n")
    ground.commit()
    ground.git("config", f"filter.evil.{driver}", f"touch '{mark}'; cat")
    ground.git("config", "filter.evil.required", "true")
    (ground.root / "file").write_text("two\n")

    assert ground.facts().dirty
    assert base_of(ground.root).dirty
    assert not mark.exists()


def test_a_surrounding_git_environment_does_not_lead_elsewhere(ground, tmp_path, monkeypatch):
    other = Ground(tmp_path / "other")
    other.commit(file="other\n")
    monkeypatch.setenv("GIT_DIR", str(other.root / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent")
    monkeypatch.setenv("GIT_CONFIG_PARAMETERS", "'core.bare=true'")

    assert ground.facts().root == str(ground.root)
