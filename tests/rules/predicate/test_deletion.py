"""Deletions: how many files are gone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import Difference, Planned
from keisei.records.worktree import Change
from keisei.rules.predicate.deletion import deletions

QUICK = settings(max_examples=100, deadline=None, database=None)
EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
ZEROS = "0" * 40


def gone(name, blob=None):
    return Change(
        path=name, status="deleted", mode="000000", old_mode="100644", blob=ZEROS, old_blob=blob or f"blob of {name}"
    )


def added(name, blob, mode="100644"):
    return Change(path=name, status="added", mode=mode, old_mode="000000", blob=blob, old_blob=ZEROS)


def modified(name, blob, old_blob="was", status="modified", mode="100644"):
    return Change(path=name, status=status, mode=mode, old_mode="100644", blob=blob, old_blob=old_blob)


def judge(changes, base_files=1000, **parameters):
    named = {key.replace("_", "-"): value for key, value in parameters.items()}
    planned = Planned(capability="d", kind="diff", parameters=named)
    return deletions(planned, Difference(candidate=tuple(changes), base_files=base_files), None)


@pytest.mark.parametrize(
    ("count", "base", "status"),
    [
        pytest.param(0, 10, "held", id="none"),
        pytest.param(20, 1000, "held", id="as many as may go"),
        pytest.param(21, 1000, "violated", id="one too many"),
        pytest.param(6, 30, "held", id="a fifth"),
        pytest.param(7, 30, "violated", id="more than a fifth"),
        pytest.param(5, 5, "held", id="up to the floor no share is asked"),
        pytest.param(6, 6, "violated", id="above the floor"),
        pytest.param(6, 0, "violated", id="nobody counted the base"),
    ],
)
def test_deletions_are_counted_against_both_limits(count, base, status):
    assert judge([gone(f"f{number}") for number in range(count)], base).status == status


def test_what_is_gone_is_counted_and_named():
    reply = judge([gone("a"), gone("b")], max_deletions=1)

    assert reply.status == "violated"
    assert reply.told == ("2 files are gone; at most 1 may be", "`a` was deleted", "`b` was deleted")


def test_a_moved_file_is_not_gone():
    changes = [change for n in range(50) for change in (gone(f"a/{n}", f"b{n}"), added(f"b/{n}", f"b{n}"))]

    assert judge(changes, 60).status == "held"


def test_one_new_file_stands_for_one_old_one():
    changes = [*(gone(f"a/{n}", "same") for n in range(30)), added("b", "same")]

    assert judge(changes).told[0].startswith("29 files are gone")


def test_a_file_that_is_put_over_another_one_is_no_move():
    changes = [change for n in range(30) for change in (gone(f"a{n}", f"c{n}"), modified(f"b{n}", f"c{n}"))]

    assert judge(changes).status == "violated"


def test_a_link_that_says_what_a_file_said_is_no_move():
    changes = [change for n in range(30) for change in (gone(f"a{n}", f"c{n}"), added(f"b{n}", f"c{n}", "120000"))]

    assert judge(changes).status == "violated"


@pytest.mark.parametrize("empty", [EMPTY, "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"])
def test_an_emptied_file_is_gone(empty):
    reply = judge([modified(f"f{n}", empty) for n in range(21)])

    assert reply.status == "violated"
    assert "`f0` was emptied" in reply.told


def test_a_file_that_was_empty_and_is_and_one_that_is_changed_are_not_gone():
    assert judge([modified("a", EMPTY, EMPTY), modified("b", "x")], max_deletions=0).told == ()


def test_an_emptied_file_whose_content_is_elsewhere_was_moved():
    assert judge([modified("a", EMPTY, "x"), added("b", "x")], max_deletions=0).status == "held"


def test_a_file_that_became_a_link_is_gone():
    assert judge([modified("a", "t", "x", "type-changed", "120000")], max_deletions=0).status == "violated"


def test_what_main_has_deleted_meanwhile_is_not_held_against_a_candidate():
    planned = Planned(capability="d", kind="diff")
    difference = Difference(candidate=(), merged=tuple(gone(f"f{n}") for n in range(50)), base_files=60)

    assert deletions(planned, difference, None).status == "held"


@pytest.mark.parametrize("name", ["max_deletions", "max_deletion_share", "share_floor"])
@pytest.mark.parametrize("value", [True, None, "20", -1, float("nan"), float("inf"), 10**400, [1]])
def test_a_limit_that_is_no_number_is_an_error(name, value):
    reply = judge([gone("a")], **{name: value})

    assert reply.status == "error"
    assert name.replace("_", "-") in reply.told[0]


@QUICK
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 100))
def test_more_deletions_never_help(count, more, most, base):
    fewer = judge([gone(f"f{n}") for n in range(count)], base, max_deletions=most)
    rather = judge([gone(f"f{n}") for n in range(count + more)], base, max_deletions=most)

    assert (fewer.status, rather.status) != ("violated", "held")
