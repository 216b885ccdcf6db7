"""Undo: taking back what a failed run did, in the reverse order of finishing."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from keisei.engine.pipe_journal import Journal
from keisei.engine.pipe_member import told
from keisei.engine.pipe_value import Values, members_of
from keisei.engine.ports import PipeRuns
from keisei.records.atom_spec import AtomSpec
from keisei.records.id import InvocationId
from keisei.records.invocation import InvocationError, Invoked
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.records.pipe_run import PipeMember
from keisei.rules.atom_effect import is_safe_again, retries
from keisei.rules.invocation import CANCELED
from keisei.rules.pipe_undo import undo_input
from keisei.rules.pipe_words import BACKOFF_MS
from keisei.rules.reference import BadReference, Unresolved, resolved

TRIES = 3
NOT_KEPT = "what came out holds a secret, and was not kept"
BEGUN = "its undo was begun, and nobody saw it end"


class Taken(NamedTuple):
    """A member that is to be taken back."""

    finished: int
    """Its place among all that finished."""
    step: PlannedStep
    """Its step."""
    item: int
    """Its index."""

    @property
    def told(self) -> str:
        """As people call it."""
        return told(self.step, self.item)


def undoable(runs: PipeRuns, run_id: str, plan: PipePlan) -> list[Taken]:
    """Members that were done and can be taken back, the last one first. Outputs are not held: there may be many."""
    found = [
        Taken(member.finished or 0, step, member.index)
        for step in plan.steps
        if step.undo is not None
        for member in members_of(runs, run_id, step.name)
        if member.state == "done" and member.source == "ran"
    ]
    return sorted(found, key=lambda each: each.finished, reverse=True)


class Undo(NamedTuple):
    """How one member is taken back."""

    runs: PipeRuns
    run_id: str
    values: Values
    envelopes: frozenset[str]
    journal: Journal
    call: Callable[[AtomSpec, Any, InvocationId], Invoked]
    """Make a call, and put its row into the journal."""
    wait: Callable[[float], None]
    """Wait, unless somebody cancels."""

    def take_back(self, taken: Taken) -> Literal["undone", "undo_failed", "canceled"]:
        """Undo it, and write what became of it. Where it was canceled it may stay as it is."""
        member = self.runs.members(self.run_id, taken.step.name, taken.item - 1, 1)[0]
        undo = taken.step.undo
        assert undo is not None  # noqa: S101 - only such are taken
        if not member.output_kept:  # by name something else would be taken back
            return self._write(member, InvocationError(kind="schema-in", message=f"its undo has no input: {NOT_KEPT}"))
        try:
            value = undo_input(undo, member.output, self._input(taken))
        except (Unresolved, BadReference) as error:
            why = InvocationError(kind="schema-in", message=f"its undo has no input: {error.message}")
            return self._write(member, why)
        is_again = is_safe_again(undo.manifest) or bool(undo.manifest.keyed)
        if not is_again:
            self._write(member, InvocationError(kind="killed", message=BEGUN))
        invoked = self._called(undo, value, InvocationId(f"{member.invocation_id}-undo"))
        if invoked.record.exit_code == CANCELED and is_again:
            self.journal.write()
            return "canceled"
        state = self._write(member, invoked.record.error)
        return "canceled" if invoked.record.exit_code == CANCELED else state

    def _called(self, undo: AtomSpec, value: Any, invocation_id: InvocationId) -> Invoked:  # noqa: ANN401
        """Called once more where that does no harm and may help."""
        tries = 1
        while True:
            invoked = self.call(undo, value, invocation_id)
            error = invoked.record.error
            final = invoked.record.exit_code in (CANCELED, 127)
            if error is None or tries == TRIES or final or not retries(undo.manifest, error):
                return invoked
            self.journal.write()
            self.wait(BACKOFF_MS * 2 ** (tries - 1) / 1000)
            tries += 1

    def _write(self, member: PipeMember, error: InvocationError | None) -> Literal["undone", "undo_failed"]:
        state: Literal["undone", "undo_failed"] = "undone" if error is None else "undo_failed"
        note = None if error is None else f"undo: {error.message}"
        self.journal.add(replace(member, state=state, error=error, note=note))
        self.journal.write()
        return state

    def _input(self, taken: Taken) -> dict[str, Any]:
        """What the step was called with, as far as it can be told once more: items of a stream are gone."""
        scope = self.values.scope(taken.step)
        if taken.step.consumes is not None:
            return {}
        if taken.step.step.for_each is not None:
            items = resolved(taken.step.step.for_each, scope, self.envelopes)
            item = items[taken.item] if isinstance(items, list) and taken.item < len(items) else None
            scope |= {"item": item, "index": taken.item}
        found: dict[str, Any] = resolved(taken.step.step.input, scope, self.envelopes)
        return found
