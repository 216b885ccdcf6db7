"""Tests: green, counted, none missing; what was red before and is no worse only warns."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.records.verification import CommandRun, Planned
from keisei.rules.predicate.test import test as judge


class Numbers:
    def __init__(self, files=(), emptied=(), skipped=(), removed=()):
        self.files, self.emptied, self.skipped, self.removed = files, emptied, skipped, removed


class Runs:
    def __init__(self, pairs, census=None):
        self._pairs = {merged.command: (merged, base) for merged, base in pairs}
        self._census = census or Numbers()

    def named(self, kind):
        assert kind == "test"
        return tuple(self._pairs)

    def merged(self, command):
        return self._pairs[command][0]

    def base(self, command):
        return self._pairs[command][1]

    def census(self):
        return self._census


def run(output="", code=0, command="pytest", **more):
    return CommandRun(command=command, tree="t", code=code, output=output, **more)


def green(passed, skipped=0):
    return run(f"..  [100%]\n{passed} passed, {skipped} skipped in 0.10s\n")


def red(passed, *names, failed=None, code=1):
    lines = "".join(f"FAILED {name} - assert 0\n" for name in names)
    header = "=========================== short test summary info ============================\n"
    return run(
        f"{header}{lines}{len(names) if failed is None else failed} failed, {passed} passed in 0.10s\n", code=code
    )


def asked(merged, base, census=None, **parameters):
    planned = Planned(
        capability="quality::tests-green",
        kind="command",
        rule="test",
        parameters={name.replace("_", "-"): value for name, value in parameters.items()},
    )
    return judge(planned, Runs([(merged, base)], census))


def test_green_with_no_fewer_tests_is_held_and_says_what_was_counted():
    reply = asked(green(5, 1), green(4), Numbers(files=("tests/test_a.py",)))

    assert reply.status == "held"
    assert reply.told == (
        "`pytest`: 5 passed, 1 skipped; on main: 4 passed",
        "the candidate changes the test file tests/test_a.py",
    )


def test_without_a_command_nothing_applies():
    planned = Planned(capability="quality::tests-green", kind="command", rule="test")

    assert judge(planned, Runs([])).status == "not-applicable"


@pytest.mark.parametrize(
    ("merged", "status", "said"),
    [
        (run("all good"), "violated", "`pytest` ends with 0 and prints nothing that can be counted as a test"),
        (run("I ran 500 passed"), "violated", "`pytest` ends with 0 and prints nothing that can be counted as a test"),
        (run("\nno tests ran in 0.00s\n"), "violated", "`pytest` ends with 0 and no test was run"),
        (run("3 skipped in 0.00s"), "violated", "`pytest` ends with 0 and no test was run"),
        (run(changed=("a.py",)), "error", "`pytest` changes the tree that it checks: a.py"),
        (run(code=None, timed_out=True), "error", "`pytest` did not end in time"),
        (run(code=None), "error", "`pytest` was ended by a signal"),
        (run("sh: pytest: not found", code=127), "violated", "`pytest` cannot run: sh: pytest: not found"),
        (run("no tests ran in 0.00s", code=5), "violated", "`pytest` ends with 5: no tests ran in 0.00s"),
        (run("error: could not compile", code=101), "violated", "`pytest` ends with 101: error: could not compile"),
    ],
    ids=["silent", "prose", "none", "skipped", "changes", "late", "killed", "missing", "none, red", "broken"],
)
def test_a_run_without_tests_is_never_green_nor_excused_by_main(merged, status, said):
    for base in (green(0), merged):
        reply = asked(merged, base)

        assert (reply.status, reply.severity) == (status, None)
        assert reply.told[0] == said


@pytest.mark.parametrize(
    ("merged", "base", "severity"),
    [
        (red(3, "a::x"), green(4), None),
        (red(3, "a::x"), red(3, "a::x"), "warn"),
        (red(4, "a::x"), red(3, "a::x"), "warn"),
        (red(3, "a::x"), red(3, "a::x", "a::y"), "warn"),
        (red(3, "a::y"), red(3, "a::x"), None),
        (red(3, "a::x", "a::y"), red(3, "a::x"), None),
        (red(2, "a::x"), red(3, "a::x"), None),
        (red(3, failed=1), red(3, failed=1), None),
        (red(3, "a::x", failed=2), red(3, "a::x", failed=2), None),
        (red(3, "a::x"), run("broken", code=1), None),
        (red(3, "a::x"), run("sh: not found", code=127), None),
        (red(3, "a::x"), run(red(3, "a::x").output, code=None, timed_out=True), None),
        (run("4 passed in 0.10s", code=1), run("4 passed in 0.10s", code=1), None),
        (red(3, "a::x", code=0), green(4), None),
    ],
    ids=[
        "green before",
        "same",
        "more pass",
        "fewer fail",
        "another fails",
        "more fail",
        "fewer pass",
        "without names",
        "a name is missing",
        "main counts nothing",
        "main cannot run",
        "main is late",
        "red for another reason",
        "a failure behind a green end",
    ],
)
def test_a_red_run_is_compared_with_main(merged, base, severity):
    reply = asked(merged, base)

    assert (reply.status, reply.severity) == ("violated", severity)
    assert reply.told[0].startswith("red before and not worse: " if severity else "`pytest`")


def test_the_tests_that_newly_fail_are_named():
    reply = asked(red(3, "a::x", "a::y"), red(3, "a::x"))

    assert reply.told[0] == "`pytest`: 3 passed, 2 failed; new: a::y"


@pytest.mark.parametrize(
    ("merged", "base", "census", "parameters", "said"),
    [
        (green(3), green(4), Numbers(), {}, "3 tests pass; 4 pass on main"),
        (green(3), green(4), Numbers(), {"fewer_tests_allowed": 1}, None),
        (
            green(2),
            green(4),
            Numbers(),
            {"fewer_tests_allowed": 1},
            "2 tests pass; 4 pass on main, and 1 fewer are allowed",
        ),
        (green(4), green(4), Numbers(), {"test_count_min": 5}, "4 tests pass; the task asks for 5"),
        (green(5), green(4), Numbers(), {"test_count_min": 5}, None),
        (green(3), green(4), Numbers(removed=("t.py: b",)), {}, "3 tests pass; 4 pass on main: deleted t.py: b"),
        (green(3, 1), green(4), Numbers(skipped=("t.py: b",)), {}, "3 tests pass; 4 pass on main: skipped t.py: b"),
        (
            green(4),
            green(4),
            Numbers(emptied=("t.py: b",)),
            {},
            "4 tests pass, and 1 deleted, skipped or empty tests count against them; 4 pass on main: emptied t.py: b",
        ),
        (green(5), green(4), Numbers(emptied=("t.py: b",)), {}, None),
        (green(5), green(4), Numbers(removed=("t.py: b",)), {}, None),
        (green(1), run("", code=127), Numbers(), {}, None),
        (green(1), run("", code=127), Numbers(), {"test_count_min": 2}, "1 tests pass; the task asks for 2"),
    ],
    ids=[
        "fewer",
        "fewer allowed",
        "too many fewer",
        "below the minimum",
        "at the minimum",
        "deleted",
        "skipped",
        "emptied",
        "emptied, more added",
        "deleted, more added",
        "main cannot run",
        "main cannot run, minimum",
    ],
)
def test_tests_that_go_missing_count_against_the_minimum(merged, base, census, parameters, said):
    reply = asked(merged, base, census, **parameters)

    assert reply.status == ("held" if said is None else "violated")
    if said is not None:
        assert reply.told[0] == said
        assert reply.severity is None


def test_what_was_red_before_does_not_excuse_a_deleted_test():
    census = Numbers(emptied=("t.py: b",), files=("t.py",))

    reply = asked(red(3, "a::x"), red(3, "a::x"), census)

    assert (reply.status, reply.severity) == ("violated", None)
    assert "emptied: t.py: b" in reply.told
    assert reply.told[-1] == "the candidate changes the test file t.py"


def go(*packages):
    return run("".join(f"ok  \t{each}\t0.01s\n" for each in packages))


def test_where_packages_are_counted_a_deleted_test_counts_too():
    lost = asked(go("a", "b"), go("a", "b"), Numbers(removed=("a_test.go: TestX",)))

    assert asked(go("a", "b"), go("a", "b")).status == "held"
    assert lost.status == "violated"
    assert lost.told[0].startswith("2 packages pass, and 1 deleted")
    assert any("-v or -json" in each for each in lost.told)


def test_several_commands_are_counted_together():
    planned = Planned(capability="quality::tests-green", kind="command", parameters={"test-count-min": 5})
    one, two = green(3), run("2 passed in 0.10s", command="other")

    assert judge(planned, Runs([(one, green(4)), (two, run("1 passed in 0.10s", command="other"))])).status == "held"
    assert judge(planned, Runs([(one, green(3)), (run("fine", command="other"), two)])).status == "violated"


@pytest.mark.parametrize("value", [-1, True, "3", 1.5, None])
@pytest.mark.parametrize("name", ["test_count_min", "fewer_tests_allowed"])
def test_a_parameter_that_is_no_number_is_an_error(name, value):
    assert asked(green(1), green(1), **{name: value}).status == "error"


def test_many_test_files_are_counted_not_listed():
    reply = asked(green(1), green(1), Numbers(files=tuple(f"t{n}.py" for n in range(50))))

    assert reply.told[-1] == "the candidate changes 30 more test files"


@given(st.text(), st.text(), st.sampled_from([0, 1, 127, None]), st.lists(st.text(), max_size=3))
@settings(max_examples=100, deadline=None, database=None)
def test_any_output_gets_a_reply(now, before, code, names):
    reply = asked(run(now, code), run(before, code), Numbers(names, names, names, names))

    assert reply.status in {"violated", "error"} or "passed" in now
    assert all(len(each) <= 200 for each in reply.told)
