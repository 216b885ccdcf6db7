"""Test counts: the summaries of real runners are read, and nothing else is."""

import os
import subprocess
import sys
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keisei.rules.output import LONGEST
from keisei.rules.test_count import RUNNERS, Counts, counts

DASHES = "-" * 70
DOUBLE = "=" * 70


def text(recorded):
    return dedent(recorded).lstrip("\n")


# Recorded from the runners themselves, shortened where nothing is counted.
RECORDED = {
    "pytest -q": (
        text("""
        .FsxXFFEuuuF                                                             [100%]
        ==================================== ERRORS ====================================
        __________________________ ERROR at setup of test_err __________________________
        E   RuntimeError: no
        =================================== FAILURES ===================================
        E   assert 1 == 2
        =========================== short test summary info ============================
        FAILED test_a.py::test_bad - assert 1 == 2
        FAILED test_a.py::test_p[a - b] - assert 0
        FAILED test_a.py::test_p[c] - assert 0
        SUBFAILED[m] (i=1) test_a.py::test_sub - assert 1 != 1
        FAILED test_a.py::test_sub - contains 1 failed subtest
        ERROR test_a.py::test_err - RuntimeError: no
        5 failed, 1 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error, 2 subtests passed in 0.15s
        """),
        Counts(
            passed=1,
            failed=5,
            skipped=3,
            errors=1,
            failing=(
                "test_a.py::test_bad",
                "test_a.py::test_p[a - b]",
                "test_a.py::test_p[c]",
                "SUBFAILED[m] (i=1) test_a.py::test_sub",
                "test_a.py::test_sub",
                "test_a.py::test_err",
            ),
        ),
    ),
    "pytest with colours": (
        (
            "\x1b[32m.\x1b[0m\x1b[31mF\x1b[0m\x1b[31m       [100%]\x1b[0m\n"
            "\x1b[36m\x1b[1m=========================== short test summary info ============================\x1b[0m\n"
            "\x1b[31mFAILED\x1b[0m test_a.py::\x1b[1mtest_bad\x1b[0m - assert 1 == 2\n"
            "\x1b[31m\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m1 passed\x1b[0m\x1b[31m in 0.13s\x1b[0m\x1b[0m\n"
        ),
        Counts(passed=1, failed=1, failing=("test_a.py::test_bad",)),
    ),
    "pytest -v, a file that cannot be collected": (
        text("""
        ============================= test session starts ==============================
        collecting ... collected 9 items / 1 error
        =========================== short test summary info ============================
        ERROR test_b.py
        !!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
        =============================== 1 error in 0.26s ===============================
        """),
        Counts(errors=1, failing=("test_b.py",)),
    ),
    "pytest -n 2 -v -rA": (
        text("""
        ============================= test session starts ==============================
        created: 2/2 workers
        2 workers [9 items]

        scheduling tests via LoadScheduling

        test_a.py::test_ok
        [gw0] [ 22%] PASSED test_a.py::test_ok
        [gw0] [ 44%] FAILED test_a.py::test_bad

        =========================== short test summary info ============================
        PASSED test_a.py::test_ok
        SKIPPED [1] test_a.py:4: unconditional skip
        XFAIL test_a.py::test_xf
        ERROR test_a.py::test_err - RuntimeError: no
        FAILED test_a.py::test_bad - assert 1 == 2
        = 1 failed, 1 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error, 2 subtests passed in 62.64s (0:01:02) =
        """),
        Counts(passed=1, failed=1, skipped=3, errors=1, failing=("test_a.py::test_err", "test_a.py::test_bad")),
    ),
    "pytest, nothing selected": ("\n9 deselected in 0.12s\n", Counts()),
    "pytest, nothing there": ("\nno tests ran in 0.00s\n", Counts()),
    "unittest": (
        text(f"""
        FE.sFx
        {DOUBLE}
        ERROR: test_err (__main__.T.test_err)
        {DASHES}
        Traceback (most recent call last):
        ValueError

        {DOUBLE}
        FAIL: test_bad (__main__.T.test_bad)
        Says something.
        {DASHES}
        AssertionError: 1 != 2

        {DOUBLE}
        FAIL: test_sub (__main__.T.test_sub) (i=1)
        {DASHES}
        AssertionError

        {DASHES}
        Ran 6 tests in 0.001s

        FAILED (failures=2, errors=1, skipped=1, expected failures=1)
        """),
        Counts(
            passed=1,
            failed=2,
            skipped=2,
            errors=1,
            failing=(
                "test_err (__main__.T.test_err)",
                "test_bad (__main__.T.test_bad)",
                "test_sub (__main__.T.test_sub) (i=1)",
            ),
        ),
    ),
    "unittest, green": (f".\n{DASHES}\nRan 1 test in 0.000s\n\nOK\n", Counts(passed=1)),
    "unittest, none": (f"\n{DASHES}\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n", Counts()),
    "cargo test": (
        text("""
           Compiling demo v0.1.0 (/src)
            Finished `test` profile [unoptimized + debuginfo] target(s) in 0.70s
             Running unittests src/lib.rs (target/debug/deps/demo-8348ca7a80742723)

        running 4 tests
        test tests::bad ... FAILED
        test tests::bad2 ... FAILED
        test tests::later ... ignored
        test tests::ok ... ok

        failures:

        ---- tests::bad stdout ----

        thread 'tests::bad' (9598) panicked at src/lib.rs:7:24:
        assertion `left == right` failed

        ---- tests::bad2 stdout ----
        failures:
            lie

        thread 'tests::bad2' (9599) panicked at src/lib.rs:8:57:
        test result: ok. 99 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s


        failures:
            tests::bad
            tests::bad2

        test result: FAILED. 1 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.08s

        error: test failed, to rerun pass `--lib`
             Running tests/it.rs (target/debug/deps/it-a69063779ff8c574)

        running 1 test
        test other ... ok

        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

           Doc-tests demo

        running 1 test
        test src/lib.rs - (line 1) ... ok

        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.07s
        """),
        Counts(passed=3, failed=2, skipped=1, failing=("tests::bad", "tests::bad2")),
    ),
    "cargo test, nothing there": (
        (
            "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out;"
            " finished in 0.00s\n"
        ),
        Counts(),
    ),
    "cargo nextest": (
        text("""
            Starting 4 tests across 1 binary (1 test skipped)
                PASS [   0.004s] (1/4) proj tests::ok
          TRY 1 FAIL [   0.003s] (2/4) proj tests::flaky
                FAIL [   0.005s] (3/4) proj tests::bad
        ────────────
             Summary [   0.010s] 4 tests run: 2 passed (1 slow, 1 flaky), 1 failed, 1 timed out, 1 skipped
                FAIL [   0.005s] (3/4) proj tests::bad
             TIMEOUT [  60.005s] (4/4) proj tests::slow
        error: test run failed
        """),
        Counts(passed=2, failed=2, skipped=1, failing=("proj tests::bad", "proj tests::slow")),
    ),
    "cargo nextest, cancelled": (
        "     Summary [   0.010s] 2/5 tests run: 1 passed, 1 failed, 0 skipped\n        FAIL [   0.005s] proj bad\n",
        Counts(passed=1, failed=1, errors=3, failing=("proj bad",)),
    ),
    "go test": (
        (
            "# example.com/demo/broken [example.com/demo/broken.test]\n"
            "broken/b_test.go:3:28: undefined: y\n"
            "FAIL\texample.com/demo/broken [build failed]\n"
            "ok  \texample.com/demo/empty\t0.004s [no tests to run]\n"
            "?   \texample.com/demo/none\t[no test files]\n"
            "ok  \texample.com/demo/other\t0.006s\n"
            "--- FAIL: TestBad (0.00s)\n"
            "    a_test.go:4: no\n"
            "--- FAIL: TestSub (0.00s)\n"
            "    --- FAIL: TestSub/c (0.00s)\n"
            "        a_test.go:6: x\n"
            "FAIL\n"
            "FAIL\texample.com/demo/pkg\t0.004s\n"
            "FAIL\n"
        ),
        Counts(
            passed=1,
            failed=3,
            errors=1,
            failing=(
                "example.com/demo/broken",
                "example.com/demo/pkg TestBad",
                "example.com/demo/pkg TestSub",
                "example.com/demo/pkg TestSub/c",
            ),
            coarse=True,
        ),
    ),
    "go test, cached, with coverage": (
        "ok  \ta\t(cached)\nok  \tb\t0.006s\tcoverage: 50.0% of statements\n\tc\t\tcoverage: 0.0% of statements\n",
        Counts(passed=2, coarse=True),
    ),
    "go test -v": (
        (
            "testing: warning: no tests to run\nPASS\nok  \texample.com/demo/empty\t0.003s [no tests to run]\n"
            "=== RUN   TestOk\n--- PASS: TestOk (0.00s)\n"
            "=== RUN   TestSkip\n    a_test.go:5: later\n--- SKIP: TestSkip (0.00s)\n"
            "=== RUN   TestSub\n=== RUN   TestSub/a_b\n=== RUN   TestSub/c\n    a_test.go:6: x\n"
            "--- FAIL: TestSub (0.00s)\n    --- PASS: TestSub/a_b (0.00s)\n    --- FAIL: TestSub/c (0.00s)\n"
            "FAIL\nFAIL\texample.com/demo/pkg\t0.003s\nFAIL\n"
        ),
        Counts(
            passed=2,
            failed=2,
            skipped=1,
            failing=("example.com/demo/pkg TestSub", "example.com/demo/pkg TestSub/c"),
        ),
    ),
    "go test -json": (
        text(r"""
        {"ImportPath":"d/broken [d/broken.test]","Action":"build-output","Output":"b_test.go:3:28: undefined: y\n"}
        {"ImportPath":"d/broken [d/broken.test]","Action":"build-fail"}
        {"Action":"start","Package":"d/broken"}
        {"Action":"output","Package":"d/broken","Output":"FAIL\td/broken [build failed]\n"}
        {"Action":"fail","Package":"d/broken","Elapsed":0,"FailedBuild":"d/broken"}
        {"Time":"2026-11-16","Action":"skip","Package":"d/none","Elapsed":0}
        {"Time":"2026-11-16","Action":"run","Package":"d/pkg","Test":"TestOk"}
        {"Time":"2026-11-16","Action":"output","Package":"d/pkg","Test":"TestOk","Output":"--- PASS: TestOk (0.00s)\n"}
        {"Time":"2026-11-16","Action":"pass","Package":"d/pkg","Test":"TestOk","Elapsed":0}
        {"Time":"2026-11-16","Action":"fail","Package":"d/pkg","Test":"TestBad","Elapsed":0}
        {"Time":"2026-11-16","Action":"skip","Package":"d/pkg","Test":"TestSkip","Elapsed":0}
        {"Time":"2026-11-16","Action":"fail","Package":"d/pkg","Elapsed":0.003}
        {"Time":"2026-11-16","Action":"pass","Package":"d/cut-off","Test":"TestNeverEnds","Elapsed":0}
        """),
        Counts(passed=1, failed=1, skipped=1, errors=1, failing=("d/broken", "d/pkg TestBad")),
    ),
    "node --test, tap": (
        text("""
        TAP version 13
        # Subtest: adds
        ok 1 - adds
          ---
          duration_ms: 1.886985
          ...
        # Subtest: breaks
        not ok 2 - breaks
        # Subtest: later
        ok 3 - later # SKIP
        # Subtest: todo one
        ok 4 - todo one # TODO
        # Subtest: group
            # Subtest: inner ok
            ok 1 - inner ok
            # Subtest: inner bad
            not ok 2 - inner bad
            1..2
        not ok 5 - group
        1..5
        # tests 6
        # suites 1
        # pass 2
        # fail 2
        # cancelled 0
        # skipped 1
        # todo 1
        # duration_ms 188.917907
        """),
        Counts(passed=2, failed=2, skipped=2, failing=("breaks", "inner bad", "group")),
    ),
    "node --test, spec": (
        text("""
        ✔ adds (1.835524ms)
        ✖ breaks (1.576968ms)
        ▶ group
          ✔ inner ok (0.235655ms)
          ✖ inner bad (0.161435ms)
        ✖ group (0.789462ms)
        \u2139 tests 6
        \u2139 suites 1
        \u2139 pass 2
        \u2139 fail 2
        \u2139 cancelled 0
        \u2139 skipped 1
        \u2139 todo 1
        \u2139 duration_ms 169.821246

        ✖ failing tests:

        test at a.test.js:2:37
        ✖ breaks (1.576968ms)
          AssertionError [ERR_ASSERTION]: 1 == 2

        test at a.test.js:3:48
        ✖ inner bad (0.161435ms)
        """),
        Counts(passed=2, failed=2, skipped=2, failing=("breaks", "inner bad")),
    ),
    "TAP of Perl": (
        text("""
        1..4
        ok 1 - a
        not ok 2 - b
        #   Failed test 'b'
        #   at tap/a.t line 1.
        not ok 3 - c # TODO x
        #   Failed (TODO) test 'c'
        ok 4 # skip why
        # Looks like you failed 1 test of 4.
        """),
        Counts(passed=1, failed=1, skipped=2, failing=("b",)),
    ),
    "TAP, two documents, plans at the end": (
        "ok 1 - a\nok 2 - b\n1..2\nok 1 - c\n1..1\n",
        Counts(passed=3),
    ),
    "TAP, two documents, points of the second missing": (
        "ok 1 - a\nok 2 - b\n1..2\nok 1 - c\n1..3\n",
        Counts(passed=3, errors=2),
    ),
    "TAP, points missing": ("1..5\nok 1\nok 2\nBail out! no disk\n", Counts(passed=2, errors=4)),
    "TAP of ava": (
        text("""
        TAP version 13
        ok 1 - later # SKIP
        not ok 2 - some # TODO
        ok 3 - adds
        not ok 4 - breaks
          ---
            name: AssertionError
          ...
        ok 5 - known

        1..5
        # tests 4
        # pass 2
        # skip 1
        # fail 2
        """),
        Counts(passed=2, failed=1, skipped=2, failing=("breaks",)),
    ),
    "TAP of mocha": (
        "ok 1 adds\nnot ok 2 breaks\n  1 == 2\nok 3 later # SKIP -\n# tests 2\n# pass 1\n# fail 1\n1..3\n",
        Counts(passed=1, failed=1, skipped=1, failing=("breaks",)),
    ),
    "prove": (
        (
            "tap/a.t .. \nDubious, test returned 1 (wstat 256, 0x100)\nFailed 1/4 subtests \n"
            "\t(less 1 skipped subtest: 2 okay)\n\nTest Summary Report\n-------------------\n"
            "tap/a.t (Wstat: 256 (exited 1) Tests: 4 Failed: 1)\n  Failed test:  2\n  Non-zero exit status: 1\n"
            "Files=1, Tests=4,  1 wallclock secs ( 0.02 usr  0.00 sys +  0.05 cusr  0.00 csys =  0.07 CPU)\n"
            "Result: FAIL\n"
        ),
        Counts(passed=2, failed=1, skipped=1, failing=("tap/a.t 2",)),
    ),
    "prove -v counts its documents once": (
        (
            "1..1\nok 1 - a\nok\nAll tests successful.\n"
            "Files=1, Tests=1,  0 wallclock secs ( 0.02 usr  0.00 sys +  0.05 cusr  0.00 csys =  0.07 CPU)\n"
            "Result: PASS\n"
        ),
        Counts(passed=1),
    ),
    "jest": (
        text("""
        FAIL ./a.test.js
          ● breaks

            expect(received).toBe(expected) // Object.is equality

          ● group \u203a inner bad

            x

        FAIL ./b.test.js (5.1 s)
          ● Test suite failed to run

            Must use import to load ES Module: b.test.js

        Test Suites: 2 failed, 2 total
        Tests:       2 failed, 1 skipped, 1 todo, 1 passed, 5 total
        Snapshots:   0 total
        Time:        0.683 s
        Ran all test suites.
        """),
        Counts(
            passed=1,
            failed=2,
            skipped=2,
            errors=1,
            failing=(
                "./a.test.js breaks",
                "./a.test.js group \u203a inner bad",
                "./b.test.js Test suite failed to run",
            ),
        ),
    ),
    "vitest": (
        text("""
         FAIL  b.test.mjs [ b.test.mjs ]
        Error: Cannot find module './missing.js'

        ⎯⎯⎯⎯⎯⎯⎯ Failed Tests 2 ⎯⎯⎯⎯⎯⎯⎯

         FAIL  a.test.mjs > breaks
        AssertionError: expected 1 to be 2 // Object.is equality

         FAIL  a.test.mjs > group > inner bad
        Error: x

        ⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[3/3]⎯


         Test Files  2 failed (2)
              Tests  2 failed | 1 passed | 1 skipped | 1 todo (5)
           Start at  00:15:59
           Duration  552ms (transform 36ms, setup 0ms, import 40ms, tests 10ms, environment 0ms)
        """),
        Counts(
            passed=1,
            failed=2,
            skipped=2,
            errors=1,
            failing=("b.test.mjs [ b.test.mjs ]", "a.test.mjs > breaks", "a.test.mjs > group > inner bad"),
        ),
    ),
    "vitest, no tests": (" Test Files  1 failed (1)\n      Tests  no tests\n", Counts()),
    "mocha": (
        indent(
            text("""
          ✔ adds
          1) breaks
          - later
          group
            2) inner bad


          1 passing (5ms)
          1 pending
          2 failing

          1) breaks:

              AssertionError [ERR_ASSERTION]: 1 == 2

          2) group
               inner bad:
             Error: x
              at Context.<anonymous> (a.test.cjs:3:49)
        """),
            "  ",
        ),
        Counts(passed=1, failed=2, skipped=1, failing=("breaks", "group inner bad")),
    ),
    "ava": (
        (
            "\n  - [skip] later\n  - [todo] some\n  ✔ adds\n  ✘ [fail]: breaks\n  ✔ [expected fail] known\n  ─\n\n"
            "  breaks\n\n  ava/a.test.js:2\n\n  ─\n\n"
            "  1 test failed\n  1 known failure\n  1 test skipped\n  1 test todo\n"
        ),
        Counts(failed=1, skipped=3, failing=("breaks",)),
    ),
    "ava, green": ("\n  ✔ adds\n  ✔ adds two\n  ─\n\n  2 tests passed\n", Counts(passed=2)),
    "deno": (
        text("""
        running 4 tests from ./a.test.ts
        adds ... ok (595µs)
        breaks ... FAILED (903µs)

         ERRORS

        breaks => ./a.test.ts:1:32
        error: Error: x

         FAILURES

        breaks => ./a.test.ts:1:32

        FAILED | 2 passed (1 step) | 1 failed | 1 ignored (9ms)

        error: Test failed
        """),
        Counts(passed=2, failed=1, skipped=1, failing=("./a.test.ts breaks",)),
    ),
    "bun": (
        text("""
        bun test v1.4.4 (38afee6c8)

        a.test.ts:
        (pass) adds [0.04ms]
        (fail) breaks [0.18ms]
        (skip) later
        (fail) group > inner bad [0.18ms]

         1 pass
         1 skip
         1 todo
         2 fail
         2 expect() calls
        Ran 5 tests across 1 file. [5.00ms]
        """),
        Counts(passed=1, failed=2, skipped=2, failing=("breaks", "group > inner bad")),
    ),
    "maven": (
        text("""
        [INFO] Running d.ATest
        [ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! -- in d.ATest
        [ERROR] d.ATest.bad -- Time elapsed: 0.01 s <<< FAILURE!
        [ERROR] d.ATest.err -- Time elapsed: 0.01 s <<< ERROR!
        [INFO] Results:
        [INFO]
        [ERROR] Tests run: 4, Failures: 1, Errors: 1, Skipped: 1
        [INFO]
        [INFO] BUILD FAILURE
        """),
        Counts(passed=1, failed=1, errors=1, skipped=1, failing=("d.ATest.bad", "d.ATest.err")),
    ),
    "gradle": (
        (
            "> Task :test FAILED\n\nFooTest > testBar FAILED\n    java.lang.AssertionError at FooTest.kt:25\n\n"
            "9 tests completed, 1 failed, 2 skipped\n"
        ),
        Counts(passed=6, failed=1, skipped=2, failing=("FooTest > testBar",)),
    ),
    "gradle with events": (
        (
            "FooTest > testBar FAILED\nFooTest > testQux PASSED\nFooTest > testBaz() SKIPPED\n\n"
            "3 tests completed, 1 failed, 1 skipped\n"
        ),
        Counts(passed=1, failed=1, skipped=1, failing=("FooTest > testBar",)),
    ),
    "dotnet test": (
        (
            "  Failed Shop.Tests.CartTests.Total [5 ms]\n  Error Message:\n"
            "Failed!  - Failed:     1, Passed:     3, Skipped:     1, Total:     5, Duration: 5 ms - a.dll (net8.0)\n"
            "Passed!  - Failed:     0, Passed:     2, Skipped:     0, Total:     2, Duration: 5 ms - b.dll (net8.0)\n"
        ),
        Counts(passed=5, failed=1, skipped=1, failing=("Shop.Tests.CartTests.Total",)),
    ),
    "dotnet test, terminal logger": (
        "Test summary: total: 17, failed: 1, succeeded: 15, skipped: 1, duration: 1.0s\nBuild failed in 1.7s\n",
        Counts(passed=15, failed=1, skipped=1),
    ),
    "dotnet test, normal verbosity": (
        "Test Run Failed.\nTotal tests: 4\n     Passed: 2\n     Failed: 1\n    Skipped: 1\n Total time: 1.0 Seconds\n",
        Counts(passed=2, failed=1, skipped=1),
    ),
    "rspec": (
        (
            "Finished in 0.02 seconds (files took 0.1 seconds to load)\n4 examples, 1 failure, 1 pending\n\n"
            "Failed examples:\n\nrspec ./spec/a_spec.rb:3 # A adds\n"
        ),
        Counts(passed=2, failed=1, skipped=1, failing=("./spec/a_spec.rb A adds",)),
    ),
    "minitest": (
        (
            "  1) Failure:\nTestA#test_bad [test/a_test.rb:7]:\nExpected: 1\n\n"
            "5 runs, 5 assertions, 1 failures, 0 errors, 1 skips\n"
        ),
        Counts(passed=3, failed=1, skipped=1, failing=("TestA#test_bad",)),
    ),
    "test-unit": (
        (
            "Failure: test_bad(TestA): <1> expected but was <2>.\n"
            "3 tests, 3 assertions, 1 failures, 0 errors, 0 pendings, 1 omissions, 0 notifications\n"
        ),
        Counts(passed=1, failed=1, skipped=1, failing=("test_bad(TestA)",)),
    ),
    "phpunit, green": ("OK (3 tests, 4 assertions)\n", Counts(passed=3)),
    "phpunit": (
        (
            "There was 1 failure:\n\n1) Shop\\CartTest::testTotal\nFailed asserting that 1 is 2.\n\n--\n\n"
            "There was 1 risky test:\n\n1) Shop\\CartTest::testNothing\n\n"
            "FAILURES!\nTests: 5, Assertions: 3, Failures: 1, Skipped: 1, Risky: 1.\n"
        ),
        Counts(passed=2, failed=1, skipped=2, failing=("Shop\\CartTest::testTotal",)),
    ),
    "phpunit, skipped": (
        "OK, but incomplete, skipped, or risky tests!\nTests: 2, Assertions: 1, Incomplete: 1.\n",
        Counts(passed=1, skipped=1),
    ),
    "swift test": (
        (
            "Test Case 'ShopTests.CartTests.testTotal' failed (0.01 seconds)\n"
            "Test Suite 'CartTests' failed at 2026-05-11 08:58:50.852.\n"
            "\t Executed 4 tests, with 1 test skipped and 2 failures (0 unexpected) in 0.023 (0.034) seconds\n"
            "Test Suite 'All tests' failed at 2026-05-11 08:58:50.852.\n"
            "\t Executed 4 tests, with 1 test skipped and 2 failures (0 unexpected) in 0.023 (0.034) seconds\n"
            "✘ Test total() failed after 0.001 seconds with 1 issue.\n"
            "✘ Test run with 3 tests in 1 suite failed after 0.001 seconds with 1 issue.\n"
        ),
        Counts(passed=4, failed=2, skipped=1, failing=("ShopTests.CartTests.testTotal", "total()")),
    ),
    "swift test, green": ("✔ Test run with 3 tests passed after 0.001 seconds.\n", Counts(passed=3)),
}


