"""Landings: the queue in the order in which it lands, what became of the others, and what an operator says to one."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from msgspec import Struct

from keisei.console.asking import Cursor, Key, Limit, Reason
from keisei.console.attempt_evidence import content
from keisei.console.cursor import lost
from keisei.console.diff import BRIEF, LARGEST, Diff, diff_of
from keisei.console.landing_order import revert_it, turn_down
from keisei.console.page import Missing, Order, Page, order, page
from keisei.console.premises import Premises
from keisei.console.runner import lively
from keisei.console.visitor import Visitor
from keisei.engine.land import RESPAWN, approve
from keisei.records.answer import ApprovalQuery
from keisei.records.attempt import TaskAttempt
from keisei.records.error import KeiseiError
from keisei.records.event import RuntimeEvent
from keisei.records.finding import FindingRecord
from keisei.records.id import ApprovalId, LandingId, TaskId
from keisei.records.landing import LandingRecord, LandingStatus
from keisei.records.move import EventQuery, LandingQuery, TaskQuery
from keisei.rules.landing import rejecting
from keisei.wiring.foreground import work_ref
from keisei.workspace.branch import tip_of
from keisei.workspace.repository import facts

TURN: Final[tuple[LandingStatus, ...]] = ("landing", "queued", "held")
"""Who lands first: what is being merged, then the queue, then what a person has to look at."""
OVER: Final[tuple[LandingStatus, ...]] = ("landed", "rejected", "reverted")
MOST: Final = 200
"""Landings of the queue that are shown, and those that are counted before one."""
TOLD: Final = ("landing_", "approval_")
"""How the events begin that tell of a landing."""
LOOKED_AT: Final = 300
"""Events of a task among which those of its landing are looked for."""


class LandingsAsk(Struct, frozen=True, kw_only=True):
    """Which landings, and which part of what is over."""

    status: tuple[LandingStatus, ...] = ()
    """Only these; all where none is named."""
    after: Cursor | None = None
    """Go on behind this landing."""
    limit: Limit = 50
    """At most so many that are over."""


class LandingLine(Struct, frozen=True, kw_only=True):
    """A landing in a list."""

    landing: LandingRecord
    """The landing."""
    subject: str | None
    """Its task's line for people."""


class LandingsPage(Struct, frozen=True, kw_only=True):
    """The queue, and what is over."""

    queue: tuple[LandingLine, ...]
    """In the order in which they land; those that wait for a person behind. At most 200."""
    cut: bool
    """More wait than these."""
    items: tuple[LandingLine, ...]
    """Landed, rejected and reverted, newest first."""
    next: str | None
    """Where older ones begin."""
    runners: int
    """How many runners there are to land something."""
    unreadable: tuple[str, ...]
    """Rows that cannot be read, and are left out."""


class LandingAsk(Struct, frozen=True, kw_only=True):
    """Which landing."""

    landing_id: Key
    """Its id."""


class LandingPage(Struct, frozen=True, kw_only=True):
    """Everything about one landing."""

    landing: LandingRecord
    """The landing."""
    subject: str | None
    """Its task's line for people."""
    tip: str | None
    """The commit its branch stands on now; None where that cannot be told here."""
    ahead: int | None
    """How many land before it, counted up to 200; None for what is not queued."""
    ahead_more: bool
    """There are more than that."""
    findings: tuple[FindingRecord, ...]
    """What every predicate said last, those that reject first."""
    against: tuple[str, ...]
    """Findings that reject, by their id."""
    held: int
    """How many of those asked have held."""
    asked: int
    """How many were asked."""
    diff: Diff | None
    """What it changes, as much as a page holds; None where the patch is not on this machine."""
    ref: str | None
    """The ref that keeps the candidate."""
    history: tuple[RuntimeEvent, ...]
    """What happened to it, oldest first."""
    approval_id: ApprovalId | None
    """Where a person is asked about it."""
    heir: TaskId | None
    """The task that takes over from it."""
    runners: int
    """How many runners there are to land something."""


