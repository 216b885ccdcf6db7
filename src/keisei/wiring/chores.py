"""Chores: what a runner does beside carrying attempts, so that work begins, goes on and is told of by itself.

Any number of runners do them at the same time: every chore is a compare-and-set, so each effect happens once.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Final, NamedTuple

from keisei.engine import schedule, workflow
from keisei.engine.approval import raise_breakers, remind
from keisei.engine.deliver import deliver
from keisei.engine.intake import Defaults, Registry
from keisei.engine.loop import Detector
from keisei.engine.ports import Store
from keisei.records.progression import WorkflowQuery
from keisei.records.project import ProjectApprovals, ProjectRunner
from keisei.wiring.channel import ProjectChannels
from keisei.wiring.fresh import new_id
from keisei.wiring.sensor import Sensing

POLL_S: Final = 1.0
"""Things that nobody rings for are looked at once in this time."""
WATCH_S: Final = 5.0
"""Deadlines and breakers are a matter of minutes."""


class Trade(NamedTuple):
    """What chores are done with."""

    store: Store
    registry: Callable[[], Registry]
    defaults: Defaults
    runner: ProjectRunner
    approvals: ProjectApprovals
    channels: ProjectChannels
    sensing: Sensing | None
    """None for a runner that leaves when it is idle: nothing is observed in passing."""


class Chores:
    """The chores of one runner, done in its thread."""

    def __init__(self, trade: Trade) -> None:
        """Nothing is done before it is asked for."""
        self._trade, self._store = trade, trade.store
        self._detector = Detector(trade.runner.loop_after, trade.approvals)
        self._last: dict[str, float] = {}
        self._slot: datetime | None = None
        self._flowing = True
        """Whether there may be workflows that an attempt's end moves on."""

    def begin_work(self, *, ended: bool) -> None:
        """What makes tasks, in the original's order: due schedules, then workflows. `ended`: an attempt has ended."""
        trade, looking = self._trade, self._is_time("look", POLL_S)
        if looking:
            self._slot = self._store.next_slot()
            self._flowing = bool(self._store.workflows(WorkflowQuery(statuses=("active", "blocked"), limit=1)))
        # looked at even where nothing is due: after a clock was set back, schedules are put right
        if self._slot is not None and (looking or self._slot <= self._store.now()) and not self._is_paused():
            schedule.tick(self._store, trade.registry, trade.defaults, new_id)
            self._slot = self._store.next_slot()
        if self._flowing and (looking or ended):
            workflow.advance(self._store, trade.registry, trade.defaults, new_id)

    def go_on(self, *, ended: bool) -> None:
        """What follows from work: deliveries, observations, what people must hear of."""
        trade = self._trade
        if ended or self._is_time("deliver", POLL_S):
            rate = trade.runner.follow_ups_per_hour
            deliver(self._store, trade.registry, trade.defaults, new_id, trade.channels, rate)
        if trade.sensing is not None and self._is_time("sense", POLL_S):
            trade.sensing.tick()
        if ended and self._is_time("loops", POLL_S):
            self._detector.look(self._store, new_id)
        if self._is_time("watch", WATCH_S):
            remind(self._store, trade.approvals, new_id)
            raise_breakers(self._store, trade.approvals, new_id)

    def finish(self) -> None:
        """Everything once more, whatever was looked at a moment ago: for a runner that is about to leave."""
        self._last.clear()
        self.begin_work(ended=True)
        self.go_on(ended=True)

    def due_at(self) -> datetime | None:
        """When the next schedule is due, as far as it is known; None where one is due and could not be looked at."""
        return self._slot if self._slot is not None and self._slot > self._store.now() else None

    def stop(self) -> None:
        """End what runs beside."""
        if self._trade.sensing is not None:
            self._trade.sensing.stop()
        self._trade.channels.close()

    def _is_paused(self) -> bool:
        """A dispatcher that is paused evaluates nothing; what it misses is coalesced afterwards."""
        return any(each.scope == "all" for each in self._store.pauses())

    def _is_time(self, what: str, every_s: float) -> bool:
        now = time.monotonic()
        if what in self._last and now - self._last[what] < every_s:
            return False
        self._last[what] = now
        return True
