"""Checks: green is held, red before and no worse warns, everything else is told with its first telling line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import CommandRun, Planned
from keisei.rules.output import telling
from keisei.rules.predicate.command import check, command

PLANNED = Planned(capability="quality::check-green", kind="command", rule="check")
RUN = CommandRun(command="make check", tree="t", code=0)


class Runs:
    def __init__(self, merged, base=(), names=None):
        self._merged = {each.command: each for each in merged}
        self._base = {each.command: each for each in base}
        self._names = tuple(self._merged) if names is None else names

    def named(self, kind):
        assert kind == "check"
        return self._names

    def merged(self, command):
        return self._merged[command]

    def base(self, command):
        return self._base[command]


def run(output="", code=1, **more):
    return CommandRun(command="make check", tree="t", code=code, output=output, **more)


def asked(merged, base=None):
    return check(PLANNED, Runs([merged], [base] if base is not None else []))


def test_green_is_held_and_main_is_not_asked():
    assert asked(run(code=0, output="error: not really")).status == "held"


def test_without_a_command_nothing_applies():
    reply = check(PLANNED, Runs([]))

    assert reply.status == "not-applicable"
    assert "[verification] check" in reply.told[0]
    assert "[commands] check" in reply.told[0]


@pytest.mark.parametrize(
    ("merged", "status", "said"),
    [
        (run(code=0, changed=("a.py", "b.py")), "error", "`make check` changes the tree that it checks: a.py, b.py"),
        (run(code=None, timed_out=True), "error", "`make check` did not end in time"),
        (run(code=0, timed_out=True), "error", "`make check` did not end in time"),
        (run(code=None), "error", "`make check` was ended by a signal"),
        (run("sh: 1: mypy: not found", code=127), "violated", "`make check` cannot run: sh: 1: mypy: not found"),
        (
            run("sh: 1: ./x: Permission denied", code=126),
            "violated",
            "`make check` cannot run: sh: 1: ./x: Permission denied",
        ),
    ],
    ids=["changes", "late", "late and green", "killed", "not found", "not allowed"],
)
def test_a_run_that_says_nothing_of_the_tree(merged, status, said):
    # Main is not asked: the same there would not make it better.
    reply = asked(merged)

    assert (reply.status, reply.severity, reply.told[0]) == (status, None, said)


RED = (
    '   Compiling x v0.1.0\na.py:3: error: Name "y" is not defined\nFound 1 error in 1 file (checked 9 source files)\n'
)
FEWER = RED
MORE = 'a.py:3: error: Name "y" is not defined\nb.py:9: error: No\nFound 2 errors in 2 files (checked 9 source files)\n'


@pytest.mark.parametrize(
    ("merged", "base", "severity"),
    [
        (run(RED), run("", code=0), None),
        (run(RED), run(RED), "warn"),
        (run(RED.replace("a.py:3", "a.py:17")), run(RED), "warn"),
        (run(RED.replace("a.py", "/pool/a001/a.py")), run(RED.replace("a.py", "/pool/b002/a.py")), "warn"),
        (run(FEWER), run(MORE), "warn"),
        (run(MORE), run(RED), None),
        (run(RED + 'a.py:4: error: Name "y" is not defined\n'), run(RED), None),
        (run(RED + "x" * 5000), run(RED), None),
        (run(RED + "b.py:1: error: hidden\rfine\n"), run(RED + "fine\n"), None),
        (run(RED + "100% error: disguised\n"), run(RED), None),
        (run(RED, code=2), run(RED), None),
        (run(""), run(""), None),
        (run(RED), run("sh: mypy: not found", code=127), None),
        (run(RED), run(RED, code=None, timed_out=True), None),
        (run(RED), run(RED, code=None), None),
    ],
    ids=[
        "green before",
        "same",
        "another line",
        "another checkout",
        "fewer",
        "more",
        "once more of the same",
        "an endless line more",
        "written over",
        "disguised",
        "another code",
        "silent",
        "main cannot run",
        "main is late",
        "main is killed",
    ],
)
def test_a_red_check_is_compared_with_main(merged, base, severity):
    reply = asked(merged, base)

    assert (reply.status, reply.severity) == ("violated", severity)
    assert reply.told[0].startswith("red before and not worse: `make check`" if severity else "`make check` ends with ")
    assert len(reply.told[0]) <= 200


def test_a_red_check_tells_its_first_error_and_its_end():
    reply = asked(run(RED), run(code=0))

    assert reply.told[0] == '`make check` ends with 1: a.py:3: error: Name "y" is not defined'
    assert reply.told[-1] == "Found 1 error in 1 file (checked 9 source files)"


def test_the_worst_of_several_checks_counts():
    red = CommandRun(command="lint", tree="t", code=1, output="a.py:1: error: no")
    late = CommandRun(command="types", tree="t", code=None, timed_out=True)

    reply = check(PLANNED, Runs([RUN, late, red], [CommandRun(command="lint", tree="b", code=0)]))

    assert reply.status == "violated"
    assert reply.told[0] == "`lint` ends with 1: a.py:1: error: no"
    assert "`types` did not end in time" in reply.told


def test_a_tolerated_check_does_not_excuse_another():
    red = CommandRun(command="lint", tree="t", code=1, output="a.py:1: error: no")
    late = CommandRun(command="types", tree="t", code=None, timed_out=True)

    reply = check(PLANNED, Runs([red, late], [red]))

    assert (reply.status, reply.severity) == ("error", None)


def test_a_capability_brings_its_own_command():
    planned = Planned(capability="x::y", kind="command", command="make check")
    runs = Runs([run("error: no")], [run(code=0)], names=())

    assert command(planned, runs).status == "violated"
    assert command(planned, Runs([RUN], names=())).status == "held"
    assert command(Planned(capability="x::y", kind="command"), runs).status == "error"


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", ""),
        ("\n\n  \n", ""),
        ("hello\nworld", "hello"),
        ("   Compiling x v1\nerror[E0425]: cannot find value `y`", "error[E0425]: cannot find value `y`"),
        ("0 errors\nwarning: unused\nerror: real", "error: real"),
        (
            'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    y\nNameError: name',
            "NameError: name",
        ),
        ("a.ts(3,1): error TS2304: Cannot find name 'y'.", "a.ts(3,1): error TS2304: Cannot find name 'y'."),
        ("./a.go:3:5: undefined: x\nFAIL\tpkg [build failed]", "./a.go:3:5: undefined: x"),
        ("> tsc --noEmit\n\nsrc/a.ts:3: bad thing", "src/a.ts:3: bad thing"),
        ("\x1b[31merror\x1b[0m: red", "error: red"),
        ("ok\x07 then\nfatal: \x1b]0;title\x07no", "fatal: no"),
        ("=== FAILURES ===\nE   assert 1 == 2", "E assert 1 == 2"),
        ("thread 'a' panicked at src/lib.rs:7:24:\nboom", "thread 'a' panicked at src/lib.rs:7:24:"),
        ("error: " + "x" * 500, "error: " + "x" * 192 + "…"),
    ],
)
def test_the_first_telling_line(output, line):
    assert telling(output) == line


@given(st.text(), st.text(), st.sampled_from([None, 0, 1, 2, 126, 127]), st.sampled_from([None, 0, 1, 127]))
@settings(max_examples=150, deadline=None, database=None)
def test_any_output_gets_a_reply(now, before, code, base_code):
    reply = asked(run(now, code=code), run(before, code=base_code))

    assert (reply.status == "held") == (code == 0)
    assert all(len(each) <= 200 and each.isprintable() for each in reply.told)
