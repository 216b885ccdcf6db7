"""Warnings: more than on main is a violation, in the words of the patterns that the kit ships."""

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import CommandRun, Planned
from keisei.rules.predicate.warning import warnings

SHIPPED = tomllib.loads(
    files("keisei").joinpath("kit/capabilities/quality/no-warnings/capability.toml").read_text("utf-8")
)["parameterized"]["defaults"]


class Runs:
    def __init__(self, merged, base):
        self._merged, self._base = merged, base

    def named(self, kind):
        assert kind == "check"
        return (self._merged.command,) if self._merged is not None else ()

    def merged(self, _command):
        return self._merged

    def base(self, _command):
        return self._base


def run(output="", code=0, **more):
    return CommandRun(command="make check", tree="t", code=code, output=output, **more)


def asked(merged, base, **parameters):
    planned = Planned(
        capability="quality::no-warnings",
        kind="command",
        rule="warnings",
        parameters=SHIPPED | {name.replace("_", "-"): value for name, value in parameters.items()},
    )
    return warnings(planned, Runs(merged, base))


@pytest.mark.parametrize(
    "line",
    [
        "warning: unused variable: `x`",
        "warning[E0133]: unsafe",
        "a.c:3:5: warning: unused",
        "src/a.py:3: Warning: odd",
        "a.py:3: DeprecationWarning: old",
        "  3:1  warning  Unexpected console",
        "\x1b[33mwarning\x1b[0m: coloured",
        "warning: written over\rfine",
        "begun\rwarning: between\rfine",
        "warning: " + "x" * 10_000,
    ],
)
def test_a_new_warning_is_a_violation(line):
    reply = asked(run(f"fine\n{line}\n"), run("fine\n"))

    assert (reply.status, reply.severity) == ("violated", None)
    assert reply.told[0].startswith("1 new warnings (1, 0 on main): ")
    assert len(reply.told[0]) <= 200
    assert asked(run(f"{line}\n"), run(f"{line}\n")).status == "held"


@pytest.mark.parametrize(
    "line", ["this is a warning", "no warnings", "a warning: not at the beginning", "warnings: none", "WARNING x"]
)
def test_prose_is_no_warning(line):
    assert asked(run(line), run()).status == "held"


def test_the_warning_that_is_new_is_named():
    old, new = "warning: old thing at 3\n", "warning: new thing\n"

    reply = asked(run(new + old.replace("3", "9")), run(old))

    assert reply.told[0] == "1 new warnings (2, 1 on main): warning: new thing"


def test_some_may_be_allowed():
    two = "warning: a\nwarning: b\n"

    assert asked(run(two), run(), max_new_warnings=2).status == "held"
    assert asked(run(two), run(), max_new_warnings=1).status == "violated"
    assert asked(run(two), run(two + two)).status == "held"


def test_what_main_cannot_say_is_no_excuse():
    reply = asked(run("warning: a"), run("warning: a", code=127))

    assert reply.status == "violated"
    assert "every warning counts as new" in reply.told[-1]


def test_a_red_check_is_the_business_of_another_rule():
    assert asked(run("error: no", code=1), run()).status == "held"


@pytest.mark.parametrize(
    ("merged", "status"),
    [
        (run(changed=("a",)), "error"),
        (run(code=None, timed_out=True), "error"),
        (run(code=None), "error"),
        (run(code=127), "violated"),
        (None, "not-applicable"),
    ],
    ids=["changes", "late", "killed", "cannot run", "unnamed"],
)
def test_a_run_that_says_nothing(merged, status):
    assert asked(merged, run()).status == status


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_new_warnings": -1},
        {"max_new_warnings": True},
        {"max_new_warnings": "1"},
        {"warning_patterns": []},
        {"warning_patterns": "^w"},
        {"warning_patterns": [1]},
        {"warning_patterns": ["("]},
        {"warning_patterns": ["(a+)+$"]},
    ],
    ids=str,
)
def test_a_parameter_that_cannot_be_used_is_an_error(parameters):
    reply = asked(run(), run(), **parameters)

    assert reply.status == "error"
    assert reply.told


@given(st.text(), st.text())
@settings(max_examples=100, deadline=None, database=None)
def test_any_output_gets_a_reply(now, before):
    assert asked(run(now), run(before)).status in {"held", "violated"}