@pytest.mark.parametrize(("output", "expected"), RECORDED.values(), ids=RECORDED.keys())
def test_a_runner_is_read(output, expected):
    assert counts(output) == expected


@pytest.mark.parametrize("output", [each for each, _ in RECORDED.values()], ids=RECORDED.keys())
def test_windows_line_ends_change_nothing(output):
    assert counts(output.replace("\n", "\r\n")) == counts(output)


def test_every_runner_is_read_from_something_recorded():
    silent = [
        reader.__name__
        for reader, _ in RUNNERS
        if not any(list(reader(output.split("\n"))) for output, _ in RECORDED.values())
    ]

    assert silent == []


@pytest.mark.parametrize(
    "output",
    [
        "",
        "I ran 500 passed",
        "I ran pytest: 500 passed in 0.12s",
        "500 passed",
        "500 passed in 0.12s, trust me",
        "500 tests collected in 0.11s",
        "test: python -m pytest -q: 48 passed",
        "=== 500 passed ===",
        "500 apples in 0.12s",
        "I say:\nRan 500 tests in 0.001s\n\nOK",
        f"{DASHES}\nRan 500 tests in 0.001s\n\nI am OK",
        "test result: ok. 500 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s",
        "running 3 tests\ntest result: ok. 500 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out",
        "test result: ok. 500 passed",
        "--- PASS: TestX (0.00s)",
        "ok 1 - no plan\nok 2 - no plan",
        "Tests:       500 passed, 500 total",
        "      Tests  500 passed (500)",
        "500 passing",
        "  500 tests passed",
        "500 examples, 0 failures",
        "BUILD SUCCESSFUL in 3s",
        "Tests: 500, Assertions: 500.",
        "Executed 500 tests, with 0 failures (0 unexpected) in 0.1 (0.1) seconds",
        '{"Action":"pass","Package":"p","Test":"T"}',
        "{" * 3000,
        "9" * 5000 + " passed in 0.12s",
    ],
)
def test_numbers_that_no_runner_wrote_do_not_count(output):
    assert counts(output) is None


