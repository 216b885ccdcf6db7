"""Who speaks: an account where an operator sits, and inside an attempt that attempt and nobody else."""

import pytest

from keisei.records.error import Refused
from keisei.settings import read_settings
from keisei.wiring.account import actor, operator


def inside(attempt):
    return read_settings({"KEISEI_ATTEMPT_ID": attempt})


def test_outside_of_attempts_the_account_speaks():
    outside = read_settings({})

    assert actor(outside) == operator(outside)
    assert actor(outside).startswith("operator:")


def test_inside_an_attempt_nobody_is_an_operator():
    assert actor(inside("01J9Z-a.b_c")) == "attempt:01J9Z-a.b_c"
    with pytest.raises(Refused, match="inside an attempt"):
        operator(inside("a1"))


@pytest.mark.parametrize("name", ["x\ny", "operator:root", "\x1b[31m", "a" * 129, "a b", "\udcff"])
def test_a_name_that_no_attempt_has_is_not_repeated(name):
    assert actor(inside(name)) == "attempt:unknown"
