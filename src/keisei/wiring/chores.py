"""Chores: what a runner does beside carrying attempts, so that work begins, goes on and is told of by itself.

Any number of runners do them at the same time: every chore is a compare-and-set, so each effect happens once.
"""

import time
from datetime import datetime
from typing import Final, NamedTuple

from keisei.engine import schedule, workflow
from keisei.engine.approval import raise_breakers, remind
from keisei.engine.deliver import Place, deliver
from keisei.engine.loop import Detector
from keisei.engine.office import Office
from keisei.records.progression import WorkflowQuery
from keisei.records.project import ProjectApprovals, ProjectRunner
from keisei.wiring.channel import ProjectChannels
from keisei.wiring.fresh import new_id
from keisei.wiring.rhythm import Rhythm
from keisei.wiring.sensor import Sensing

POLL_S: Final = 1.0
"""Things that nobody rings for are looked at once in this time."""
EMPTY_S: Final = 10.0
"""How long a runner that is about to leave lets go what waits in the outbox; the next runner goes on."""
WATCH_S: Final = 5.0
"""Deadlines and breakers are a matter of minutes."""


class Trade(NamedTuple):
    """What chores are done with."""

    office: Office
    runner: ProjectRunner
    approvals: ProjectApprovals
    channels: ProjectChannels
    sensing: Sensing | None
    """None for a runner that leaves when it is idle: nothing is observed in passing."""


class Chores:
    """The chores of one runner, done in its thread."""

    def __init__(self, trade: Trade) -> None:
        """Nothing is done before it is asked for."""
        self._trade, self._store = trade, trade.office.store
        self._detector = Detector(trade.runner.loop_after, trade.approvals)
        self._place = Place()
        self._rhythm = Rhythm()
        self._slot: datetime | None = None
        self._flowing = True
        """Whether there may be workflows that an attempt's end moves on."""
        self._unseen = False
        """Whether an attempt has ended that was not looked at for loops."""

    def begin_work(self, *, ended: bool) -> None:
        """What makes tasks, in the original's order: due schedules, then workflows. `ended`: an attempt has ended."""
        trade, looking = self._trade, self._rhythm.is_time("look", POLL_S)
        if looking:
            self._slot = self._store.next_slot()
            self._flowing = bool(self._store.workflows(WorkflowQuery(statuses=("active", "blocked"), limit=1)))
        # looked at even where nothing is due: after a clock was set back, schedules are put right
        if self._slot is not None and (looking or self._slot <= self._store.now()) and not self._is_paused():
            schedule.tick(trade.office)
            self._slot = self._store.next_slot()
        if self._flowing and (looking or ended):
            workflow.advance(trade.office)

    def go_on(self, *, ended: bool) -> None:
        """What follows from work: deliveries, observations, what people must hear of."""
        trade = self._trade
        if ended or self._rhythm.is_time("deliver", POLL_S):
            self._deliver()
        if trade.sensing is not None and self._rhythm.is_time("sense", POLL_S):
            trade.sensing.tick()
        self._unseen |= ended
        if self._unseen and self._rhythm.is_time("loops", POLL_S):
            self._detector.look(self._store, new_id)
            self._unseen = False
        if self._rhythm.is_time("watch", WATCH_S):
            remind(self._store, trade.approvals)
            raise_breakers(self._store, trade.approvals, new_id)

    def finish(self) -> None:
        """Everything once more, whatever was looked at a moment ago: for a runner that is about to leave."""
        self._rhythm.forget()
        self.begin_work(ended=True)
        self.go_on(ended=True)
        until = time.monotonic() + EMPTY_S
        while (left_s := until - time.monotonic()) > 0 and (self._deliver() or self._trade.channels.landed(left_s)):
            pass

    def due_at(self) -> datetime | None:
        """When the next schedule is due, as far as it is known; None where one is due and could not be looked at."""
        return self._slot if self._slot is not None and self._slot > self._store.now() else None

    def stop(self) -> None:
        """End what runs beside."""
        if self._trade.sensing is not None:
            self._trade.sensing.stop()
        self._trade.channels.close()

    def _deliver(self) -> int:
        trade = self._trade
        rate = trade.runner.follow_ups_per_hour
        return deliver(trade.office, trade.channels, rate, self._place, trade.approvals)

    def _is_paused(self) -> bool:
        """A dispatcher that is paused evaluates nothing; what it misses is coalesced afterwards."""
        return any(each.scope == "all" for each in self._store.pauses())
