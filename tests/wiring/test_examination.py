"""Examination: why a person looks first, and what is known of other candidates of the repository."""

from types import SimpleNamespace

import pytest

from keisei.wiring.examination import waits
from keisei.wiring.forks import RepositoryForks
from keisei.workspace.repository import facts
from tests.system.agency import git

AGENT, TASK, ATTEMPT = "ag-1", "task-1", "attempt-1"


class Shelf:
    """A store with one task of one attempt."""

    def __init__(self):
        self.known = SimpleNamespace(task_id=TASK, payload={"task": {"agent-id": AGENT}})

    def task(self, task_id):
        return self.known if task_id == TASK else None

    def tasks(self, _query):
        return [SimpleNamespace(task_id="other", payload={"task": "no table"}), self.known]

    def attempts(self, task_id, _most):
        return [SimpleNamespace(attempt_id=ATTEMPT)] if task_id == TASK else []


@pytest.fixture
def repository(tmp_path):
    """A repository whose candidate changes what main changes too."""
    root = tmp_path / "a repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, "src/one.txt", "1\n")
    git(root, "checkout", "-q", "--detach")
    commit(root, "src/one.txt", "theirs\n")
    git(root, "update-ref", f"refs/keisei/candidate/{ATTEMPT}", "HEAD")
    git(root, "checkout", "-q", "main")
    return root


def commit(root, path, text):
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", path)


def candidate(root):
    return git(root, "rev-parse", f"refs/keisei/candidate/{ATTEMPT}")


def forks(root):
    return RepositoryForks(SimpleNamespace(store=Shelf()), facts(root, "main"), root.parent / "forks")


@pytest.mark.parametrize("target", [AGENT, TASK, None], ids=["agent-id", "task", "commit"])
def test_a_fork_is_found_by_each_of_its_names(repository, target):
    found = forks(repository).find(target or candidate(repository))

    assert (found.commit, found.files) == (candidate(repository), ("src/one.txt",))


@pytest.mark.parametrize("target", ["ag-2", "other", "", "main", "HEAD", "--all", "0" * 40, "ag-1\0", "../x"])
def test_what_is_no_fork_is_not_found(repository, target):
    assert forks(repository).find(target) is None


def test_the_first_commit_of_all_is_nobody_s_fork(repository):
    assert forks(repository).find(git(repository, "rev-list", "--max-parents=0", "main")) is None


def test_conflicts_with_main_are_told_however_often_one_asks(repository):
    assert forks(repository).conflicts(candidate(repository)) == ()

    commit(repository, "src/one.txt", "ours\n")
    now = forks(repository)

    assert [now.conflicts(candidate(repository)) for _ in range(2)] == [("src/one.txt",)] * 2
    assert now.conflicts("0" * 40) is None


@pytest.mark.parametrize(
    ("questions", "escalation", "why"),
    [
        ((), "ask-via-return", None),
        (("which tax?",), "ask-via-return", "the agent asks: which tax?"),
        ((), "orchestrator-notify", "its role asks for a person's approval before anything lands"),
    ],
)
def test_a_person_looks_first_where_somebody_asks(repository, questions, escalation, why):
    about = facts(repository, "main")

    assert waits(about, about.head, questions, escalation) == why


def test_a_person_looks_first_where_main_was_rewritten(repository):
    base = git(repository, "rev-parse", "main")
    git(repository, "commit", "-q", "--amend", "-m", "another")

    assert "was rewritten" in waits(facts(repository, "main"), base, (), "ask-via-return")