class LandingOrder(Struct, frozen=True, kw_only=True):
    """What is said to a landing."""

    landing_id: Key
    """Which."""
    reason: Reason = ""
    """Why."""


class LandingRejection(Struct, frozen=True, kw_only=True):
    """A landing is turned down."""

    landing_id: Key
    """Which."""
    reason: Reason = ""
    """Why; whoever takes over reads it."""
    respawn: bool = False
    """Queue a new task that takes over, with the findings in its prompt."""


class LandingDone(Struct, frozen=True, kw_only=True):
    """What became of a landing."""

    landing: LandingRecord
    """As it is now."""
    respawned_as: TaskId | None = None
    """The task that takes over."""


def show_queue(premises: Premises, asks: LandingsAsk) -> LandingsPage:
    """Landings: the queue in the order in which it lands, and what became of the others."""
    store = premises.store
    after = None if asks.after is None else LandingId(asks.after)
    queue = _queue(premises, _chosen(asks, TURN))
    ended = _chosen(asks, OVER)
    over = store.landings(LandingQuery(statuses=ended, before=after, limit=asks.limit + 1)) if ended else []
    if after is not None and not over and store.landing(after) is None:
        raise lost()
    shown = over[: asks.limit]
    return LandingsPage(
        queue=_lines(premises, queue[:MOST]),
        cut=len(queue) > MOST,
        items=_lines(premises, shown),
        next=shown[-1].landing_id if len(over) > len(shown) else None,
        runners=lively(premises),
        unreadable=tuple(each for each in store.unreadable() if each.startswith("landing ")),
    )


def show_landing(premises: Premises, asks: LandingAsk) -> LandingPage:
    """One landing: the candidate, its commits, what every predicate said of it, the files it changes, its history."""
    store, landing = premises.store, _known(premises, asks.landing_id)
    task, attempt = store.task(landing.task_id), store.attempt(landing.attempt_id)
    last = _last_words(store.findings(landing.attempt_id))
    against = {each.finding_id for each in rejecting(last)}
    asked = [each for each in last if each.status != "not-applicable"]
    waiting = store.approvals(ApprovalQuery(statuses=(), key=f"landing:{landing.landing_id}", limit=1))
    ahead = _ahead(premises, landing)
    return LandingPage(
        landing=landing,
        subject=None if task is None else task.subject,
        tip=_tip(premises, landing.branch),
        ahead=None if ahead is None else min(ahead, MOST),
        ahead_more=ahead is not None and ahead > MOST,
        findings=tuple(sorted(last, key=lambda each: (each.finding_id not in against, each.status == "held"))),
        against=tuple(sorted(against)),
        held=sum(each.status == "held" for each in asked),
        asked=len(asked),
        diff=None if attempt is None else _diff(premises, attempt),
        ref=None if attempt is None else work_ref(premises.home, attempt),
        history=_history(premises, landing),
        approval_id=waiting[0].approval_id if waiting else None,
        heir=_heir(premises, landing) if landing.status == "rejected" else None,
        runners=lively(premises),
    )


def let_land(premises: Premises, asks: LandingOrder, visitor: Visitor) -> LandingDone:
    """Let a held candidate land: it is queued, and a runner lands it in its turn."""
    landing = _known(premises, asks.landing_id)
    if landing.status in ("queued", "landing"):
        return LandingDone(landing=landing)  # nothing to decide any more: it is on its way
    return LandingDone(landing=approve(premises.store, landing.landing_id, asks.reason, visitor.actor))


def reject(premises: Premises, asks: LandingRejection, visitor: Visitor) -> LandingDone:
    """Do not let a candidate land; it is kept. With `respawn` a new task takes over."""
    landing = _known(premises, asks.landing_id)
    done, heir = turn_down(premises, landing, asks.reason, visitor.actor, respawns=asks.respawn)
    return LandingDone(landing=done, respawned_as=heir)


