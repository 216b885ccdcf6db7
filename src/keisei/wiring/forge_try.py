"""Trials of drafts: the examples called in the sandbox, from a copy of the package that nobody else sees."""

import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from keisei.records.atom_spec import AtomSpec
from keisei.records.confinement import Machine
from keisei.records.draft import FieldProblem
from keisei.wiring.atom_runtime import AtomRuntime
from keisei.wiring.atom_test import Example, Tried, answered, examples, isolation_of
from keisei.wiring.forge_result import TriedExample, TriedOut

GOOD: Final = ("ok", "declared")
"""Outcomes that a trial may have: an output, or an error that the page declares."""
BUDGET_S: Final = 60.0
"""All examples of an atom together, whatever it allows itself: somebody waits for them."""


class Called(NamedTuple):
    """One example, called."""

    tried: Tried
    items: list[Any]
    input: Any
    is_cut: bool
    """The time for all of them was up, not its own."""


def called(runtime: AtomRuntime, spec: AtomSpec, machine: Machine, asked: Sequence[Example]) -> Iterator[Called]:
    """Each example in its turn, until the time for all of them is up. Raises as `answered` does."""
    until, own_ms = time.monotonic() + BUDGET_S, spec.manifest.timeout_ms
    for name, value in asked:
        left_ms = int(1000 * (until - time.monotonic()))
        if left_ms <= 0:
            return
        bounded = replace(spec, manifest=replace(spec.manifest, timeout_ms=min(own_ms, left_ms)))
        tried, items = answered(runtime, bounded, machine, name, value)
        is_late = tried.error is not None and tried.error.kind == "timeout"
        yield Called(tried, items, value, is_late and left_ms < own_ms)


def tried_out(runtime: AtomRuntime, atom: str, machine: Machine, value: object) -> TriedOut:
    """Call the drafted atom: with a value, or with every example it has where that is None.

    Raises AuthorError where it cannot be read, OperatorError and WorldFault where it cannot be confined.
    """
    spec = runtime.shelf.atom(atom)
    asked = examples(spec) if value is None else [("yours", value)]
    tried = tuple(_told(spec, each) for each in called(runtime, spec, machine, asked))
    left = len(asked) - len(tried)
    return TriedOut(
        ok=bool(tried) and all(each.outcome in GOOD for each in tried),
        isolation=isolation_of(machine, spec).level,
        examples=tried,
        problems=(_unasked(left),) if left else (),
    )


def _unasked(left: int) -> FieldProblem:
    message = f"{left} example{' was' if left == 1 else 's were'} not called: all of them have {BUDGET_S:g} seconds"
    hint = "write the atom; `keisei atom test` calls every one"
    return FieldProblem(field="input", message=message, hint=hint, severity="warning")


def _told(spec: AtomSpec, done: Called) -> TriedExample:
    tried, error = done.tried, done.tried.error
    output: Any = done.items if spec.manifest.kind == "stream" else next(iter(done.items), None)
    return TriedExample(
        example=tried.example,
        input=done.input,
        outcome=tried.outcome,
        output=output,
        code=None if error is None else error.code or error.kind,
        message=None if error is None else error.message,
        said=tried.said,
        duration_ms=tried.duration_ms,
    )
