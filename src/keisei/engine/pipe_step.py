"""Steps of a pipe: what may start, where its members come from, and when it is over."""

import heapq
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

from keisei.engine.pipe_call import Calls
from keisei.engine.pipe_hands import Ended, Item, Stream
from keisei.engine.pipe_member import (
    Performed,
    digest_of,
    ended,
    needs_mark,
    order_of,
    performed,
    skipped,
)
from keisei.engine.pipe_order import StepEnd, error_words
from keisei.engine.pipe_round import Earlier, Round
from keisei.engine.pipe_value import members_of
from keisei.records.error import IllegalMove, KeiseiError
from keisei.records.pipe_plan import PlannedStep
from keisei.rules.condition import Condition, condition
from keisei.rules.pipe_schedule import Ending, Skip
from keisei.rules.reference import BadReference, Unresolved, resolved

ENDINGS: Final[Mapping[str, Ending]] = {"done": "done", "failed": "failed"}
"""What the schedule is told; everything else counts as skipped."""
HALF: Final[Mapping[str, str]] = {"unknown": "may or may not be done", "unfinished": "was stopped"}
"""Ends of a step that are none, in words."""
MANY = 256
"""Rows that are written at once at most, where none of them is waited for."""


class Steps(Calls):
    """The loop of a session: decide, write, hand out, listen."""

    def _go(self) -> None:
        while True:
            if self._is_canceled and not self._is_stopped:
                self._stop()
                self._tools.invoke.workers.cancel()
            moved = self._turn()
            if self._flying or self._later or self._streaming():
                self._hear()
            elif not self._rounds:
                return
            elif not moved:
                raise IllegalMove(f"the run {self._order.run.run_id} waits for itself: its plan has no way on")

    def _turn(self) -> bool:
        """Do what can be done now, write it down, and hand out what is to be called. False where there was nothing."""
        moved = False
        try:
            moved = self._advance()
            if self._trouble is None:
                self._journal.write()
        except IllegalMove:
            raise
        except KeiseiError as error:
            self._trouble, moved = self._trouble or error, True
            self._stop()
        return self._send() or moved

    def _advance(self) -> bool:
        """Start what may start, and hand out members until every hand is busy or nothing is left."""
        moved, once = True, False
        while moved:
            moved = self._start_steps()
            while self._give_each():
                moved = True
            for each in list(self._rounds.values()):
                moved = self._finish_round(each) or moved
            once = once or moved
        return once

    def _give_each(self) -> bool:
        """A member of every step, that with the fewest at work first: a large fan-out must not hold up the others."""
        given = False
        for each in sorted(self._rounds.values(), key=lambda mine: mine.open):
            given = self._give_one(each) or given
            if len(self._journal) >= MANY and self._trouble is None:
                self._journal.write()
        return given

    def _start_steps(self) -> bool:
        found = [] if self._is_stopped else self._schedule.ready()
        for position in found:
            self._schedule.start(position)
            self._start(self._plan.steps[position])
        for skip in self._schedule.skipped():
            step = self._plan.steps[skip.position]
            self._values.release(step.name)
            self._skip(step, self._reason(skip), is_written=skip.why != "stopped" and self._trouble is None)
        return bool(found)

    def _reason(self, skip: Skip) -> str:
        """Why a step is skipped. The schedule knows no other ends than done, failed and skipped."""
        cause, step = self._plan.steps[skip.cause], self._plan.steps[skip.position]
        end = self._ends.get(cause.name)
        is_near = skip.cause in (*step.needs, step.consumes)
        word = HALF.get(end.state) if end is not None and is_near else None
        return skip.reason if word is None else f"needs `{cause.name}`, which {word}"

    def _hear(self) -> None:
        due = self._later[0][0] - self._tools.invoke.monotonic() if self._later else None
        for event in self._hands.heard(None if due is None else max(0.0, due)):
            if isinstance(event, Performed):
                self._flying -= 1
                self._performed(event)
            elif isinstance(event, Item):
                self._came(event)
            elif isinstance(event, Ended):
                self._stream_ended(event)
        while self._later and self._later[0][0] <= self._tools.invoke.monotonic():
            unit = heapq.heappop(self._later)[2].unit
            self._outgoing.append(replace(unit, tries=unit.tries + 1))

    def _send(self) -> bool:
        """Hand out what was written down. What is stopped before it was called says so. False for nothing."""
        if self._is_canceled and not self._is_stopped:
            self._stop()
        outgoing, self._outgoing = self._outgoing, []
        starting, self._starting = self._starting, []
        # one that nothing else can run beside is called here: handing it over would cost as much as the call
        is_alone = len(outgoing) == 1 and not (starting or self._flying or self._later or self._streaming())
        for unit in outgoing:
            if self._is_stopped:
                self._uncalled(unit)
                continue
            self._flying += 1
            (self._hands.do if is_alone else self._hands.give)(partial(performed, self._caller, unit))
        for each in starting:
            each.is_taken = not self._is_stopped
            if each.stream is not None and each.is_taken:
                each.stream.start()
        return bool(outgoing or starting)

    def _close(self) -> None:
        for stream in self._streaming():
            stream.stop()
            stream.join()
        self._hands.close()

    def _start(self, step: PlannedStep) -> None:
        scope = {} if self._is_left(step) else self._values.scope(step)
        earlier = Earlier(self._tools.runs, self._order.run.run_id, step.name, is_fresh=self._is_fresh)
        mine = Round(step, scope, earlier, self._tools.invoke.monotonic())
        self._rounds[step.position] = mine
        if self._is_left(step):
            mine.skip = None if self._was_done(step) else "it was not asked for"
            return
        self._say("step", step=step.name, atom=step.spec.id, state="running")
        try:
            self._open(mine)
        except (Unresolved, BadReference) as error:
            self._fail_member(mine, 0, error.message)

    def _open(self, mine: Round) -> None:
        """Where its members come from."""
        step = mine.step
        test = None if step.step.condition is None else condition(step.step.condition)
        if test is not None and not _is_own(test) and not test.holds(mine.scope, self._envelopes):
            mine.skip = "its condition does not hold"
        elif step.streamed:
            self._open_stream(mine)
        elif step.consumes is not None:
            self._join(mine, step.consumes)
        elif step.step.for_each is None:
            mine.take_one()
        else:
            items = resolved(step.step.for_each, mine.scope, self._envelopes)
            if not isinstance(items, list):
                raise Unresolved(f"`{step.step.for_each}` is no list: for_each runs once for each item of one")
            mine.take_list(items)

    def _is_left(self, step: PlannedStep) -> bool:
        """Whether it was not asked for. A stream and its consumer are asked for together."""
        if self._order.only is None or step.name == self._order.only:
            return False
        pair = {self._plan.steps[step.consumes].name} if step.consumes is not None else set()
        pair |= {self._consumer(step).name} if step.streamed else set()
        return self._order.only not in pair

    def _was_done(self, step: PlannedStep) -> bool:
        """Whether everything of a step was done before, as far as rows can say."""
        total = self._total_before(step)
        return total is not None and self._is_whole(step, total)

    def _is_whole(self, step: PlannedStep, total: int) -> bool:
        """Whether every one of its members is done or left out, and can be told where somebody asks."""
        fine = {"done"} if step.step.for_each is None else {"done", "skipped"}
        asked = self._values.is_asked(step.name)
        good = (
            each.state in fine
            and each.step_sha == step.step_sha
            and (each.output_kept or each.state == "skipped" or not asked)
            for each in members_of(self._tools.runs, self._order.run.run_id, step.name)
            if each.index < total
        )
        return sum(good) == total

    def _total_before(self, step: PlannedStep) -> int | None:
        """How many members it has, as what was written says; None where nobody knows."""
        if step.step.for_each is None:
            return 1
        if step.consumes is not None:
            name = self._plan.steps[step.consumes].name
            row = next(iter(self._tools.runs.members(self._order.run.run_id, name, -1, 1)), None)
            return row.output if row is not None and row.state == "done" and isinstance(row.output, int) else None
        try:
            items = resolved(step.step.for_each, self._values.scope(step), self._envelopes)
        except (Unresolved, BadReference):
            return None
        return len(items) if isinstance(items, list) else None

    def _give_one(self, mine: Round) -> bool:
        """Deal with the next member. False where there is none now, or nobody has a hand free."""
        busy = self._flying + len(self._outgoing) + len(self._later)
        room = self._plan.max_parallel + (0 if mine.is_marked else 1)
        if busy >= room or (mine.step.serial and mine.open):
            return False
        place = mine.next()
        if place is None:
            return False
        try:
            self._place(mine, *place)
        except (Unresolved, BadReference) as error:
            self._fail_member(mine, place[0], error.message)
        return True

    def _place(self, mine: Round, index: int, own: dict[str, Any]) -> None:
        step, scope = mine.step, {**mine.scope, **own}
        if own and step.step.condition is not None:
            test = condition(step.step.condition)
            if _is_own(test) and not test.holds(scope, self._envelopes):
                self._journal.add(skipped(step, index, "its condition does not hold", mine.earlier.at(index)))
                return
        unit = self._unit(mine, index, resolved(step.step.input, scope, self._envelopes))
        if unit is not None:
            mine.open += 1
            self._outgoing.append(unit)

    def _finish_round(self, mine: Round) -> bool:
        """End a step of which nothing is left to do. False where there is."""
        step = mine.step
        if mine.open or not mine.is_exhausted or not self._is_parted(mine):
            return False
        if self._trouble is None:
            self._shorten(mine)
        del self._rounds[step.position]
        end = self._end_of(mine)
        self._ends[step.name] = end
        self._schedule.finish(step.position, ENDINGS.get(end.state, "skipped"))
        self._values.release(step.name)
        if mine.skip is not None:
            self._skip(step, mine.skip, is_written=self._trouble is None and not self._is_left(step))
        told = {"error": error_words(end.error)} if end.error else {"note": end.note} if end.note else {}
        self._say("step", step=step.name, atom=step.spec.id, state=end.state, duration_ms=end.duration_ms, **told)
        return True

    def _end_of(self, mine: Round) -> StepEnd:
        took = round((self._tools.invoke.monotonic() - mine.began) * 1000, 3) if mine.called else None
        if mine.error is not None:
            return StepEnd(state="failed", error=mine.error, duration_ms=took)
        if mine.skip is not None:
            return StepEnd(state="skipped", note=mine.skip)
        if mine.is_cut:
            return StepEnd(state="unfinished", note="it was stopped", duration_ms=took)
        return StepEnd(state="unknown" if mine.blocked else "done", duration_ms=took)

    def _shorten(self, mine: Round) -> None:
        """Rows of items that are not there any more must not count."""
        if mine.step.step.for_each is not None and mine.total is not None and not mine.is_cut and not mine.skip:
            for row in mine.earlier.beyond(mine.total):
                if row.state not in ("skipped", "unknown"):
                    self._journal.add(skipped(mine.step, row.index, "the list is shorter now", row))

    def _skip(self, step: PlannedStep, why: str, *, is_written: bool) -> None:
        """A step that does not run. What it did before stays written."""
        self._ends[step.name] = StepEnd(state="skipped", note=why)
        if is_written and (self._is_fresh or not self._tools.runs.members(self._order.run.run_id, step.name, -1, 1)):
            self._journal.add(skipped(step, 0, why))

    def _consumer(self, stream: PlannedStep) -> PlannedStep:
        return next(step for step in self._plan.steps if step.consumes == stream.position)

    def _open_stream(self, mine: Round) -> None:
        """Make the stream ready; it begins when its consumer does."""
        value = resolved(mine.step.step.input, mine.scope, self._envelopes)
        if not self._is_fresh and self._is_replayed(mine, digest_of(value)):
            self._replayed.add(self._consumer(mine.step).position)
            return
        mine.unit = self._unit(mine, 0, value, is_replayed=False)
        if mine.unit is not None:
            mine.stream = Stream(self._caller.tools, order_of(self._caller, mine.unit), self._hands.tell)

    def _is_replayed(self, mine: Round, input_sha: str) -> bool:
        """Whether stream and consumer are done: the stream as it is now, and every item of it."""
        row, consumer = mine.earlier.at(0), self._consumer(mine.step)
        again = {mine.step.name, consumer.name} & self._order.again
        if row is None or row.state != "done" or again or not isinstance(row.output, int):
            return False
        if (row.step_sha, row.input_sha) != (mine.step.step_sha, input_sha) or self._is_renewed(consumer):
            return False
        return self._is_whole(consumer, row.output)

    def _is_renewed(self, step: PlannedStep) -> bool:
        """Whether something else that it needs was called in this session."""
        ends = (self._ends.get(self._plan.steps[need].name) for need in step.needs)
        return any(end is not None and end.duration_ms is not None for end in ends)

    def _join(self, mine: Round, position: int) -> None:
        """Take the items of a stream as they come."""
        source = self._rounds.get(position)
        if mine.step.position in self._replayed:
            return
        if source is None or source.stream is None:
            mine.skip = f"`{self._plan.steps[position].name}` gives no items"
            return
        mine.take_stream(source.stream)
        self._starting.append(source)

    def _came(self, item: Item) -> None:
        consumer = next(
            (each for each in self._rounds.values() if each.stream is item.stream and each.step.consumes is not None),
            None,
        )
        if consumer is None or self._is_stopped:
            item.stream.stop()
        else:
            consumer.come(item.value)

    def _stream_ended(self, event: Ended) -> None:
        mine = next(each for each in self._rounds.values() if each.stream is event.stream and each.step.streamed)
        consumer = self._rounds.get(self._consumer(mine.step).position)
        # a consumer that was stopped has not seen them all: a later session must not take the number for the whole
        items = consumer.last() if consumer is not None and not consumer.is_cut else None
        assert mine.unit is not None  # noqa: S101 - it was called
        mine.stream, error = None, event.invoked.record.error
        self._heard_of(mine.step, event.invoked)
        self._journal.add(ended(Performed(mine.unit, event.invoked, items), next(self._places)))
        if error is not None:
            if consumer is not None:
                consumer.miss()
            self._fail(mine, error, event.invoked.record.exit_code)

    def _is_parted(self, mine: Round) -> bool:
        """Of a stream: it has ended, or nobody will take its items."""
        if not mine.step.streamed or mine.stream is None:
            return True
        if mine.is_taken or not (self._is_stopped or self._schedule.is_alone(mine.step.position)):
            return False
        mine.skip, mine.stream = "nobody takes its items", None
        if mine.unit is not None and needs_mark(mine.step):
            self._journal.add(skipped(mine.step, 0, mine.skip, mine.earlier.at(0)))
        return True


def _is_own(test: Condition) -> bool:
    """Whether it is asked of every member anew."""
    return any(each.root in ("item", "index") for each in test.references)