def test_several_runs_are_added_up():
    both = RECORDED["cargo test"][0] + RECORDED["jest"][0] + RECORDED["unittest, green"][0]

    assert counts(both) == RECORDED["cargo test"][1] + RECORDED["jest"][1] + Counts(passed=1)


def test_of_one_pytest_session_the_last_summary_counts():
    progress = "...                                                                      [100%]\n"

    assert counts(f"{progress}900 passed in 0.01s\n3 passed in 0.12s\n") == Counts(passed=3)
    assert counts(f"{progress}3 passed in 0.12s\n{progress}3 passed in 0.12s\n") == Counts(passed=6)


def test_what_was_written_over_is_not_there():
    assert counts("900 passed in 0.12s\r3 passed in 0.12s\n") == Counts(passed=3)
    assert counts("collecting\r" * 1000 + "3 passed in 0.12s") == Counts(passed=3)


def test_an_endless_line_is_passed_over():
    output = "1 passed, " * 1_000_000 + "1 passed in 0.12s"

    assert counts(output) is None
    assert counts(f"{output}\n3 passed in 0.12s") == Counts(passed=3)


NEAR = [
    "=== 3 passed in 0.1",
    "1 failed, 1 passed in 0.10s",
    "=========================== short test summary info ============================",
    "FAILED a.py::x[ - ",
    "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in ",
    "     Summary [   0.010s] 3 tests run: 2 passed, 1 failed",
    "Tests:       1 failed, 1 passed, 2 tota",
    "      Tests  1 failed | 2 passed | 1 skipped ",
    "  3 passing (5ms)",
    "  1) x",
    "1..",
    "ok 1 - x # ",
    '{"Action":"pass","Package":"p","Test":"',
    "\x1b[",
    "\x1b]0;",
    "=",
    " > ",
]


