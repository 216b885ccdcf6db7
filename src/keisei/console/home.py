"""Home: what needs you, what runs, what waits, what was refused, what it costs, and whether the house is up."""

from collections import Counter
from datetime import datetime
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from keisei.console.home_isolation import HomeIsolation, machine_isolation
from keisei.console.page import Order, Page, page
from keisei.console.premises import Premises
from keisei.console.runner import RunnerLine, line_of
from keisei.engine.budget import Balance, policy_of, spending
from keisei.records.answer import ApprovalQuery
from keisei.records.approval import ApprovalRecord
from keisei.records.id import ApprovalId, AttemptId, LandingId, TaskId
from keisei.records.landing import LandingRecord
from keisei.records.move import LandingQuery, Pause
from keisei.records.overview import Mishap, Refusals, RunningAttempt
from keisei.records.project import ProjectApprovals
from keisei.records.slot import Slot
from keisei.records.task import TaskStatus
from keisei.rules.approval import dated
from keisei.rules.budget import day_name, day_of

SHOWN: Final = 8
"""Lines of each list; the pages behind them have all."""


class HomeNeed(Struct, frozen=True, kw_only=True):
    """One thing that needs a person."""

    kind: str
    """What waits, as approvals name it."""
    asked: str
    """What is asked, in a sentence; as an agent wrote it, perhaps."""
    since: datetime
    """Since when."""
    deadline: datetime | None
    """By when somebody should look."""
    approval_id: ApprovalId | None
    """Where it is decided; None for a landing that nobody was asked about."""
    landing_id: LandingId | None
    """The candidate it is about."""
    task_id: TaskId | None
    """The task it is about."""
    subject: str | None = None
    """That task's line for people."""
    attempt_id: AttemptId | None
    """The attempt whose evidence shows why."""


class HomeSchedule(Struct, frozen=True, kw_only=True):
    """Whether schedules are looked after."""

    next_due: datetime | None
    """When the next enabled schedule is due; None where there is none."""
    overdue: bool
    """It was due a while ago, and nobody has come."""
    last: Slot | None
    """What became of the last due moment."""


class HomeAsk(Struct, frozen=True, kw_only=True):
    """Nothing is asked."""


class HomePage(Struct, frozen=True, kw_only=True):
    """The house in one look."""

    counts: dict[TaskStatus, int]
    """How many tasks have which status."""
    needs: tuple[HomeNeed, ...]
    """What needs a person, the most urgent first; without a deadline, the longest waiting."""
    needs_all: int
    """How many there are of them."""
    needs_unasked: int
    """How many of them are held landings that no open question asks about."""
    pauses: tuple[Pause, ...]
    """Where nothing is taken."""
    running: tuple[RunningAttempt, ...]
    """Open attempts, longest running first; at most twenty."""
    claimable: int
    """How many tasks could be claimed now."""
    delayed: int
    """How many wait for their moment."""
    waiting_since: datetime | None
    """When the oldest task that could be claimed was made."""
    landing: int
    """How many candidates are held, queued or on their way to main."""
    failed: int
    """How many tasks failed for good today."""
    blocked: int
    """How many tasks were blocked today and still are."""
    rejected: int
    """How many candidates were rejected today."""
    mishaps: tuple[Mishap, ...]
    """Those three together, newest first; at most twenty."""
    refusals: Refusals
    """What gates refused today."""
    day: str
    """The UTC day that budgets and today's numbers go by."""
    balances: tuple[Balance, ...]
    """What was spent today and what may be: everything together, then each limit and spender."""
    runners: tuple[RunnerLine, ...]
    """Who takes work."""
    schedule: HomeSchedule
    """Whether schedules are looked after."""
    isolation: HomeIsolation | None
    """What holds an agent on this machine; None while it is being found out."""


LATE_S: Final = 60
"""How long after its moment a schedule may be looked at before the page says so."""


def show_home(premises: Premises, _asks: HomeAsk) -> HomePage:
    """What needs you, what runs, what waits, and whether the house is up."""
    store, now = premises.store, premises.now()
    seen = store.overview(day_of(now))
    pauses = store.pauses()
    held = _held(premises) if seen.unasked else []
    needs = sorted([*map(_need, _asked(premises)), *held], key=_urgency)[:SHOWN]
    due = store.next_slot()
    hands = Counter(each.runner_id for each in seen.running)
    reasons = {each.scope: each.reason for each in pauses}
    return HomePage(
        counts=seen.counts,
        needs=tuple(_named(premises, each) for each in needs),
        needs_all=seen.approvals + seen.unasked,
        needs_unasked=seen.unasked,
        pauses=tuple(pauses),
        running=seen.running,
        claimable=seen.claimable,
        delayed=seen.delayed,
        waiting_since=seen.waiting_since,
        landing=seen.landing + seen.held,
        failed=seen.failed,
        blocked=seen.blocked,
        rejected=seen.rejected,
        mishaps=seen.mishaps,
        refusals=seen.refusals,
        day=day_name(now),
        balances=tuple(spending(store, policy_of(premises.home.file.budget), now)),
        runners=tuple(line_of(each, hands[each.runner_id], reasons, now) for each in seen.runners),
        schedule=HomeSchedule(
            next_due=due,
            overdue=due is not None and (now - due).total_seconds() > LATE_S,
            last=next(iter(store.slots(None, 1)), None),
        ),
        isolation=machine_isolation(),
    )


def _asked(premises: Premises) -> list[ApprovalRecord]:
    """The most urgent that people were asked, each with the deadline that holds for it."""
    policy = premises.home.file.approvals or ProjectApprovals()
    found = premises.store.approvals(ApprovalQuery(urgent=True, limit=SHOWN))
    return [dated(each, policy) for each in found]


def _need(approval: ApprovalRecord) -> HomeNeed:
    landing = approval.key.removeprefix("landing:") if approval.kind == "landing" else None
    return HomeNeed(
        kind=approval.kind,
        asked=approval.questions[0] if approval.questions else approval.reason,
        since=approval.created_at,
        deadline=approval.deadline,
        approval_id=approval.approval_id,
        landing_id=None if landing is None else LandingId(landing),
        task_id=approval.task_id,
        attempt_id=approval.attempt_id,
    )


def _named(premises: Premises, need: HomeNeed) -> HomeNeed:
    """With the subject of its task."""
    task = None if need.task_id is None else premises.store.task(need.task_id)
    return need if task is None else replace(need, subject=task.subject)


def _urgency(need: HomeNeed) -> tuple[bool, datetime]:
    return need.deadline is None, need.deadline or need.since


def _held(premises: Premises) -> list[HomeNeed]:
    """Landings that wait for a person although no question about them is open."""
    query = LandingQuery(statuses=("held",), unasked=True, oldest=True, limit=SHOWN)
    return [_landing_need(each) for each in premises.store.landings(query)]


def _landing_need(landing: LandingRecord) -> HomeNeed:
    return HomeNeed(
        kind="landing",
        asked=landing.reason or f"may this candidate land on {landing.branch}?",
        since=landing.updated_at,
        deadline=None,
        approval_id=None,
        landing_id=landing.landing_id,
        task_id=landing.task_id,
        attempt_id=landing.attempt_id,
    )


PAGES: Final[tuple[Page, ...]] = (page("/", "home.html", show_home),)
ORDERS: Final[tuple[Order, ...]] = ()
