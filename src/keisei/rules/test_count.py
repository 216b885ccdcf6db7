"""Test counts: how many tests a command ran, out of what it printed.

Only the summaries of runners count, in their exact form and whole lines of them: a number in prose is none. What a
test prints itself can look like a summary; that is why numbers alone never land anything.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from operator import add
from typing import Final

from keisei.rules import test_count_go as go
from keisei.rules import test_count_javascript as javascript
from keisei.rules import test_count_managed as managed
from keisei.rules import test_count_python as python
from keisei.rules import test_count_rust as rust
from keisei.rules import test_count_scripting as scripting
from keisei.rules import test_count_swift as swift
from keisei.rules import test_count_tap as tap
from keisei.rules.output import lines
from keisei.rules.test_tally import Counts

__all__ = ["Counts", "counts"]

Reader = Callable[[Sequence[str]], Iterator[Counts]]

RUNNERS: Final[tuple[tuple[Reader, tuple[str, ...]], ...]] = (
    (python.pytest, (" in ",)),
    (python.unittest, ("Ran ",)),
    (rust.cargo, ("test result: ",)),
    (rust.nextest, (" run: ",)),
    (go.plain, ("ok  \t", "FAIL\t")),
    (go.events, ('"Package":"',)),
    (tap.anything, ("1..", "Tests=", "\u2139 tests ")),
    (tap.spec, ("✖ failing tests:",)),
    (javascript.jest, ("Test Suites: ",)),
    (javascript.vitest, ("Test Files  ",)),
    (javascript.mocha, (" passing (",)),
    (javascript.ava, ("  ─",)),
    (javascript.deno, (" | ",)),
    (javascript.bun, (" across ",)),
    (managed.maven, ("Tests run: ",)),
    (managed.gradle, (" completed", " > ")),
    (managed.dotnet, ("Failed: ", "Test summary: ", "Total tests: ", "Test run summary: ")),
    (scripting.rspec, ("Finished in ",)),
    (scripting.minitest, (" assertions, ",)),
    (scripting.phpunit, ("OK (", "Assertions: ")),
    (swift.xctest, ("Executed ",)),
    (swift.testing, ("Test run with ",)),
)
"""Every runner, with what is in its output for certain: one whose words are nowhere is not asked."""


def counts(output: str) -> Counts | None:
    """The tests of every run in the output together; None where no runner sums up. Never raises."""
    seen = lines(output)
    text = "\n".join(seen)
    runs = [run for reader, marks in RUNNERS if any(mark in text for mark in marks) for run in reader(seen)]
    return reduce(add, runs) if runs else None