def revert(premises: Premises, asks: LandingOrder, visitor: Visitor) -> LandingDone:
    """Take back what has landed, by a commit that undoes it; the history stays."""
    landing = _known(premises, asks.landing_id)
    return LandingDone(landing=revert_it(premises, landing, asks.reason, visitor.actor))


def _known(premises: Premises, landing_id: str) -> LandingRecord:
    found = premises.store.landing(LandingId(landing_id))
    if found is None:
        raise Missing(f"no landing has the id `{landing_id}`", "/landings shows all")
    return found


def _chosen(asks: LandingsAsk, offered: tuple[LandingStatus, ...]) -> tuple[LandingStatus, ...]:
    return tuple(each for each in offered if each in (asks.status or offered))


def _queue(premises: Premises, chosen: tuple[LandingStatus, ...]) -> list[LandingRecord]:
    """What has not landed, one more than is shown. Asked for apart: old ones that are held hide no queued one."""
    found: list[LandingRecord] = []
    for status in chosen:
        query = LandingQuery(statuses=(status,), oldest=True, limit=MOST + 1 - len(found))
        found += premises.store.landings(query) if query.limit else []
    return found


def _ahead(premises: Premises, landing: LandingRecord) -> int | None:
    """How many land before it, counted up to one more than is told; None for what is not queued."""
    if landing.status != "queued":
        return None
    queue = [each.landing_id for each in _queue(premises, TURN[:2])]
    return queue.index(landing.landing_id) if landing.landing_id in queue else len(queue)


def _lines(premises: Premises, landings: Iterable[LandingRecord]) -> tuple[LandingLine, ...]:
    tasks = ((each, premises.store.task(each.task_id)) for each in landings)
    return tuple(LandingLine(landing=each, subject=None if task is None else task.subject) for each, task in tasks)


def _last_words(findings: Iterable[FindingRecord]) -> list[FindingRecord]:
    """Of a predicate that was asked again, on the tree that lands, only the last word counts."""
    return list({(each.capability, each.run_from): each for each in findings}.values())


def _history(premises: Premises, landing: LandingRecord) -> tuple[RuntimeEvent, ...]:
    found = premises.store.events(EventQuery(task_id=landing.task_id, newest=True, limit=LOOKED_AT))
    return tuple(each for each in found if each.attempt_id == landing.attempt_id and each.event_type.startswith(TOLD))


def _heir(premises: Premises, landing: LandingRecord) -> TaskId | None:
    """The task that took over, where it is among the newest of its type."""
    task = premises.store.task(landing.task_id)
    if task is None:
        return None
    key = f"{RESPAWN}{landing.landing_id}"
    newest = premises.store.tasks(TaskQuery(task_type=task.task_type, source=task.source, limit=MOST))
    return next((each.task_id for each in newest if each.idempotency_key == key), None)


def _diff(premises: Premises, attempt: TaskAttempt) -> Diff | None:
    patch, size = content(premises, attempt, "diff.patch", LARGEST)
    return diff_of(patch, size, BRIEF) if size else None


def _tip(premises: Premises, branch: str) -> str | None:
    project, root = premises.home.file.project, premises.home.root
    if project is None or root is None:
        return None
    with suppress(KeiseiError):
        return tip_of(facts(root, project.main, looks=False).common_dir, branch)
    return None


def _after(done: LandingDone) -> str:
    return f"/landings/{done.landing.landing_id}" if done.respawned_as is None else f"/tasks/{done.respawned_as}"


PAGES: Final[tuple[Page, ...]] = (
    page("/landings", "landings.html", show_queue),
    page("/landings/{landing_id}", "landing.html", show_landing),
)
ORDERS: Final[tuple[Order, ...]] = (
    order("/landings/{landing_id}/approve", let_land, _after),
    order("/landings/{landing_id}/reject", reject, _after),
    order("/landings/{landing_id}/revert", revert, _after),
)
