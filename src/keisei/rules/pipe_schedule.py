"""Schedules: which steps of a plan may start now. Pure: whoever runs them says what started and how it ended.

Two steps that conflict are ordered by the plan, so they never run at once. A stream whose items are taken as they come
runs beside its consumer, and the two of them count as one.
"""

from bisect import bisect_left, insort
from typing import Literal, NamedTuple

from keisei.records.error import IllegalMove
from keisei.records.pipe_plan import PipePlan, PlannedStep

Ending = Literal["done", "failed", "skipped"]
State = Literal["waiting", "running", "done", "failed", "skipped"]
Why = Literal["failed", "skipped", "stopped"]


class Skip(NamedTuple):
    """A step that will not start."""

    position: int
    """Which."""
    cause: int
    """The step it all began with: it failed, or was skipped."""
    why: Why
    """It needs what failed, it needs what was skipped, or the pipe stops at the first failure."""
    reason: str
    """In words."""


class Schedule:
    """One run through a plan. Not for several threads at once."""

    def __init__(self, plan: PipePlan) -> None:
        """Nothing has started."""
        self._plan = plan
        self._rank = {position: rank for rank, position in enumerate(plan.order)}
        self._states: list[State] = ["waiting"] * len(plan.steps)
        self._running = 0
        self._pairs = 0
        self._ended = 0
        self._skips: list[Skip] = []
        self._consumer: dict[int, int] = {}
        self._needing: list[list[int]] = [[] for _ in plan.steps]
        self._following: list[list[int]] = [[] for _ in plan.steps]
        self._left = [self._linked(step) for step in plan.steps]
        self._open = sorted(self._rank[position] for position, left in enumerate(self._left) if not left)
        """Ranks of the steps that wait for nobody any more."""
        self._joining: list[int] = []
        """Consumers that may join their running streams."""

    def _linked(self, step: PlannedStep) -> int:
        """Note who waits for whom; how many steps this one waits for. Its stream it needs, whatever the plan says."""
        needs = {*step.needs} if step.consumes is None else {*step.needs, step.consumes}
        if step.consumes is not None:
            self._consumer[step.consumes] = step.position
        for other in needs:
            self._needing[other].append(step.position)
        for other in needs | {*step.after}:
            self._following[other].append(step.position)
        return len(needs | {*step.after})

    @property
    def is_over(self) -> bool:
        """Whether every step has ended."""
        return self._ended == len(self._states)

    def state(self, position: int) -> State:
        """Where a step has come to."""
        return self._states[position]

    def is_alone(self, position: int) -> bool:
        """Whether nobody takes, or will take, the items of this step as they come."""
        consumer = self._consumer.get(position)
        return consumer is None or self._states[consumer] not in ("waiting", "running")

    def ready(self) -> list[int]:
        """Steps that may start now, all of them at once, in the plan's order; a consumer stands behind its stream."""
        found = list(self._joining)
        for rank in self._open[: max(self._plan.max_parallel - self._running + self._pairs, 0)]:
            position = self._plan.order[rank]
            found.append(position)
            if self._will_join(position):
                found.append(self._consumer[position])
        return found

    def _will_join(self, stream: int) -> bool:
        """Whether the stream is all that its consumer still waits for."""
        consumer = self._consumer.get(stream)
        return consumer is not None and self._states[consumer] == "waiting" and self._left[consumer] == 1

    def start(self, position: int) -> None:
        """Note that a step runs. Raises IllegalMove for one that is not ready; a stream starts before its consumer."""
        if position in self._joining:
            self._joining.remove(position)
            self._pairs += 1
        elif not self._close(position):
            raise IllegalMove(f"step `{self._plan.steps[position].name}` is not ready, it is {self._states[position]}")
        self._states[position] = "running"
        self._running += 1
        if self._will_join(position):
            insort(self._joining, self._consumer[position], key=self._rank.__getitem__)

    def _close(self, position: int) -> bool:
        """Take a step from the ones that could start; False where it was none of them."""
        at = bisect_left(self._open, self._rank[position])
        if at == len(self._open) or self._open[at] != self._rank[position]:
            return False
        del self._open[at]
        return True

    def finish(self, position: int, ending: Ending) -> None:
        """Note how a running step ended. Raises IllegalMove for one that is not running."""
        if self._states[position] != "running":
            raise IllegalMove(
                f"step `{self._plan.steps[position].name}` is not running, it is {self._states[position]}"
            )
        self._running -= 1
        self._part(position)
        self._end(position, ending)
        if ending != "done":
            self._skip_needing(position, ending)
        if ending == "failed" and self._plan.on_failure == "stop":
            self._stop(position)

    def _part(self, position: int) -> None:
        """A stream and its consumer are no pair any more once one of them has ended."""
        for other in (self._consumer.get(position), self._plan.steps[position].consumes):
            if other is not None and self._states[other] == "running":
                self._pairs -= 1
            elif other in self._joining:
                self._joining.remove(other)

    def _end(self, position: int, ending: Ending) -> None:
        self._states[position] = ending
        self._ended += 1
        if not self._left[position]:
            self._pass(position)

    def _pass(self, position: int) -> None:
        """Let go of what waits for it. A skipped step holds on to them until all it waited for has ended, too."""
        pending = [position]
        while pending:
            for other in self._following[pending.pop()]:
                self._left[other] -= 1
                if not self._left[other] and self._states[other] == "waiting":
                    insort(self._open, self._rank[other])
                elif not self._left[other] and self._states[other] != "running":
                    pending.append(other)

    def _skip_needing(self, cause: int, why: Literal["failed", "skipped"]) -> None:
        """Skip what needs it, and what needs that, and so on."""
        pending = [cause]
        while pending:
            needed = pending.pop()
            for position in self._needing[needed]:
                if self._states[position] == "waiting":
                    word = why if needed == cause else "skipped"
                    self._skip(
                        Skip(position, cause, why, f"needs `{self._plan.steps[needed].name}`, which {_was(word)}")
                    )
                    pending.append(position)

    def _stop(self, cause: int) -> None:
        reason = f"not started, because `{self._plan.steps[cause].name}` failed"
        for position in self._plan.order:
            if self._states[position] == "waiting":
                self._skip(Skip(position, cause, "stopped", reason))

    def _skip(self, skip: Skip) -> None:
        self._close(skip.position)
        if skip.position in self._joining:
            self._joining.remove(skip.position)
        self._skips.append(skip)
        self._end(skip.position, "skipped")

    def skipped(self) -> list[Skip]:
        """Steps that were skipped since this was last asked, each told once."""
        told, self._skips = self._skips, []
        return told


def _was(ending: str) -> str:
    return "was skipped" if ending == "skipped" else ending
