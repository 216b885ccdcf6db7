"""Runners: who takes work, where nothing is taken, and the orders that say so."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from keisei.console.asking import Key, Reason
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.visitor import Visitor
from keisei.engine import control
from keisei.records.id import RunnerId, TaskId
from keisei.records.move import AttemptQuery, Pause
from keisei.records.runner import RunnerRecord
from keisei.rules.loop import SCOPE

MOST: Final = 200
"""Runners that are shown, and open attempts that are counted."""


class RunnerLine(Struct, frozen=True, kw_only=True):
    """One runner, and whether it can still be heard."""

    runner: RunnerRecord
    """What it says of itself."""
    alive: bool
    """Its last heartbeat is younger than its lease, and it has not ended."""
    running: int
    """How many attempts it has in its hands."""
    paused: str | None
    """Why it takes nothing new; None where nobody has said so."""


class RunnersAsk(Struct, frozen=True, kw_only=True):
    """Which runners."""

    gone: bool = False
    """Also those that have ended."""


class RunnersPage(Struct, frozen=True, kw_only=True):
    """Everybody who takes work."""

    items: tuple[RunnerLine, ...]
    """Newest first."""
    pauses: tuple[Pause, ...]
    """Where claiming is stopped, for all or for one runner."""
    loops: tuple[Pause, ...]
    """Work that goes round in circles and is held; what needs a person tells how it is lifted."""
    more: bool
    """There are older ones that are not shown."""


class PauseAsk(Struct, frozen=True, kw_only=True):
    """Stop or resume claiming."""

    runner_id: Key | None = None
    """Only this runner; all of them where none is named."""
    reason: Reason = ""
    """Why; stands in the ledger."""


class PauseDone(Struct, frozen=True, kw_only=True):
    """How claiming stands now."""

    scope: str
    """`all`, or a runner's id."""
    paused: bool
    """Whether nothing new is taken."""


class DrainAsk(Struct, frozen=True, kw_only=True):
    """Let a runner finish and leave."""

    runner_id: Key
    """Which."""


class DrainDone(Struct, frozen=True, kw_only=True):
    """A runner that leaves."""

    runner_id: RunnerId
    """Which."""
    draining: bool
    """It takes nothing new."""


class StopAsk(Struct, frozen=True, kw_only=True):
    """Emergency stop."""

    reason: Reason = ""
    """Why; stands in the ledger."""


class StopDone(Struct, frozen=True, kw_only=True):
    """What was stopped."""

    scope: str
    """Always `all`."""
    asked_to_end: tuple[TaskId, ...]
    """Tasks that ran and were asked to end."""


def show_runners(premises: Premises, asks: RunnersAsk) -> RunnersPage:
    """Who takes work, who is heard, and where nothing is taken."""
    store, now = premises.store, premises.now()
    found, pauses = store.runners(gone=asks.gone), store.pauses()
    held = {each.scope: each.reason for each in pauses}
    hands = Counter(each.runner_id for each in store.find_attempts(AttemptQuery(open=True, limit=MOST)))
    return RunnersPage(
        items=tuple(line_of(each, hands[each.runner_id], held, now) for each in found[:MOST]),
        pauses=tuple(each for each in pauses if not each.scope.startswith(SCOPE)),
        loops=tuple(each for each in pauses if each.scope.startswith(SCOPE)),
        more=len(found) > MOST,
    )


def line_of(runner: RunnerRecord, running: int, held: dict[str, str], now: datetime) -> RunnerLine:
    """A runner as the pages tell of it."""
    paused = held.get(control.ALL) or held.get(runner.runner_id)
    return RunnerLine(runner=runner, alive=is_heard(runner, now), running=running, paused=paused)


def is_heard(runner: RunnerRecord, now: datetime) -> bool:
    """Whether a runner is there: it has not ended, and was heard within its lease."""
    return runner.ended_at is None and now - runner.heartbeat_at <= timedelta(seconds=runner.lease_s)


def lively(premises: Premises) -> int:
    """How many runners are there to land and to look at schedules: those that are heard and do not leave."""
    now = premises.now()
    return sum(each.state == "active" and is_heard(each, now) for each in premises.store.runners())


def pause(premises: Premises, asks: PauseAsk, visitor: Visitor) -> PauseDone:
    """Take nothing new; what runs goes on."""
    control.pause(premises.store, asks.reason or "paused by an operator", visitor.actor, _named(asks))
    return PauseDone(scope=asks.runner_id or control.ALL, paused=True)


def resume(premises: Premises, asks: PauseAsk, visitor: Visitor) -> PauseDone:
    """Take work again."""
    control.resume(premises.store, asks.reason or "resumed by an operator", visitor.actor, _named(asks))
    return PauseDone(scope=asks.runner_id or control.ALL, paused=False)


def _named(asks: PauseAsk) -> RunnerId | None:
    return None if asks.runner_id is None else RunnerId(asks.runner_id)


def drain(premises: Premises, asks: DrainAsk, visitor: Visitor) -> DrainDone:
    """Let a runner finish what it has, and leave."""
    if not any(each.runner_id == asks.runner_id for each in premises.store.runners(gone=True)):
        raise Missing(f"no runner has the id `{asks.runner_id}`", "the page of runners shows all")
    control.drain(premises.store, RunnerId(asks.runner_id), visitor.actor)
    return DrainDone(runner_id=RunnerId(asks.runner_id), draining=True)


def stop_everything(premises: Premises, asks: StopAsk, visitor: Visitor) -> StopDone:
    """Emergency stop: take nothing new, and end everything that runs."""
    asked = control.stop_everything(premises.store, asks.reason or "emergency stop", visitor.actor)
    return StopDone(scope=control.ALL, asked_to_end=asked)


PAGES: Final[tuple[Page, ...]] = (page("/runners", "runners.html", show_runners),)
ORDERS: Final[tuple[Order, ...]] = (
    order("/runners/pause", pause, lambda _done: "/runners"),
    order("/runners/resume", resume, lambda _done: "/runners"),
    order("/runners/estop", stop_everything, lambda _done: "/runners"),
    order("/runners/{runner_id}/drain", drain, lambda _done: "/runners"),
)