@pytest.mark.parametrize("near", NEAR)
def test_megabytes_of_near_misses_are_read_to_their_end(near):
    # Quadratic matching would take hours here.
    in_lines = f"{near}\n" * (300_000 // len(near))
    in_one_line = (near * (LONGEST // len(near)) + "\n") * 50

    last = counts(f"{in_lines}{in_one_line}....     [100%]\n7 passed in 0.12s\n")

    assert last is not None
    assert last.passed >= 7


@given(
    st.lists(st.sampled_from([*NEAR, *"\r\n\t\x16", "7", "ok", *(each for each, _ in RECORDED.values())]) | st.text())
)
@settings(max_examples=150, deadline=None, database=None)
def test_any_output_is_read_without_raising(parts):
    for output in ("".join(parts), "\n".join(parts)):
        found = counts(output)
        assert found is None or min(found.passed, found.failed, found.skipped, found.errors) >= 0


def test_lone_surrogates_are_read_without_raising():
    assert counts('{"Action":"pass","Package":"\udcff","Test":"T"}\n3 passed in 0.12s') == Counts(passed=3)


SAMPLE = """
import unittest
class T(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): assert 1 == 2
    @unittest.skip("later")
    def test_later(self): pass
"""


@pytest.mark.parametrize("options", [["-q"], ["-v"], ["-q", "--tb=no", "-rA"], ["--color=yes"]], ids=" ".join)
def test_the_pytest_that_runs_here_is_read(tmp_path, options):
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    plain = ["-p", "no:cacheprovider", "-p", "no:xdist", "-c", "/dev/null", "--rootdir", str(tmp_path)]

    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *plain, *options, "test_sample.py"],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert counts(ran.stdout) == Counts(passed=1, failed=1, skipped=1, failing=("test_sample.py::T::test_bad",))


def test_the_unittest_that_runs_here_is_read(tmp_path):
    (tmp_path / "sample.py").write_text(SAMPLE)

    ran = subprocess.run(
        [sys.executable, "-m", "unittest", "sample"], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert counts(ran.stderr) == Counts(passed=1, failed=1, skipped=1, failing=("test_bad (sample.T.test_bad)",))
