"""Values of a pipe: what references lead to, read back where it is needed and let go when nobody needs it any more."""

from collections.abc import Callable, Iterator
from typing import Any

from keisei.engine.ports import PipeRuns
from keisei.records.pipe_plan import PipePlan, PlannedStep
from keisei.records.pipe_run import PipeMember
from keisei.rules.condition import condition
from keisei.rules.reference import Reference, references, template


def roots_of(step: PlannedStep) -> frozenset[str]:
    """What a step refers to: steps and `input`. The stream it consumes is no value."""
    found = {each.root for each in references(step.step.input)}
    if step.step.condition is not None:
        found |= {each.root for each in condition(step.step.condition).references}
    if step.step.for_each is not None and step.consumes is None:
        found |= {piece.root for piece in template(step.step.for_each) if isinstance(piece, Reference)}
    return frozenset(found - {"item", "index"})


def members_of(runs: PipeRuns, run_id: str, step: str) -> Iterator[PipeMember]:
    """Every member of a step, a page at a time."""
    after = -1
    while page := runs.members(run_id, step, after):
        yield from page
        after = page[-1].index


class Values:
    """What steps came to. A plain one stands here while somebody may ask for it; a list is read when one does."""

    def __init__(
        self,
        runs: PipeRuns,
        run_id: str,
        plan: PipePlan,
        given: Any,  # noqa: ANN401 - any JSON
        written: Callable[[], None],
    ) -> None:
        """Nothing came out yet but what was given. `written` has all rows written, before one is read."""
        self._runs, self._run_id, self._written = runs, run_id, written
        self._roots = {step.name: roots_of(step) for step in plan.steps}
        self._lists = {step.name for step in plan.steps if step.step.for_each is not None}
        self._asking: dict[str, int] = {}
        for roots in self._roots.values():
            for root in roots:
                self._asking[root] = self._asking.get(root, 0) + 1
        self._known: dict[str, Any] = {"input": given}
        self._unkept: dict[tuple[str, int], Any] = {}

    def is_asked(self, step: str) -> bool:
        """Whether anything refers to it that has not ended."""
        return self._asking.get(step, 0) > 0

    def put(self, step: str, index: int, output: Any, *, kept: bool) -> None:  # noqa: ANN401 - any JSON
        """What a member came to."""
        if not self.is_asked(step):
            return
        if step not in self._lists:
            self._known[step] = output
        elif not kept:
            self._unkept[step, index] = output

    def scope(self, step: PlannedStep) -> dict[str, Any]:
        """Everything a step refers to."""
        return {root: self._value(root) for root in self._roots[step.name]}

    def release(self, step: str) -> None:
        """A step has ended: what only it asked for is let go."""
        for root in self._roots[step]:
            self._asking[root] -= 1
            if not self._asking[root] and root != "input":
                self._known.pop(root, None)
                self._unkept = {key: value for key, value in self._unkept.items() if key[0] != root}

    def _value(self, root: str) -> Any:  # noqa: ANN401 - any JSON
        if root not in self._known:
            self._written()
            done = (each for each in members_of(self._runs, self._run_id, root) if each.state == "done")
            outputs = [each.output if each.output_kept else self._unkept.get((root, each.index)) for each in done]
            self._known[root] = outputs if root in self._lists else next(iter(outputs), None)
        return self._known[root]
