"""Rounds: one step of a pipe at work, and where its members come from."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from keisei.engine.pipe_hands import Stream
from keisei.engine.pipe_member import Unit, needs_mark
from keisei.engine.ports import PipeRuns
from keisei.records.invocation import InvocationError
from keisei.records.pipe_plan import PlannedStep
from keisei.records.pipe_run import PipeMember

Place = tuple[int, dict[str, Any]]
"""A member's index, and what `$item` and `$index` are for it."""


class Earlier:
    """Rows of a step from before, in order, a page at a time."""

    def __init__(self, runs: PipeRuns, run_id: str, step: str, *, is_fresh: bool) -> None:
        """Nothing is read yet; of a fresh run nothing ever is."""
        self._runs, self._run_id, self._step = runs, run_id, step
        self._page: deque[PipeMember] = deque()
        self._after = -1
        self._is_over = is_fresh

    def at(self, index: int) -> PipeMember | None:
        """The row of an index; indices are asked for upwards."""
        while True:
            while self._page and self._page[0].index < index:
                self._page.popleft()
            if self._page:
                return self._page[0] if self._page[0].index == index else None
            if not self._read(index - 1):
                return None

    def beyond(self, index: int) -> Iterator[PipeMember]:
        """Rows from an index on."""
        while self._page or self._read(max(self._after, index - 1)):
            row = self._page.popleft()
            if row.index >= index:
                yield row

    def _read(self, after: int) -> bool:
        if self._is_over:
            return False
        self._page.extend(self._runs.members(self._run_id, self._step, max(after, self._after)))
        if self._page:
            self._after = self._page[-1].index
        self._is_over = not self._page
        return not self._is_over


class Round:
    """A step that has begun."""

    def __init__(self, step: PlannedStep, scope: dict[str, Any], earlier: Earlier, began: float) -> None:
        """Nothing of it was called yet."""
        self.step, self.scope, self.earlier, self.began = step, scope, earlier, began
        self.is_marked = needs_mark(step)
        """A row stands before each of its calls."""
        self.open = 0
        """Units that are on their way, or wait for another try."""
        self.done = 0
        self.total: int | None = None
        """How many members there are, as far as anybody knows."""
        self.error: InvocationError | None = None
        """Why it failed: the first of its failures."""
        self.blocked = 0
        """Members that a person must decide about."""
        self.skip: str | None = None
        """Why the whole step is skipped."""
        self.is_cut = False
        """It was ended before all of its members were called."""
        self.called = False
        """Something of it was called, and not only taken from before."""
        self.stream: Stream | None = None
        """Where its items come from, or the stream it is."""
        self.unit: Unit | None = None
        """Of a stream: the call it is."""
        self.is_taken = False
        """Of a stream: somebody takes its items."""
        self._places: Iterator[Place] = iter(())
        self._waiting: deque[Place] = deque()
        self._next = 0
        self._is_over = True

    def take_one(self) -> None:
        """A plain step: one member."""
        self._places, self._is_over, self.total = iter([(0, {})]), False, 1

    def take_list(self, items: list[Any]) -> None:
        """One member an item."""
        self._places = ((index, {"item": item, "index": index}) for index, item in enumerate(items))
        self._is_over, self.total = False, len(items)

    def take_stream(self, stream: Stream) -> None:
        """One member an item, as they come."""
        self.stream, self._is_over = stream, False

    def come(self, item: Any) -> None:  # noqa: ANN401 - any JSON
        """An item of the stream; the next one comes when this one was taken."""
        self._waiting.append((self._next, {"item": item, "index": self._next}))
        self._next += 1

    def last(self) -> int:
        """No items come any more; how many came."""
        self._is_over = True
        self.total = self._next
        return self._next

    def next(self) -> Place | None:
        """The next member; None where there is none, or none yet."""
        if self._waiting:
            found = self._waiting.popleft()
            if self.stream is not None:
                self.stream.take()
            return found
        place = next(self._places, None)
        if place is None and self.stream is None:
            self._is_over = True
        return place

    def cut(self) -> None:
        """Nothing more of it is called."""
        self.is_cut = self.is_cut or not self.is_exhausted
        self._places, self._is_over = iter(()), True
        self._waiting.clear()

    def miss(self) -> None:
        """A member of it is missing: what there is of it is dealt with, and the step is not whole."""
        self.is_cut = True

    @property
    def is_exhausted(self) -> bool:
        """Whether no member will come any more."""
        return self._is_over and not self._waiting
