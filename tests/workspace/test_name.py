"""Names of files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keisei.workspace.name import is_refused, is_refused_link, spelled

REFUSED = [
    b".git",
    b".GIT",
    b"a/.git/b",
    b"git~1",
    b"GIT~1",
    b".git ",
    b".git. .",
    b".git:x",
    b"a\\.git",
    ".\u200dgit".encode(),
]
TAKEN = [b"git", b".gitignore", b"a.git", b".gitx", b"git~2", b".g it", b"\xff", b"x/y", b".github/workflows"]


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_are_a_repository_somewhere_are_refused(name):
    assert is_refused(name)


@pytest.mark.parametrize("name", TAKEN)
def test_other_names_are_taken(name):
    assert not is_refused(name)


def test_links_that_git_would_read_through_are_refused():
    assert all(map(is_refused_link, (b".gitmodules", b"a/.GITMODULES", b"gitmod~1", b"gi7eba~1", b".gitattributes ")))
    assert not any(map(is_refused_link, (b"gitmodules", b".gitkeep", b".gitmodules/x", b"link")))


@given(st.binary(), st.binary())
def test_different_paths_are_spelled_differently(one, other):
    assert (spelled(one) == spelled(other)) == (one == other)
    spelled(one).encode("utf-8")
