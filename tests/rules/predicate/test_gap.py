"""What is missing of an output, or of main's run, proves nothing."""

import pytest

from keisei.records.verification import CommandRun, Planned
from keisei.rules.predicate.gap import gap
from keisei.rules.predicate.table import COMMAND

WARNED = {"warning-patterns": ["^warning"]}
GREEN = "..  [100%]\n5 passed in 0.10s\n"


class Nothing:
    files = emptied = skipped = removed = ()


class Runs:
    def __init__(self, merged, base):
        self._merged, self._base = merged, base

    def named(self, _kind):
        return ("make",)

    def merged(self, _command):
        return self._merged

    def base(self, _command):
        return self._base

    def census(self):
        return Nothing()


def run(output, code: int | None = 0, **more):
    return CommandRun(command="make", tree="t", code=code, output=output, **more)


def asked(rule, merged, base, **parameters):
    planned = Planned(capability="c", kind="command", rule=rule, parameters=parameters)
    reply = COMMAND[rule](planned, Runs(merged, base))
    return reply.status, reply.severity


@pytest.mark.parametrize(
    ("merged", "base", "status"),
    [
        ("a\n", "a\n", "held"),
        ("a\nwarning: x\n", "a\n", "violated"),
        (f"a\n{gap(9)}\nb\n", "a\n", "error"),
        (f"a\n{gap(9)}\nb\n", f"a\n{gap(9)}\nb\n", "error"),
        ("a\n", f"a\n{gap(9)}\nb\n", "held"),
    ],
)
def test_warnings_that_could_stand_in_a_gap_cannot_be_counted(merged, base, status):
    assert asked("warnings", run(merged), run(base), **WARNED) == (status, None)


@pytest.mark.parametrize(("text", "severity"), [("error: a\n", "warn"), (f"error: a\n{gap(9)}\n", None)])
def test_a_red_check_with_a_gap_is_not_excused(text, severity):
    assert asked("check", run(text, 1), run(text, 1)) == ("violated", severity)


@pytest.mark.parametrize(
    ("base", "status"),
    [
        (run(GREEN), "held"),
        (run("", 127), "held"),
        (run(GREEN, None, timed_out=True), "error"),
        (run("", None), "error"),
    ],
)
def test_where_main_did_not_end_nobody_knows_how_many_tests_are_needed(base, status):
    assert asked("test", run(GREEN), base) == (status, None)
