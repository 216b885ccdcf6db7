"""The repository itself stays as it was."""

import pytest

from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate.repository import git_scope, git_state, is_git

PLANNED = Planned(capability="g", kind="diff", lists={"paths": (".git", ".git/**", "**/.git", "**/.git/**")})
BOTH = pytest.mark.parametrize("predicate", [git_state, git_scope])


def changed(path):
    return (Change(path=path, status="added", mode="100644", old_mode="000000"),)


@BOTH
def test_an_untouched_repository_holds(predicate):
    reply = predicate(PLANNED, Difference(candidate=changed("src/a.py"), merged=changed(".gitignore")), None)

    assert (reply.status, reply.told) == ("held", ())


@BOTH
def test_what_was_tampered_with_is_told(predicate):
    reply = predicate(PLANNED, Difference(candidate=(), tampered=("refs/heads/main moved", "a hook is new")), None)

    assert (reply.status, reply.told) == ("violated", ("refs/heads/main moved", "a hook is new"))


@BOTH
@pytest.mark.parametrize("where", ["candidate", "merged"])
@pytest.mark.parametrize("path", [".git", ".git/HEAD", "vendor/.GIT/config", "git~1", ".git\u200d/x", ".git. "])
def test_no_file_of_a_repository_is_in_a_candidate(predicate, where, path):
    reply = predicate(PLANNED, Difference(**({"candidate": ()} | {where: changed(path)})), None)

    assert reply.status == "violated"
    assert "repository's own folder" in reply.told[0]


def test_a_project_may_protect_more_than_git():
    planned = Planned(capability="g", kind="diff", lists={"paths": (".jj/**",)})

    assert git_state(planned, Difference(candidate=changed(".JJ/x")), None).status == "violated"


@pytest.mark.parametrize("path", ["", "a", ".gitx", "x.git", ".git-blame-ignore-revs", "git", "git~2"])
def test_other_names_are_not_git(path):
    assert not is_git(path)
